// Names and sentences of the runtime's error codes.
#pragma once

#include <cuda_runtime_api.h>

namespace tessera::simgpu::runtime {

[[nodiscard]] const char* error_name(cudaError_t error) noexcept;  // "cudaErrorInvalidValue"; "unrecognized error code" for others
[[nodiscard]] const char* error_text(cudaError_t error) noexcept;

}  // namespace tessera::simgpu::runtime
