// Moves that the decoder makes by itself: vectors to scalars and back, addresses of local variables, negated
// and constant predicates, clocks,
// registers that are wider than the types of a conversion, sums of a register and a constant.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

enum class MoveKind : std::uint8_t {
  pack,
  unpack,
  frame_address,
  not_predicate,
  set_predicate,
  clock,
  low_half,
  extend_signed,
  extend_unsigned,
  add_constant,
};

}  // namespace tessera::simgpu
