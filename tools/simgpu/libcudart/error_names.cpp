#include "tools/simgpu/libcudart/error_names.h"

namespace tessera::simgpu::runtime {
namespace {

struct Row {
  cudaError_t code;
  const char* name;
  const char* text;
};
#define RUNTIME_ERROR(name, text) \
  { name, #name, text }
constexpr Row rows[] = {
    RUNTIME_ERROR(cudaSuccess, "no error"),
    RUNTIME_ERROR(cudaErrorInvalidValue, "invalid argument"),
    RUNTIME_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    RUNTIME_ERROR(cudaErrorInitializationError, "initialization error"),
    RUNTIME_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    RUNTIME_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    RUNTIME_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    RUNTIME_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    RUNTIME_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    RUNTIME_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    RUNTIME_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    RUNTIME_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    RUNTIME_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    RUNTIME_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    RUNTIME_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    RUNTIME_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    RUNTIME_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    RUNTIME_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    RUNTIME_ERROR(cudaErrorFileNotFound, "file not found"),
    RUNTIME_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    RUNTIME_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    RUNTIME_ERROR(cudaErrorNotReady, "device not ready"),
    RUNTIME_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    RUNTIME_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    RUNTIME_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    RUNTIME_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    RUNTIME_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    RUNTIME_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    RUNTIME_ERROR(cudaErrorAssert, "device-side assert triggered"),
    RUNTIME_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    RUNTIME_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    RUNTIME_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    RUNTIME_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    RUNTIME_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    RUNTIME_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    RUNTIME_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    RUNTIME_ERROR(cudaErrorNotSupported, "operation not supported"),
    RUNTIME_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef RUNTIME_ERROR

const Row* row_of(cudaError_t code) {
  for (const Row& row : rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace

const char* error_name(cudaError_t error) noexcept {
  const Row* row = row_of(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}
const char* error_text(cudaError_t error) noexcept {
  const Row* row = row_of(error);
  return row == nullptr ? "unrecognized error code" : row->text;
}

}  // namespace tessera::simgpu::runtime
