// Values that streams write to memory and wait for, as works. Threads: guarded by the driver's lock.
#pragma once

#include <vector>

#include "tools/simgpu/libcuda/work.h"

namespace tessera::simgpu {

// One work for each operation of a batch, in order; CUDA_SUCCESS or the documented code.
[[nodiscard]] CUresult value_works_of(const CUstreamBatchMemOpParams* operations, unsigned count, std::vector<Work>& works);

}  // namespace tessera::simgpu
