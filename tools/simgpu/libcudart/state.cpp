#include "tools/simgpu/libcudart/state.h"

#include <vector>

namespace tessera::simgpu::runtime {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int device = 0;

}  // namespace

cudaError_t finish(cudaError_t result) noexcept {
  if (result != cudaSuccess && result != cudaErrorNotReady) last_error = result;
  return result;
}
cudaError_t finish(CUresult result) noexcept { return finish(static_cast<cudaError_t>(result)); }
cudaError_t take_last_error() noexcept {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t peek_last_error() noexcept { return last_error; }

CUresult use_driver() noexcept {
  if (driver().found != CUDA_SUCCESS) return static_cast<CUresult>(cudaErrorInsufficientDriver);
  static const CUresult initialised = driver().cuInit(0);
  return initialised;
}

int current_device() noexcept {
  CUcontext context = nullptr;
  CUdevice ordinal = device;
  if (driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) driver().cuCtxGetDevice(&ordinal);
  return ordinal;
}

CUresult select_device(int ordinal) noexcept {
  if (const CUresult ready = use_driver(); ready != CUDA_SUCCESS) return ready;
  CUdevice handle = 0;
  if (const CUresult bad = driver().cuDeviceGet(&handle, ordinal); bad != CUDA_SUCCESS) return bad;
  CUcontext context = nullptr;
  if (const CUresult bad = driver().cuDevicePrimaryCtxRetain(&context, handle); bad != CUDA_SUCCESS) return bad;
  device = ordinal;
  return driver().cuCtxSetCurrent(context);
}

CUresult use_context() noexcept {
  if (const CUresult ready = use_driver(); ready != CUDA_SUCCESS) return ready;
  CUcontext context = nullptr;
  if (const CUresult bad = driver().cuCtxGetCurrent(&context); bad != CUDA_SUCCESS) return bad;
  return context != nullptr ? CUDA_SUCCESS : select_device(device);
}

}  // namespace tessera::simgpu::runtime
