// How long a launch or a copy takes on a GPU model: a roofline over what was really executed.
//
//   kernel  = fixed + max over units of (operations ÷ peak rate) ÷ wave efficiency, or bytes ÷ memory bandwidth if that is larger
//   copy    = latency + bytes ÷ bandwidth of the narrowest link on the way
// Wave efficiency: the last wave of CTAs fills only part of the SMs, so a grid of c CTAs on s SMs runs at c ÷ (s × ⌈c/s⌉) of the peak.
// Bytes: 32-byte sectors, as requested by warps; caches don't reduce them. So times of kernels that live on L2 hits are too long;
// see docs/simulator.md for how far to trust them.
// Units: nanoseconds, rounded up. Invariant: equal counters give equal times. Threads: pure functions.
#pragma once

#include <cstdint>

#include "profiles/device_catalog.h"
#include "tools/simgpu/exec/counters.h"

namespace tessera::simgpu {

using Nanoseconds = std::uint64_t;

[[nodiscard]] Nanoseconds kernel_time(const Counters& counters, std::uint64_t ctas, const DeviceModel& model);
[[nodiscard]] Nanoseconds local_copy_time(std::uint64_t bytes, const DeviceModel& model);  // within the GPU's memory: read and write
[[nodiscard]] Nanoseconds fill_time(std::uint64_t bytes, const DeviceModel& model);
[[nodiscard]] Nanoseconds host_copy_time(std::uint64_t bytes, const DeviceModel& model);
[[nodiscard]] Nanoseconds peer_copy_time(std::uint64_t bytes, const DeviceModel& from, const DeviceModel& to);

}  // namespace tessera::simgpu
