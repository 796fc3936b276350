// atom and red: read, change and write one place, lane after lane; global, shared and generic.
#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/narrow.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;

// What an operation makes of the old value; the values are bits of M's size.
struct AddOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return T(Unsigned<T>(old) + Unsigned<T>(b));
  }
};
struct MinOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return b < old ? b : old;
  }
};
struct MaxOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return old < b ? b : old;
  }
};
struct AndOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return T(old & b);
  }
};
struct OrOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return T(old | b);
  }
};
struct XorOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return T(old ^ b);
  }
};
struct ExchangeOp {
  template <typename T>
  static T apply(T, T b, T) {
    return b;
  }
};
struct CompareOp {
  template <typename T>
  static T apply(T old, T b, T c) {
    return old == b ? c : old;
  }
};
struct IncOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return old >= b ? T(0) : T(old + 1);
  }
};
struct DecOp {
  template <typename T>
  static T apply(T old, T b, T) {
    return old == 0 || old > b ? b : T(old - 1);
  }
};

// Floating sums and extremes, on the bits. Single-precision sums in global memory flush subnormals, those in shared memory don't.
template <bool Flush>
struct AddSingle {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b, std::uint32_t) {
    return bits_of(finish<Flush, false>(maybe_flush<Flush>(float_of(old)) + maybe_flush<Flush>(float_of(b))));
  }
};
struct AddDouble {
  static std::uint64_t apply(std::uint64_t old, std::uint64_t b, std::uint64_t) { return bits_of(double_of(old) + double_of(b)); }
};
template <typename H>
struct AddHalf {
  static std::uint16_t apply(std::uint16_t old, std::uint16_t b, std::uint16_t) {
    return H::narrow(odd_float(odd_sum(static_cast<double>(H::widen(old)), static_cast<double>(H::widen(b)))));
  }
};
template <typename H>
struct AddPair {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b, std::uint32_t) {
    const auto half = [](std::uint32_t x, std::uint32_t y) {
      return std::uint32_t{AddHalf<H>::apply(static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(y), 0)};
    };
    return half(old, b) | half(old >> 16, b >> 16) << 16;
  }
};

template <typename T, typename F>
inline T update(T* place, T b, T c) {
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, F::apply(old, b, c), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <typename SpacePolicy, typename T, typename F>
void atomic(Warp& w, const Op& op) {
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  if (!SpacePolicy::resolve(w, op, p, op.width, Access::atomic, pattern)) return;
  w.cta->traffic.global_atomics += static_cast<unsigned>(__builtin_popcount(w.exec));
  const auto* b = w.at<const Storage<T>>(op.b);
  const auto* c = op.c.valid() ? w.at<const Storage<T>>(op.c) : b;
  // The old values first: the destination may be one of the sources.
  alignas(64) Storage<T> old[warp_size];
  each_lane_of(w.exec, [&](unsigned i) { old[i] = give<T>(update<T, F>(reinterpret_cast<T*>(p.at[i]), take<T>(b[i]), take<T>(c[i]))); });
  if (!op.d.valid()) return;
  auto* d = w.at<Storage<T>>(op.d);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = old[i]; });
}

template <typename SpacePolicy, typename F>
Choice integer_operation(Type t) {
  switch (t) {
    case Type::u32:
    case Type::b32:
      return {.fn = atomic<SpacePolicy, std::uint32_t, F>};
    case Type::s32:
      return {.fn = atomic<SpacePolicy, std::int32_t, F>};
    case Type::u64:
    case Type::b64:
      return {.fn = atomic<SpacePolicy, std::uint64_t, F>};
    case Type::s64:
      return {.fn = atomic<SpacePolicy, std::int64_t, F>};
    default:
      return {};
  }
}

template <typename SpacePolicy>
Choice sum(const Form& f) {
  constexpr bool flushes = !__is_same(SpacePolicy, SharedSpace);
  switch (f.types[0]) {
    case Type::f32:
      return {.fn = atomic<SpacePolicy, std::uint32_t, AddSingle<flushes>>};
    case Type::f64:
      return {.fn = atomic<SpacePolicy, std::uint64_t, AddDouble>};
    case Type::f16:
      return {.fn = atomic<SpacePolicy, std::uint16_t, AddHalf<F16>>};
    case Type::bf16:
      return {.fn = atomic<SpacePolicy, std::uint16_t, AddHalf<Bf16>>};
    case Type::f16x2:
      return {.fn = atomic<SpacePolicy, std::uint32_t, AddPair<F16>>};
    case Type::bf16x2:
      return {.fn = atomic<SpacePolicy, std::uint32_t, AddPair<Bf16>>};
    default:
      return integer_operation<SpacePolicy, AddOp>(f.types[0]);
  }
}

template <typename SpacePolicy>
Choice operation(const Form& f) {
  const Type t = f.types[0];
  using M = Modifier;
  switch (f.first_of({M::add, M::min, M::max, M::and_, M::or_, M::xor_, M::exch, M::cas, M::inc, M::dec})) {
    case M::add:
      return sum<SpacePolicy>(f);
    case M::min:
      return integer_operation<SpacePolicy, MinOp>(t);
    case M::max:
      return integer_operation<SpacePolicy, MaxOp>(t);
    case M::and_:
      return integer_operation<SpacePolicy, AndOp>(t);
    case M::or_:
      return integer_operation<SpacePolicy, OrOp>(t);
    case M::xor_:
      return integer_operation<SpacePolicy, XorOp>(t);
    case M::exch:
      return integer_operation<SpacePolicy, ExchangeOp>(t);
    case M::cas:
      if (t == Type::b16) return {.fn = atomic<SpacePolicy, std::uint16_t, CompareOp>};
      return integer_operation<SpacePolicy, CompareOp>(t);
    case M::inc:
      return t == Type::u32 ? Choice{.fn = atomic<SpacePolicy, std::uint32_t, IncOp>} : Choice{};
    case M::dec:
      return t == Type::u32 ? Choice{.fn = atomic<SpacePolicy, std::uint32_t, DecOp>} : Choice{};
    default:
      return {};
  }
}

}  // namespace

Choice atomic_class(const Form& f) {
  if (f.opcode != Opcode::atom && f.opcode != Opcode::red) return {};
  switch (f.space) {
    case Space::global:
      return operation<GlobalSpace>(f);
    case Space::shared:
    case Space::shared_cta:
      return operation<SharedSpace>(f);
    case Space::generic:
      return operation<GenericSpace>(f);
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
