// Module -> text of PTX.
//
// Invariant: same(parse(print(m)), m) for every module without broken functions. Comments and the layout of the source aren't kept.
// Floats are written by their bits (0f…, 0d…). Threads: pure functions.
#pragma once

#include <string>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

[[nodiscard]] std::string print(const Module& module);

// One instruction with its guard, as in "@%p1 ld.global.f32 %f1, [%rd4+8];", for messages and listings.
[[nodiscard]] std::string print_instr(const Module& module, const Function& function, const Instr& instr);

// One operand, as in "[%rd4+8]".
[[nodiscard]] std::string print_operand(const Module& module, const Function& function, const Operand& operand);

}  // namespace tessera::ptx
