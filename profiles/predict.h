// How long a launch that was never measured should take on a GPU: a roofline with wave quantisation.
//
// seconds = fixed time of a kernel + the larger of (operations of each unit ÷ its peak) and (global bytes ÷ memory bandwidth). Peaks are
// scaled by how well the grid fills the GPU: SMs that have nothing to do in the last round of blocks, and SMs that hold too few warps to
// hide latency (occupancy). It is a model for choosing between GPUs, not a measurement; whoever shows it says so ("predicted").
// `seconds` means what the database's durations mean, from the kernel's start to its end; what passes before the start is apart.
// Invariant: finite and positive for every catalogue model; never falls when work grows; never rises when peaks grow.
// Units: SI; a fused multiply-add is two operations. Threads: pure functions that allocate nothing.
// Source: Williams, Waterman, Patterson, "Roofline" (CACM 52/4, 2009); occupancy limits as in the CUDA C++ Programming Guide.
#pragma once

#include <cstdint>

#include "profiles/device_catalog.h"
#include "profiles/kernel_key.h"

namespace tessera {

// What one launch does in all its threads together.
struct WorkEstimate {
  double fp32 = 0, fp64 = 0, fp16 = 0;  // fp16: outside tensor units, bf16 included
  double integer = 0, special = 0;      // 32-bit integer and logic; sin, rcp, sqrt, …
  double tensor_fp16 = 0, tensor_bf16 = 0, tensor_tf32 = 0, tensor_fp8 = 0, tensor_fp4 = 0, tensor_int8 = 0, tensor_fp64 = 0;
  double global_read = 0, global_written = 0;  // bytes
  std::uint32_t registers = 0;                 // a thread; 0 = not known
  std::uint32_t static_shared = 0;             // bytes a block
  bool complete = true;                        // false: loop counts or the like were guessed
};

enum class Limit : std::uint8_t { fixed, memory, fp32, fp64, fp16, integer, special, tensor };
[[nodiscard]] const char* name_of(Limit limit);

struct Prediction {
  double seconds = 0;
  double launch_seconds = 0;        // from the call until an idle GPU starts the kernel
  Limit limit = Limit::fixed;       // what takes longest
  double filled = 1;                // part of the SMs' time for which they have a block
  std::uint32_t blocks_per_sm = 0;  // that fit at once; 0: the block doesn't fit the GPU at all, and the launch would fail
  bool rough = false;               // the estimate was incomplete, or the GPU lacks a unit that it needs and a slower one was assumed
};

[[nodiscard]] Prediction predict(const WorkEstimate& work, const LaunchShape& shape, const DeviceModel& device) noexcept;

}  // namespace tessera
