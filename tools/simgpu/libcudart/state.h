// What the runtime keeps: the calling thread's device and last error, and the code that the program registered.
//
// Invariant: a thread that has used the runtime has a current context: its own choice of device's primary one, unless the program
// set another through the driver. Threads: registration locks; the rest is per thread.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <bit>
#include <string>
#include <type_traits>

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

// A runtime's argument as the driver's call takes it: handles, structures of the same layout, enumerations and numbers.
template <typename To, typename From>
To as_driver(From value) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_class_v<To>) {
    return std::bit_cast<To>(value);
  } else if constexpr (std::is_pointer_v<From> && std::is_integral_v<To>) {
    return reinterpret_cast<To>(value);
  } else if constexpr (std::is_pointer_v<From>) {
    return static_cast<To>(const_cast<void*>(static_cast<const void*>(value)));
  } else {
    return static_cast<To>(value);
  }
}
template <typename... Parameters, typename... Arguments>
CUresult call_driver(CUresult (*function)(Parameters...), Arguments... arguments) noexcept {
  return function(as_driver<Parameters>(arguments)...);
}

// For entry points that are the driver's under another name.
template <auto function, typename... Arguments>
cudaError_t forward(Arguments... arguments) noexcept {
  return with_context([&](const DriverTable& d) { return call_driver(d.*function, arguments...); });
}

// A kernel of a library that the program loaded: from now on it is one that can be launched by its handle.
void know_kernel(CUkernel kernel) noexcept;
// The host function that stands for a kernel; null when it has none.
[[nodiscard]] const void* host_function_of(CUkernel kernel) noexcept;
// The driver's description of a copy as the runtime describes it; cudaErrorInvalidValue where both an array and a pointer are given.
[[nodiscard]] CUresult read_copy(const cudaMemcpy3DParms& params, CUDA_MEMCPY3D& copy) noexcept;
[[nodiscard]] cudaMemcpy3DParms written_copy(const CUDA_MEMCPY3D& copy) noexcept;
// The address `offset` bytes inside a host variable's device copy, if `size` bytes fit there.
[[nodiscard]] CUresult inside_symbol(const void* host_variable, std::size_t offset, std::size_t size, CUdeviceptr& address) noexcept;

}  // namespace tessera::simgpu::runtime
