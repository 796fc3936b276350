// Launches, function attributes, occupancy.
#include <vector_types.h>

#include <vector>

#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<CallConfiguration> configurations;

CUstream raw(cudaStream_t stream) { return reinterpret_cast<CUstream>(stream); }

}  // namespace

RUNTIME_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) RUNTIME_NOEXCEPT {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
RUNTIME_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) RUNTIME_NOEXCEPT {
  if (configurations.empty()) return finish(cudaErrorMissingConfiguration);
  const CallConfiguration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared,
                                            cudaStream_t stream) RUNTIME_NOEXCEPT {
  CUkernel kernel = nullptr;
  if (const CUresult bad = use_context(); bad != CUDA_SUCCESS) return finish(bad);
  if (const CUresult bad = kernel_of(host, kernel); bad != CUDA_SUCCESS) return finish(bad);
  const CUresult code = driver().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                static_cast<unsigned>(shared), raw(stream), args, nullptr);
  return finish(code == CUDA_ERROR_INVALID_VALUE ? static_cast<CUresult>(cudaErrorInvalidConfiguration) : code);
}
RUNTIME_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                                              cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
RUNTIME_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared,
                                                       cudaStream_t stream) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared),
                                                   raw(stream), args));
}
RUNTIME_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host, void** args) RUNTIME_NOEXCEPT {
  if (config == nullptr) return finish(cudaErrorInvalidValue);
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  CUlaunchConfig mine{};
  mine.gridDimX = config->gridDim.x, mine.gridDimY = config->gridDim.y, mine.gridDimZ = config->gridDim.z;
  mine.blockDimX = config->blockDim.x, mine.blockDimY = config->blockDim.y, mine.blockDimZ = config->blockDim.z;
  mine.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  mine.hStream = raw(config->stream);
  mine.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);  // the runtime's attributes are the driver's
  mine.numAttrs = config->numAttrs;
  return finish(driver().cuLaunchKernelEx(&mine, f, args, nullptr));
}

RUNTIME_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* host) RUNTIME_NOEXCEPT {
  if (a == nullptr) return finish(cudaErrorInvalidValue);
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  *a = {};
  const auto get = [&](CUfunction_attribute which) {
    int value = 0;
    driver().cuFuncGetAttribute(&value, which, f);
    return value;
  };
  a->sharedSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  a->constSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  a->localSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  a->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  a->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  a->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  a->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  a->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  a->preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return cudaSuccess;
}
RUNTIME_EXPORT cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuFuncSetAttribute(f, static_cast<CUfunction_attribute>(attribute), value));
}
RUNTIME_EXPORT cudaError_t cudaFuncSetCacheConfig(const void* host, cudaFuncCache config) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuFuncSetCacheConfig(f, static_cast<CUfunc_cache>(config)));
}
RUNTIME_EXPORT cudaError_t cudaFuncGetName(const char** name, const void* host) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuFuncGetName(name, f));
}
RUNTIME_EXPORT cudaError_t cudaFuncGetParamInfo(const void* host, size_t index, size_t* offset, size_t* size) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuFuncGetParamInfo(f, index, offset, size));
}
RUNTIME_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int threads, size_t shared,
                                                                                  unsigned flags) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, flags));
}
RUNTIME_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                                         size_t shared) RUNTIME_NOEXCEPT {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}
RUNTIME_EXPORT cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* host, int blocks,
                                                                     int threads) RUNTIME_NOEXCEPT {
  CUfunction f = nullptr;
  if (const CUresult bad = function_of(host, f); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuOccupancyAvailableDynamicSMemPerBlock(bytes, f, blocks, threads));
}
