// Virtual memory management: reserved addresses, physical memory, and mappings of the one to the other with a device's right to touch it.
//
// Physical memory is a file in memory, so that one handle can be mapped several times and be passed to another process as a file
// descriptor; its bytes count on its device. A mapping can be touched by a device once it has got the access. Read-only access isn't
// told from full access. Invariant: mappings lie in reservations, and don't overlap. Units: bytes. Threads: guarded by the driver's lock.
#pragma once

#include <cstdint>

#include "tools/simgpu/libcuda/driver.h"

namespace tessera::simgpu {

inline constexpr std::uint64_t virtual_granularity = std::uint64_t{2} << 20;

// The device whose physical memory is mapped at the address, or null.
[[nodiscard]] SimDevice* device_of_mapping(std::uint64_t address);

}  // namespace tessera::simgpu
