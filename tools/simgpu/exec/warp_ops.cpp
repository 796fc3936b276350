// Exchange between the lanes of a warp: shfl, vote, match, redux, activemask, elect, bar.warp.sync.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/float_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;
using U32 = std::uint32_t;

enum class Shuffle : std::uint8_t { up, down, bfly, idx };

// PTX ISA, shfl.sync: c = clamp in bits 0…4, segment mask in bits 8…12.
template <Shuffle K>
void shfl(Warp& w, const Op& op) {
  const auto* b = w.at<const U32>(op.b);
  const auto* c = w.at<const U32>(op.c);
  auto* d = w.at<U32>(op.d);
  alignas(64) U32 a[warp_size];
  __builtin_memcpy(a, w.at<const U32>(op.a), sizeof a);
  U32 in_range = 0;
  alignas(64) U32 t[warp_size];
  TESSERA_EACH_LANE(i) {
    const auto lane = static_cast<std::int32_t>(i);
    const auto by = static_cast<std::int32_t>(b[i] & 31u), clamp = static_cast<std::int32_t>(c[i] & 31u);
    const auto segment = static_cast<std::int32_t>((c[i] >> 8) & 31u);
    const std::int32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    std::int32_t j = 0;
    bool p = false;
    if constexpr (K == Shuffle::up) j = lane - by, p = j >= highest;
    if constexpr (K == Shuffle::down) j = lane + by, p = j <= highest;
    if constexpr (K == Shuffle::bfly) j = lane ^ by, p = j <= highest;
    if constexpr (K == Shuffle::idx) j = lowest | (by & ~segment), p = j <= highest;
    t[i] = static_cast<U32>(p ? j : lane);
    in_range |= (p ? 1u : 0u) << i;
  }
  alignas(64) U32 r[warp_size];
  for (unsigned i = 0; i < warp_size; ++i) r[i] = a[t[i] & 31u];
  blend(d, r, w.exec);
  if (op.e.valid()) w.set_predicate(op.e, in_range);
}

// Lanes that take part: the mask's, as far as they execute; without .sync, all that execute.
inline U32 members(const Warp& w, const Op& op) {
  if (!op.f.valid()) return w.exec;
  return w.exec & w.at<const U32>(op.f)[__builtin_ctz(w.exec)];
}

enum class Vote : std::uint8_t { all, any, uni };
template <Vote K>
void vote(Warp& w, const Op& op) {
  const U32 in = members(w, op), yes = w.predicate(op.a) & in;
  const bool all = yes == in, any = yes != 0;
  const bool r = K == Vote::all ? all : K == Vote::any ? any : all || !any;
  w.set_predicate(op.d, r ? full_mask : 0u);
}
inline void broadcast(Warp& w, Slot to, U32 value) {
  auto* d = w.at<U32>(to);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = value; });
}
void ballot(Warp& w, const Op& op) { broadcast(w, op.d, w.predicate(op.a) & members(w, op)); }
void activemask(Warp& w, const Op& op) { broadcast(w, op.d, w.exec); }

template <typename S, bool All>
void match(Warp& w, const Op& op) {
  const auto* a = w.at<const S>(op.a);
  const U32 in = members(w, op);
  alignas(64) U32 same[warp_size] = {};
  U32 left = in, groups = 0;
  while (left != 0) {
    const S value = a[__builtin_ctz(left)];
    U32 group = 0;
    for (unsigned i = 0; i < warp_size; ++i) group |= (((left >> i) & 1u) != 0 && a[i] == value ? 1u : 0u) << i;
    each_lane_of(group, [&](unsigned i) { same[i] = group; });
    left &= ~group;
    ++groups;
  }
  auto* d = w.at<U32>(op.d);
  if constexpr (All) {
    const bool equal = groups <= 1;
    each_lane_of(w.exec, [&](unsigned i) { d[i] = equal ? in : 0u; });
    if (op.e.valid()) w.set_predicate(op.e, equal ? full_mask : 0u);
  } else {
    each_lane_of(w.exec, [&](unsigned i) { d[i] = same[i]; });
  }
}

enum class Reduce : std::uint8_t { add, min, max, and_, or_, xor_ };
template <typename T, Reduce K>
void redux(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  const U32 in = members(w, op);
  T r = take<T>(a[__builtin_ctz(in)]);
  each_lane_of(in & (in - 1), [&](unsigned i) {
    const T x = take<T>(a[i]);
    switch (K) {
      case Reduce::add:
        r = T(U32(r) + U32(x));
        break;
      case Reduce::min:
        r = x < r ? x : r;
        break;
      case Reduce::max:
        r = x > r ? x : r;
        break;
      case Reduce::and_:
        r = T(r & x);
        break;
      case Reduce::or_:
        r = T(r | x);
        break;
      case Reduce::xor_:
        r = T(r ^ x);
        break;
    }
  });
  broadcast(w, op.d, static_cast<U32>(r));
}

void elect(Warp& w, const Op& op) {
  const U32 in = members(w, op);
  const auto leader = static_cast<U32>(__builtin_ctz(in));
  if (op.d.valid()) broadcast(w, op.d, leader);
  if (op.e.valid()) w.set_predicate(op.e, 1u << leader);
}

void nothing(Warp&, const Op&) {}

Choice shuffle(const Form& f) {
  const Shape shape{Type::b32, Type::b32, Type::b32, Type::b32, Type::none};
  switch (f.first_of({Modifier::up, Modifier::down, Modifier::bfly, Modifier::idx})) {
    case Modifier::up:
      return {.fn = shfl<Shuffle::up>, .shape = shape};
    case Modifier::down:
      return {.fn = shfl<Shuffle::down>, .shape = shape};
    case Modifier::bfly:
      return {.fn = shfl<Shuffle::bfly>, .shape = shape};
    case Modifier::idx:
      return {.fn = shfl<Shuffle::idx>, .shape = shape};
    default:
      return {};
  }
}

Choice vote_of(const Form& f) {
  const Shape shape{Type::pred, Type::pred, Type::none};
  switch (f.first_of({Modifier::all, Modifier::any, Modifier::uni, Modifier::ballot})) {
    case Modifier::all:
      return {.fn = vote<Vote::all>, .shape = shape};
    case Modifier::any:
      return {.fn = vote<Vote::any>, .shape = shape};
    case Modifier::uni:
      return {.fn = vote<Vote::uni>, .shape = shape};
    case Modifier::ballot:
      return {.fn = ballot, .shape = {Type::b32, Type::pred, Type::none}};
    default:
      return {};
  }
}

template <typename T>
Choice redux_of(const Form& f) {
  const Shape shape{Type::b32, Type::b32, Type::none};
  switch (f.first_of({Modifier::add, Modifier::min, Modifier::max, Modifier::and_, Modifier::or_, Modifier::xor_})) {
    case Modifier::add:
      return {.fn = redux<T, Reduce::add>, .shape = shape};
    case Modifier::min:
      return {.fn = redux<T, Reduce::min>, .shape = shape};
    case Modifier::max:
      return {.fn = redux<T, Reduce::max>, .shape = shape};
    case Modifier::and_:
      return {.fn = redux<T, Reduce::and_>, .shape = shape};
    case Modifier::or_:
      return {.fn = redux<T, Reduce::or_>, .shape = shape};
    case Modifier::xor_:
      return {.fn = redux<T, Reduce::xor_>, .shape = shape};
    default:
      return {};
  }
}

Choice match_of(const Form& f) {
  const bool all = f.has(Modifier::all), wide = f.types[0] == Type::b64;
  Choice choice{.shape = {Type::b32, f.types[0], Type::none}};
  if (wide)
    choice.fn = all ? match<std::uint64_t, true> : match<std::uint64_t, false>;
  else
    choice.fn = all ? match<U32, true> : match<U32, false>;
  return choice;
}

}  // namespace

Choice warp_class(const Form& f) {
  switch (f.opcode) {
    case Opcode::shfl:
      return shuffle(f);
    case Opcode::vote:
      return vote_of(f);
    case Opcode::match:
      return match_of(f);
    case Opcode::redux:
      if (ptx::is_float(f.types[0])) return {};
      return f.types[0] == Type::s32 ? redux_of<std::int32_t>(f) : redux_of<U32>(f);
    case Opcode::activemask:
      return {.fn = activemask, .shape = {Type::b32, Type::none}};
    case Opcode::elect:
      return {.fn = elect, .shape = {Type::b32, Type::none}};
    case Opcode::bar:
    case Opcode::barrier:
      return f.has(Modifier::warp) ? Choice{.fn = nothing} : Choice{};
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
