// mov in all its forms, and what turns one kind of address into another: cvta, isspacep; special registers that change while a warp runs.
#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/cta.h"
#include "tools/simgpu/exec/lanes.h"
#include "tools/simgpu/exec/move_kinds.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <typename S>
struct Same {
  static S apply(S a) { return a; }
};
void move_predicate(Warp& w, const Op& op) { w.set_predicate(op.d, w.predicate(op.a)); }

// {a, b, …} → d: `count` elements of `width` bytes from the list.
template <typename D>
void pack(Warp& w, const Op& op) {
  auto* d = w.at<D>(op.d);
  const unsigned bits = 8u * op.width;
  const U64 mask = bits == 64 ? ~U64{0} : (U64{1} << bits) - 1;
  alignas(64) D t[warp_size] = {};
  for (unsigned k = 0; k < op.count; ++k) {
    const Slot s = w.lists[op.e.bits + k];
    if (op.width == 8) {
      const auto* a = w.at<const U64>(s);
      TESSERA_EACH_LANE(i) t[i] = static_cast<D>(t[i] | static_cast<D>(a[i]));
    } else {
      const auto* a = w.at<const U32>(s);
      TESSERA_EACH_LANE(i) t[i] = static_cast<D>(t[i] | static_cast<D>((U64{a[i]} & mask) << (k * bits)));
    }
  }
  blend(d, t, w.exec);
}

// a → {d, e, …}.
template <typename A>
void unpack(Warp& w, const Op& op) {
  alignas(64) A a[warp_size];
  __builtin_memcpy(a, w.at<const A>(op.a), sizeof a);
  const unsigned bits = 8u * op.width;
  for (unsigned k = 0; k < op.count; ++k) {
    const Slot s = w.lists[op.e.bits + k];
    if (!s.valid()) continue;
    alignas(64) U32 t[warp_size];
    TESSERA_EACH_LANE(i) t[i] = static_cast<U32>(U64{a[i]} >> (k * bits));
    if (bits < 32) {
      const U32 mask = (1u << bits) - 1;
      TESSERA_EACH_LANE(i) t[i] &= mask;
    }
    blend(w.at<U32>(s), t, w.exec);
  }
}

// Address of a variable of the running activation in its thread's local memory.
template <typename D>
void frame_address(Warp& w, const Op& op) {
  auto* d = w.at<D>(op.d);
  const D value = static_cast<D>(op.imm + w.local_base);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = value; });
}

// %clock and its kind: blocks of code that the warps of this CTA have run, times 32.
template <typename D>
void read_clock(Warp& w, const Op& op) {
  auto* d = w.at<D>(op.d);
  const U64 now = (w.cta->clock + 1) * 32;
  const D value = static_cast<D>(op.x != 0 ? now >> 32 : now);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = value; });
}

struct LowHalf {
  static U32 apply(U64 a) { return static_cast<U32>(a); }
};
struct ExtendSigned {
  static U64 apply(U32 a) { return static_cast<U64>(std::int64_t{static_cast<std::int32_t>(a)}); }
};
struct ExtendUnsigned {
  static U64 apply(U32 a) { return a; }
};

void not_predicate(Warp& w, const Op& op) { w.set_predicate(op.d, ~w.predicate(op.a)); }

void constant_predicate(Warp& w, const Op& op) { w.set_predicate(op.d, static_cast<U32>(op.imm)); }

template <typename S>
void add_constant(Warp& w, const Op& op) {
  const auto* a = w.at<const S>(op.a);
  auto* d = w.at<S>(op.d);
  alignas(64) S t[warp_size];
  TESSERA_EACH_LANE(i) t[i] = static_cast<S>(a[i] + static_cast<S>(op.imm));
  blend(d, t, w.exec);
}

// Lanes whose generic address is in [imm, imm + window); x = 1: in none of the windows.
void in_space(Warp& w, const Op& op) {
  const auto* a = w.at<const U64>(op.a);
  const Windows& spaces = windows();
  U32 mask = 0;
  for (unsigned i = 0; i < warp_size; ++i) {
    const bool yes = op.x != 0 ? a[i] - spaces.begin >= spaces.end - spaces.begin : a[i] - op.imm < window_bytes;
    mask |= (yes ? 1u : 0u) << i;
  }
  w.set_predicate(op.d, mask);
}

// Start of a space's window; 0 for those whose addresses are generic addresses already.
bool window_of(Space space, U64& start) {
  const Windows& spaces = windows();
  switch (space) {
    case Space::shared:
    case Space::shared_cta:
    case Space::shared_cluster:
      start = spaces.shared;
      return true;
    case Space::local:
      start = spaces.local;
      return true;
    case Space::param:
    case Space::param_entry:
      start = spaces.param;
      return true;
    case Space::global:
    case Space::const_:
      start = 0;
      return true;
    default:
      return false;
  }
}

Choice convert_address(const Form& f) {
  U64 start = 0;
  if (!window_of(f.space, start)) return {};
  const Type t = f.types[0];
  const U64 by = f.has(Modifier::to) ? U64{0} - start : start;
  if (ptx::bytes_of(t) == 8) return {.fn = add_constant<U64>, .shape = {t, t, Type::none}, .imm = by};
  return {};
}

}  // namespace

Choice move_class(const Form& f) {
  const Type t = f.types[0];
  switch (f.opcode) {
    case Opcode::mov:
      if (t == Type::pred) return {.fn = move_predicate, .shape = {t, t, Type::none}};
      if (ptx::bytes_of(t) == 8) return {.fn = lanewise1<Same<U64>, U64, U64>, .shape = {t, t, Type::none}};
      if (ptx::bytes_of(t) > 8) return {};
      return {.fn = lanewise1<Same<U32>, U32, U32>, .shape = {t, t, Type::none}};
    case Opcode::cvta:
      return convert_address(f);
    case Opcode::isspacep: {
      U64 start = 0;
      if (f.space == Space::const_ || !window_of(f.space, start)) return {};
      const bool global = f.space == Space::global;
      return {
          .fn = in_space, .shape = {Type::pred, Type::b64, Type::none}, .imm = start, .x = global ? std::uint16_t{1} : std::uint16_t{0}};
    }
    default:
      return {};
  }
}

Handler move_kind(MoveKind kind, bool wide) {
  switch (kind) {
    case MoveKind::pack:
      return wide ? pack<U64> : pack<U32>;
    case MoveKind::unpack:
      return wide ? unpack<U64> : unpack<U32>;
    case MoveKind::frame_address:
      return wide ? frame_address<U64> : frame_address<U32>;
    case MoveKind::not_predicate:
      return not_predicate;
    case MoveKind::low_half:
      return lanewise1<LowHalf, U32, U64>;
    case MoveKind::extend_signed:
      return lanewise1<ExtendSigned, U64, U32>;
    case MoveKind::extend_unsigned:
      return lanewise1<ExtendUnsigned, U64, U32>;
    case MoveKind::add_constant:
      return wide ? add_constant<U64> : add_constant<U32>;
    case MoveKind::set_predicate:
      return constant_predicate;
    case MoveKind::clock:
      return wide ? read_clock<U64> : read_clock<U32>;
  }
  return nullptr;
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
