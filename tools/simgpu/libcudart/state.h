// What the runtime keeps: the calling thread's device and last error, and the code that the program registered.
//
// Invariant: a thread that has used the runtime has a current context: its own choice of device's primary one, unless the program
// set another through the driver. Threads: registration locks; the rest is per thread.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "tools/simgpu/libcudart/driver_table.h"

// No exception leaves an entry point. Clang refuses to say so where the toolkit's own declaration doesn't.
#ifdef __clang__
#define RUNTIME_NOEXCEPT
#else
#define RUNTIME_NOEXCEPT noexcept
#endif
#define RUNTIME_EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::simgpu::runtime {

// The runtime's codes are the driver's, for every code that both have. Remembers errors as cudaGetLastError wants.
cudaError_t finish(CUresult result) noexcept;
cudaError_t finish(cudaError_t result) noexcept;
cudaError_t take_last_error() noexcept;
cudaError_t peek_last_error() noexcept;

// Initialises the driver; no context is made.
[[nodiscard]] CUresult use_driver() noexcept;
// Makes sure that the thread has a current context.
[[nodiscard]] CUresult use_context() noexcept;
[[nodiscard]] int current_device() noexcept;
[[nodiscard]] CUresult select_device(int ordinal) noexcept;

// The kernel behind a host function (or a cudaKernel_t), loaded on first use.
[[nodiscard]] CUresult kernel_of(const void* host_function, CUkernel& kernel) noexcept;
// That kernel in the current context.
[[nodiscard]] CUresult function_of(const void* host_function, CUfunction& function) noexcept;
// The device address of a host variable.
[[nodiscard]] CUresult symbol_of(const void* host_variable, CUdeviceptr& address, std::size_t& size) noexcept;

// Runs `call` with a context; for entry points that are one driver call.
template <typename Call>
cudaError_t with_context(Call call) noexcept {
  if (const CUresult ready = use_context(); ready != CUDA_SUCCESS) return finish(ready);
  return finish(call(driver()));
}

}  // namespace tessera::simgpu::runtime
