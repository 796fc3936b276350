// One decoded instruction, and where its operands are.
//
// Operands are resolved to slots at decode time: a bank and a byte offset. A slot holds 32 lanes of 32-bit or 64-bit storage (values of
// 8 and 16 bits live in the low bits of 32-bit storage; their upper bits are unspecified), or one 32-bit lane mask (predicates).
// Immediates are slots too, broadcast once in the pool of the program; special registers that don't change while a warp runs likewise.
// Invariant: a handler touches lanes of Warp::exec only. Threads: immutable once decoded.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

struct Warp;
struct Op;
using Handler = void (*)(Warp&, const Op&);

inline constexpr unsigned warp_size = 32;
inline constexpr std::uint32_t full_mask = 0xffffffffu;

enum class Bank : std::uint32_t { frame, pool, special };  // registers of the activation; literals; %tid and its kind

struct Slot {
  static constexpr std::uint32_t bank_shift = 30;
  std::uint32_t bits = ~0u;
  [[nodiscard]] constexpr bool valid() const { return bits != ~0u; }
  [[nodiscard]] constexpr unsigned bank() const { return bits >> bank_shift; }
  [[nodiscard]] constexpr std::uint32_t offset() const { return bits & ((1u << bank_shift) - 1); }
  static constexpr Slot of(Bank bank, std::uint32_t offset) { return {static_cast<std::uint32_t>(bank) << bank_shift | offset}; }
  bool operator==(const Slot&) const = default;
};

// What the warp loop must do itself; everything else is `none` and runs through its handler.
enum class Control : std::uint8_t {
  none,
  block,           // start of a basic block: counts it, lets lanes meet
  jump,            // imm = target op
  branch,          // guarded: imm = target op for the lanes that take it, others fall through
  branch_indexed,  // a = index slot, extra = first of its targets in Code::targets, x = their number
  call,            // imm = index in Program::calls
  builtin,         // call of a function that the simulator provides; imm = index in Program::calls
  ret,
  exit,
  barrier,    // x = BarrierKind, a = id, b = thread count, c = predicate, d = result
  warp_sync,  // handler that exchanges between lanes: waits for the lanes in mask slot f
  trap,
  yield,  // nanosleep: lets others run
};

enum class BarrierKind : std::uint8_t { sync, arrive, red_popc, red_and, red_or };

struct Op {
  Handler fn = nullptr;
  Slot d, a, b, c, e, f;
  Slot guard;
  std::uint32_t extra = 0;  // first of a list in Code::lists, or an index of the kind that the handler says
  std::uint64_t imm = 0;    // address offset, look-up table, target …
  std::uint32_t instr = 0;  // ptx instruction, for messages
  std::uint16_t x = 0, y = 0;
  Control control = Control::none;
  bool guard_negated = false;
  std::uint8_t width = 0;  // bytes a lane of a memory access
  std::uint8_t count = 0;  // elements of a vector access
};

}  // namespace tessera::simgpu
