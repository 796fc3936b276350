// Constants and constant expressions of PTX: 12, 0x1F, 017, 0b101, 5U, 1.5e3, 0f3F800000, WARP_SZ, -(4 << 2) + 1, (.u64)3.
//
// Invariant: an integer result is 64 bits wide, signed unless a U, its size or an operand made it unsigned (PTX ISA, "Integer Constant
// Expression Evaluation"). Nesting is limited to 64. Threads: pure.
#pragma once

#include <cstdint>
#include <string>

#include "placement/ptx/lexer.h"

namespace tessera::ptx {

struct Constant {
  std::uint64_t bits = 0;
  Type type = Type::s64;  // s64, u64; f32 for a lone 0f…, else f64

  [[nodiscard]] bool floating() const { return type == Type::f32 || type == Type::f64; }
  [[nodiscard]] double real() const;  // any type, as a number
};

// Binding strength: operators weaker than the one asked for end the expression.
enum class Binding : std::uint8_t {
  conditional = 1,
  any_or,
  any_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relation,
  shift,
  sum,
  product,
  unary
};

// Reads one expression and the space behind it. On failure: false, `error` says what was expected, and `cursor` stands where it was found.
[[nodiscard]] bool parse_constant(Cursor& cursor, Binding weakest, Constant& result, std::string& error);

}  // namespace tessera::ptx
