// How long a launch or a copy takes on a GPU model: a roofline over what was really executed.
//
//   kernel  = fixed + the longest of
//               each unit:    operations ÷ (peak rate × compute fill); tensor types share their unit, so their times add up
//               issue:        warp instructions ÷ (4 a clock and SM × compute fill)
//               shared:       bytes ÷ (128 a clock and SM × compute fill);   atomics: lanes ÷ (1 a clock and SM × compute fill)
//               L2:           32-byte sectors as requested by warps ÷ (L2 bandwidth × memory fill)
//               DRAM:         sectors from DRAM ÷ (memory bandwidth × memory fill);   PCIe: sectors of host memory ÷ link bandwidth
//   copy    = latency + bytes ÷ bandwidth of the narrowest link on the way
// Compute fill: SMs that idle in the last round of blocks, and SMs with too few warps for their latencies; memory fill: likewise for loads
// in flight (profiles/occupancy.h). From DRAM come all distinct sectors once, and of the repeated requests the part for which the launch's
// footprint is larger than L2. Not modelled: see docs/simulator.md.
// Units: nanoseconds, rounded up. Invariant: equal counters and shapes give equal times; more work never takes less time.
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "profiles/device_catalog.h"
#include "profiles/occupancy.h"
#include "tools/simgpu/exec/counters.h"

namespace tessera::simgpu {

using Nanoseconds = std::uint64_t;

struct KernelShape {
  std::uint64_t blocks = 1;
  BlockNeeds block;
};

[[nodiscard]] Nanoseconds kernel_time(const Counters& counters, const KernelShape& shape, const DeviceModel& model);
// Bytes that a launch with these counters moves from and to the GPU's memory.
[[nodiscard]] double dram_bytes(const Counters& counters, const DeviceModel& model);
[[nodiscard]] Nanoseconds local_copy_time(std::uint64_t bytes, const DeviceModel& model);  // within the GPU's memory: read and write
[[nodiscard]] Nanoseconds fill_time(std::uint64_t bytes, const DeviceModel& model);
[[nodiscard]] Nanoseconds host_copy_time(std::uint64_t bytes, const DeviceModel& model);
[[nodiscard]] Nanoseconds peer_copy_time(std::uint64_t bytes, const DeviceModel& from, const DeviceModel& to);

}  // namespace tessera::simgpu
