// The driver as the runtime reaches it: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), and everything else through that, as NVIDIA's
// runtime does, so that an interposer sees the same look-ups.
// Threads: resolved once, then constant.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>

namespace tessera::simgpu::runtime {

// One pointer a row of driver_calls.def.
struct DriverTable {
#define RUNTIME_DRIVER_CALL(name) decltype(&::name) name = nullptr;
#include "tools/simgpu/libcudart/driver_calls.def"
  // CUDA_SUCCESS, or why there is no driver.
  CUresult found = CUDA_ERROR_NOT_FOUND;
};

// Resolves on first use.
const DriverTable& driver();

}  // namespace tessera::simgpu::runtime
