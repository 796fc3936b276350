// Generic addresses: where the windows of shared and local memory lie.
//
// A generic address in the shared window names the shared memory of the block that executes; in the local window, the local memory of the
// thread; in the parameter window, the kernel's parameters. All other generic addresses are global: host addresses (machine/memory.h).
// The windows are one reserved range of this process, so that no host address is ever in them. Offsets in the windows are the addresses of
// the spaces themselves: cvta adds the start.
// Threads: constant after the first call.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 24;  // of each space

struct Windows {
  std::uint64_t shared = 0, local = 0, param = 0;
  std::uint64_t begin = 0, end = 0;  // of all of them
};

[[nodiscard]] const Windows& windows();

}  // namespace tessera::simgpu
