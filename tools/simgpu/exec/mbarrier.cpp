// mbarrier: objects of 8 bytes in shared memory that count arrivals and bytes of asynchronous copies, phase after phase.
//
// The object's layout is opaque to programs; here: bits 0…19 the arrivals that a phase expects, 20…39 those still pending, 40…61 the
// bytes still to come (two's complement), 63 the phase. A state is the object as it was. Source of the rules: PTX ISA, mbarrier.
#include "tools/simgpu/exec/mbarrier.h"

#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;

// The object as numbers.
struct Object {
  std::uint32_t expected, pending;
  std::int32_t bytes;
  bool phase;

  static Object of(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits & count_mask), static_cast<std::uint32_t>(bits >> 20 & count_mask),
            static_cast<std::int32_t>(static_cast<std::int64_t>(bits << 2) >> 42), (bits >> 63) != 0};
  }
  [[nodiscard]] std::uint64_t bits() const {
    return std::uint64_t{expected} | std::uint64_t{pending} << 20 | (static_cast<std::uint64_t>(bytes) & 0x3fffffu) << 40 |
           std::uint64_t{phase} << 63;
  }
  void arrive(std::uint32_t count) { pending = (pending - count) & count_mask; }
  // Begins the next phase when all have arrived and all bytes have come.
  void settle() {
    if (pending != 0 || bytes != 0) return;
    phase = !phase;
    pending = expected;
  }
  static constexpr std::uint32_t count_mask = 0xfffffu;
};

// What each action makes of the object.
void act(Object& o, MbarrierAction action, std::uint32_t operand) {
  switch (action) {
    case MbarrierAction::init:
      o = {operand & Object::count_mask, operand & Object::count_mask, 0, false};
      return;
    case MbarrierAction::inval:
      o = {};
      return;
    case MbarrierAction::expect_bytes:
      o.bytes += static_cast<std::int32_t>(operand);
      return;
    case MbarrierAction::complete_bytes:
      o.bytes -= static_cast<std::int32_t>(operand);
      break;
    case MbarrierAction::arrive:
      o.arrive(operand);
      break;
    case MbarrierAction::arrive_drop:
      o.expected = (o.expected - operand) & Object::count_mask;
      o.arrive(operand);
      break;
    case MbarrierAction::arrive_expect_bytes:
      o.bytes += static_cast<std::int32_t>(operand);
      o.arrive(1);
      break;
    case MbarrierAction::arrive_drop_expect_bytes:
      o.bytes += static_cast<std::int32_t>(operand);
      o.expected = (o.expected - 1) & Object::count_mask;
      o.arrive(1);
      break;
    case MbarrierAction::test_state:
    case MbarrierAction::test_parity:
      return;
  }
  o.settle();
}

// Everything that changes an object: a = address, b = count or bytes, d = the state before (if wanted).
template <typename SpacePolicy>
void change(Warp& w, const Op& op) {
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  if (!SpacePolicy::resolve(w, op, p, 8, Access::atomic, pattern)) return;
  const auto action = static_cast<MbarrierAction>(op.x);
  const std::uint32_t* operand = op.b.valid() ? w.at<const std::uint32_t>(op.b) : nullptr;
  each_lane_of(w.exec, [&](unsigned i) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, reinterpret_cast<const void*>(p.at[i]), 8);
    Object o = Object::of(bits);
    act(o, action, operand == nullptr ? 1u : operand[i]);
    const std::uint64_t after = o.bits();
    __builtin_memcpy(reinterpret_cast<void*>(p.at[i]), &after, 8);
    if (op.d.valid()) w.at<std::uint64_t>(op.d)[i] = bits;
  });
}

// Whether the phase that a state (b, 64 bits) or a parity (b, 32 bits) names has ended: into the predicate d.
template <typename SpacePolicy>
void test(Warp& w, const Op& op) {
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  if (!SpacePolicy::resolve(w, op, p, 8, Access::read, pattern)) return;
  std::uint32_t done = 0;
  each_lane_of(w.exec, [&](unsigned i) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, reinterpret_cast<const void*>(p.at[i]), 8);
    const bool by_state = static_cast<MbarrierAction>(op.x) == MbarrierAction::test_state;
    const bool asked = by_state ? Object::of(w.at<const std::uint64_t>(op.b)[i]).phase : (w.at<const std::uint32_t>(op.b)[i] & 1u) != 0;
    if (Object::of(bits).phase != asked) done |= 1u << i;
  });
  w.set_predicate(op.d, done);
}

void pending_count(Warp& w, const Op& op) {
  const auto* state = w.at<const std::uint64_t>(op.a);
  auto* d = w.at<std::uint32_t>(op.d);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = Object::of(state[i]).pending; });
}

// Bytes from one place to another, 16 at a time, lane after lane; then they count for the mbarrier, if there is one.
// a = from, d = to, b = bytes, c = mbarrier, e = its offset; y: which addresses have 64 bits; imm: offsets of from (high) and to (low).
struct BulkSide {
  Slot slot;
  bool wide;
  std::uint64_t offset;
  [[nodiscard]] std::uint64_t of(const Warp& w, unsigned lane) const {
    return (wide ? w.at<const std::uint64_t>(slot)[lane] : std::uint64_t{w.at<const std::uint32_t>(slot)[lane]}) + offset;
  }
};
std::uint64_t sign_extended(std::uint32_t v) { return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(v)}); }

template <typename FromSpace, typename ToSpace>
bool copy_lane(Warp& w, const Op& op, unsigned lane, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  Pattern pattern = Pattern::scattered;
  Addresses source, target;
  for (std::uint32_t done = 0; done < bytes; done += 16) {
    source.at[lane] = from + done;
    target.at[lane] = to + done;
    if (!FromSpace::resolve(w, op, source, 16, Access::read, pattern) || !ToSpace::resolve(w, op, target, 16, Access::write, pattern))
      return false;
    __builtin_memcpy(reinterpret_cast<void*>(target.at[lane]), reinterpret_cast<const void*>(source.at[lane]), 16);
  }
  return true;
}

template <typename FromSpace, typename ToSpace>
void bulk_copy(Warp& w, const Op& op) {
  const BulkSide from{op.a, (op.y & 1u) != 0, sign_extended(static_cast<std::uint32_t>(op.imm >> 32))};
  const BulkSide to{op.d, (op.y & 2u) != 0, sign_extended(static_cast<std::uint32_t>(op.imm))};
  const BulkSide barrier{op.c, (op.y & 4u) != 0, op.c.valid() ? std::uint64_t{w.at<const std::uint32_t>(op.e)[0]} : 0u};
  const auto* bytes = w.at<const std::uint32_t>(op.b);
  const std::uint32_t exec = w.exec;
  for (unsigned i = 0; i < warp_size; ++i) {
    if (((exec >> i) & 1u) == 0) continue;
    if (bytes[i] % 16 != 0) {
      w.fault(FaultKind::illegal_instruction, op, i, "the bytes of a bulk copy aren't a multiple of 16");
      return;
    }
    w.exec = 1u << i;
    bool fine = copy_lane<FromSpace, ToSpace>(w, op, i, from.of(w, i), to.of(w, i), bytes[i]);
    if (fine && op.c.valid()) {
      Addresses p;
      Pattern pattern = Pattern::scattered;
      p.at[i] = barrier.of(w, i);
      fine = SharedSpace::resolve(w, op, p, 8, Access::atomic, pattern);
      if (fine) {
        auto* place = reinterpret_cast<std::uint64_t*>(p.at[i]);
        Object o = Object::of(*place);
        act(o, MbarrierAction::complete_bytes, bytes[i]);
        *place = o.bits();
      }
    }
    w.exec = exec;
    if (!fine) return;
  }
}

MbarrierAction action_of(const Form& f) {
  const bool expects = f.has(Modifier::expect_tx);
  using M = Modifier;
  switch (f.first_of({M::init, M::inval, M::arrive, M::arrive_drop, M::test_wait, M::try_wait, M::complete_tx})) {
    case M::init:
      return MbarrierAction::init;
    case M::inval:
      return MbarrierAction::inval;
    case M::arrive:
      return expects ? MbarrierAction::arrive_expect_bytes : MbarrierAction::arrive;
    case M::arrive_drop:
      return expects ? MbarrierAction::arrive_drop_expect_bytes : MbarrierAction::arrive_drop;
    case M::complete_tx:
      return MbarrierAction::complete_bytes;
    case M::test_wait:
    case M::try_wait:
      return f.has(M::parity) ? MbarrierAction::test_parity : MbarrierAction::test_state;
    default:
      return MbarrierAction::expect_bytes;
  }
}

template <typename SpacePolicy>
Choice object_form(const Form& f) {
  const MbarrierAction action = action_of(f);
  const bool tests = action == MbarrierAction::test_state || action == MbarrierAction::test_parity;
  return {.fn = tests ? test<SpacePolicy> : change<SpacePolicy>, .x = static_cast<std::uint16_t>(action)};
}

Choice bulk_form(const Form& f) {
  // In the order in which the instruction names them: first where to, then where from.
  bool to_shared = false, from_shared = false, first = true;
  for (const Modifier m : f.function->modifiers_of(*f.instr)) {
    const bool shared = m == Modifier::shared || m == Modifier::shared_cta || m == Modifier::shared_cluster;
    if (!shared && m != Modifier::global) continue;
    (first ? to_shared : from_shared) = shared;
    first = false;
  }
  if (to_shared) return {.fn = from_shared ? bulk_copy<SharedSpace, SharedSpace> : bulk_copy<GlobalSpace, SharedSpace>};
  return from_shared ? Choice{.fn = bulk_copy<SharedSpace, GlobalSpace>} : Choice{};
}

}  // namespace

Choice mbarrier_class(const Form& f) {
  if (f.opcode == Opcode::cp) {
    if (f.has(Modifier::mbarrier)) return {.fn = change<SharedSpace>, .x = static_cast<std::uint16_t>(MbarrierAction::arrive)};
    const bool copies = f.has(Modifier::bulk) && !f.has(Modifier::tensor) && !f.has(Modifier::reduce) && !f.has(Modifier::prefetch);
    return copies ? bulk_form(f) : Choice{};
  }
  if (f.opcode != Opcode::mbarrier) return {};
  if (f.has(Modifier::pending_count)) return {.fn = pending_count, .shape = {ptx::Type::b32, ptx::Type::b64, ptx::Type::none}};
  switch (f.space) {
    case Space::shared:
    case Space::shared_cta:
    case Space::shared_cluster:
      return object_form<SharedSpace>(f);
    case Space::generic:
      return object_form<GenericSpace>(f);
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
