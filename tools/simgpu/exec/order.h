// The order in which the basic blocks of a function are laid out, which is the order in which parted lanes run them.
//
// A reverse post-order in which, at every branch, what leaves the innermost loop comes last: so a loop's body lies before the code behind
// it, and both arms of a branch before their meeting point. Lanes that wait at a later block are joined there by those that are behind.
// Invariant: each reachable block once, the entry first. Threads: pure function.
#pragma once

#include <vector>

#include "placement/ptx/cfg.h"

namespace tessera::simgpu {

[[nodiscard]] std::vector<ptx::Index> layout_order(const ptx::Cfg& cfg);

}  // namespace tessera::simgpu
