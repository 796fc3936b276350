// Memory pools: where allocations in streams come from, and what is kept of it for the next ones.
//
// A pool hands out its device's memory. What it has reserved beyond what is in use is a number that is reported (cuMemGetInfo counts it as
// taken) and that synchronisation and trimming bring down as documented; no memory is withheld from other allocations for it.
// Invariant: an allocation belongs to at most one pool, and keeps it alive. Threads: guarded by the driver's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/simgpu/libcuda/driver.h"

namespace tessera::simgpu {

// Device memory, as every kind of allocation gets it. CUDA_SUCCESS and the address, or the code that the call documents.
[[nodiscard]] CUresult allocate(SimDevice& device, std::size_t bytes, CUdeviceptr* result);

// Memory that every device and the host may touch, for a managed variable; not a context's. Error environment: out of memory.
[[nodiscard]] Result<std::uint64_t> make_managed_variable(std::uint64_t bytes);
void free_managed_variables(const ManagedVariables& variables);
// Managed memory at these addresses is about to go, and the advice on it.
void forget_advice(std::uint64_t base, std::uint64_t size);
// Frees what was allocated in the context, on its device and on the host, and is left.
void free_memory_of(const Context& context);

// The pool that the allocation at `base` came from, or null.
[[nodiscard]] Pool* pool_of(std::uint64_t base);
// The allocation at `base` is about to be freed; nothing happens when it came from no pool.
void leave_pool(std::uint64_t base);
// What a synchronisation does: pools keep no more than their release threshold.
void release_from_pools();
// Bytes that the device's pools keep beyond what is in use.
[[nodiscard]] std::uint64_t kept_by_pools(const SimDevice& device);

}  // namespace tessera::simgpu
