// How a grid fills a GPU: the blocks that an SM holds at once, and what part of its peaks the GPU reaches then.
//
// The limits are the hardware's (registers, shared memory, threads and blocks of an SM); Fill is a model. Both the predictor and the
// simulated GPUs calculate with them. Units: threads, 32-bit registers, bytes; a Fill's values are shares in (0, 1].
// Threads: pure functions that allocate nothing.
// Source: CUDA C++ Programming Guide, "Compute Capabilities" and "Occupancy Calculator".
#pragma once

#include <cstdint>

#include "profiles/device_catalog.h"

namespace tessera {

struct BlockNeeds {
  std::uint64_t threads = 1;
  std::uint32_t registers = 0;  // a thread; 0 = not known
  std::uint64_t shared = 0;     // static and dynamic
};

// 0: the block doesn't fit the GPU at all, and a launch would fail.
[[nodiscard]] std::uint32_t blocks_per_sm(const BlockNeeds& block, const DeviceModel& device) noexcept;

struct Fill {
  double compute, memory;  // of arithmetic, and of bandwidth
  double sm_time;          // part of the SMs' time for which they have a block
};

// `blocks` such blocks in all, `resident` of which an SM holds at once.
[[nodiscard]] Fill fill_of(std::uint64_t blocks, const BlockNeeds& block, std::uint32_t resident, const DeviceModel& device) noexcept;

}  // namespace tessera
