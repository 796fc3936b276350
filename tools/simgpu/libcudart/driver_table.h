// The driver as the runtime reaches it: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), and everything else through that, as NVIDIA's
// runtime does, so that an interposer sees the same look-ups.
// Threads: resolved once, then constant.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>

namespace tessera::simgpu::runtime {

// The driver functions that the runtime calls, by the names that it asks for.
#define RUNTIME_DRIVER_FUNCTIONS(X)                                                                                                        \
  X(cuInit)                                                                                                                                \
  X(cuDriverGetVersion)                                                                                                                    \
  X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem) X(cuDeviceGetAttribute)                     \
      X(cuDeviceGetPCIBusId) X(cuDeviceGetByPCIBusId) X(cuDeviceCanAccessPeer) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset)      \
          X(cuDevicePrimaryCtxSetFlags) X(cuDevicePrimaryCtxGetState) X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxGetDevice)              \
              X(cuCtxSynchronize) X(cuCtxGetLimit) X(cuCtxSetLimit) X(cuCtxGetCacheConfig) X(cuCtxSetCacheConfig)                          \
                  X(cuCtxGetStreamPriorityRange) X(cuMemAlloc) X(cuMemAllocPitch) X(cuMemFree) X(cuMemGetInfo) X(cuMemAllocHost)           \
                      X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer)          \
                          X(cuMemHostGetFlags) X(cuMemAllocManaged) X(cuMemAllocAsync) X(cuMemFreeAsync) X(cuPointerGetAttributes)         \
                              X(cuMemcpy) X(cuMemcpyAsync) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoD) X(cuMemcpyHtoDAsync)            \
                                  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpyPeer) X(cuMemcpyPeerAsync) X(cuMemcpy2D)             \
                                      X(cuMemcpy2DAsync) X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemsetD2D8) X(cuMemsetD2D8Async)             \
                                          X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamQuery) X(cuStreamSynchronize)         \
                                              X(cuStreamWaitEvent) X(cuStreamGetFlags) X(cuStreamGetPriority) X(cuStreamGetId)             \
                                                  X(cuStreamAddCallback) X(cuLaunchHostFunc) X(cuStreamIsCapturing)                        \
                                                      X(cuThreadExchangeStreamCaptureMode) X(cuEventCreate) X(cuEventDestroy)              \
                                                          X(cuEventRecordWithFlags) X(cuEventQuery) X(cuEventSynchronize)                  \
                                                              X(cuEventElapsedTime) X(cuLibraryLoadData) X(cuLibraryUnload)                \
                                                                  X(cuLibraryGetKernel) X(cuLibraryGetGlobal) X(cuKernelGetFunction)       \
                                                                      X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncSetCacheConfig)  \
                                                                          X(cuFuncGetName) X(cuFuncGetParamInfo)                           \
                                                                              X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)      \
                                                                                  X(cuOccupancyAvailableDynamicSMemPerBlock)               \
                                                                                      X(cuLaunchKernel) X(cuLaunchKernelEx)                \
                                                                                          X(cuLaunchCooperativeKernel) X(cuGetProcAddress) \
                                                                                              X(cuProfilerStart) X(cuProfilerStop)

struct DriverTable {
#define RUNTIME_MEMBER(name) decltype(&::name) name = nullptr;
  RUNTIME_DRIVER_FUNCTIONS(RUNTIME_MEMBER)
#undef RUNTIME_MEMBER
  // CUDA_SUCCESS, or why there is no driver.
  CUresult found = CUDA_ERROR_NOT_FOUND;
};

// Resolves on first use.
const DriverTable& driver();

}  // namespace tessera::simgpu::runtime
