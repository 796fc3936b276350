// The values that conditional graph nodes look at, which kernels set with cudaGraphSetConditional.
//
// Invariant: a handle without a value reads as 0, and setting it is an error that the kernel meets. Threads: any; kernels run on several.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

void make_condition(std::uint64_t handle, unsigned value);
void forget_condition(std::uint64_t handle);
// False: there is no such handle.
[[nodiscard]] bool set_condition(std::uint64_t handle, unsigned value);
[[nodiscard]] unsigned condition(std::uint64_t handle);

}  // namespace tessera::simgpu
