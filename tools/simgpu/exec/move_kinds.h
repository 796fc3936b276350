// Moves that the decoder makes by itself: vectors to scalars and back, addresses of local variables, negated
// and constant predicates, clocks.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

enum class MoveKind : std::uint8_t { pack, unpack, frame_address, not_predicate, set_predicate, clock };

}  // namespace tessera::simgpu
