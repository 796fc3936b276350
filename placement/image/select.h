// Which entry of a fat binary the driver takes for a GPU.
//
// Rule (CUDA C++ Programming Guide, compute capabilities): machine code of the same major version and a minor version not above the
// GPU's, the nearest first; an `a` build only for exactly its architecture, an `f` build within its family; else the newest PTX
// not above the GPU's architecture (an `a` PTX only for exactly it). Threads: pure function.
#pragma once

#include <span>

#include "placement/image/image.h"

namespace tessera::image {

// `sm` = 10 × major + minor of the GPU (80, 89, 120). nullptr: nothing in the binary runs there.
[[nodiscard]] const Entry* best_for(std::span<const Entry> entries, unsigned sm);
// The same among PTX entries alone: for GPUs whose driver takes only PTX, and for reading.
[[nodiscard]] const Entry* best_ptx_for(std::span<const Entry> entries, unsigned sm);
[[nodiscard]] bool runs_on(const Entry& entry, unsigned sm);

}  // namespace tessera::image
