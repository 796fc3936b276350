// Copies and fills as programs write them down, and as the driver does them.
//
// Each answers CUDA_SUCCESS, or the code that the call documents. A description that moves nothing gives a work of 0 bytes.
// Threads: guarded by the driver's lock.
#pragma once

#include "tools/simgpu/libcuda/work.h"

namespace tessera::simgpu {

[[nodiscard]] CUresult copy_of(const CUDA_MEMCPY3D& description, CopyWork& work);
[[nodiscard]] CUresult fill_of(const CUDA_MEMSET_NODE_PARAMS& description, FillWork& work);
// The other way.
[[nodiscard]] CUDA_MEMCPY3D description_of(const CopyWork& work);
[[nodiscard]] CUDA_MEMSET_NODE_PARAMS description_of(const FillWork& work);

}  // namespace tessera::simgpu
