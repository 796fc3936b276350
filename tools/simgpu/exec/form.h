// An instruction as its semantics see it at decode time: opcode, types, modifiers; and what they answer.
//
// Each class of instructions (integer.cpp, floating.cpp …) has one look-up: Form → Choice. No choice = this combination of opcode, types
// and modifiers isn't simulated, which the decoder turns into an error that names it.
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "placement/ptx/ir.h"
#include "tools/simgpu/exec/op.h"

namespace tessera::simgpu {

enum class Rounding : std::uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };

struct Form {
  const ptx::Function* function = nullptr;
  const ptx::Instr* instr = nullptr;
  ptx::Opcode opcode = ptx::Opcode::unknown;
  std::array<ptx::Type, 6> types{};  // in text order; Type::none behind the last
  unsigned type_count = 0;
  ptx::Space space = ptx::Space::generic;
  unsigned vector = 1;     // .v2 .v4 .v8
  unsigned dst_bytes = 4;  // storage of the first operand (first element of a vector): 4 or 8
  unsigned src_bytes = 4;  // storage of the value operand of st: 4 or 8
  Rounding rounding = Rounding::none;
  bool ftz = false, sat = false;

  [[nodiscard]] bool has(ptx::Modifier m) const;
  // The first of these that it has; Modifier::first_unknown when none.
  [[nodiscard]] ptx::Modifier first_of(std::initializer_list<ptx::Modifier> list) const;
};

[[nodiscard]] Form form_of(const ptx::Function& function, const ptx::Instr& instr);

// Types of the operands in text order, for those classes whose operands are plain registers and immediates. Type::none ends the list.
using Shape = std::array<ptx::Type, 6>;

struct Choice {
  Handler fn = nullptr;
  Shape shape{};  // first is the destination
  std::uint64_t imm = 0;
  std::uint16_t x = 0, y = 0;
  [[nodiscard]] explicit operator bool() const { return fn != nullptr; }
};

}  // namespace tessera::simgpu
