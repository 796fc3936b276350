// Devices: count, choice, properties, limits; versions; errors; the driver's entry points.
#include <cstdio>
#include <cstring>

#include "tools/simgpu/libcudart/error_names.h"
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaGetLastError() RUNTIME_NOEXCEPT { return take_last_error(); }
RUNTIME_EXPORT cudaError_t cudaPeekAtLastError() RUNTIME_NOEXCEPT { return peek_last_error(); }
RUNTIME_EXPORT const char* cudaGetErrorName(cudaError_t error) RUNTIME_NOEXCEPT { return error_name(error); }
RUNTIME_EXPORT const char* cudaGetErrorString(cudaError_t error) RUNTIME_NOEXCEPT { return error_text(error); }

RUNTIME_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) RUNTIME_NOEXCEPT {
  if (version == nullptr) return finish(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
RUNTIME_EXPORT cudaError_t cudaDriverGetVersion(int* version) RUNTIME_NOEXCEPT {
  if (version == nullptr) return finish(cudaErrorInvalidValue);
  *version = 0;  // documented: 0 without a driver
  return driver().found == CUDA_SUCCESS ? finish(driver().cuDriverGetVersion(version)) : cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaGetDeviceCount(int* count) RUNTIME_NOEXCEPT {
  if (count == nullptr) return finish(cudaErrorInvalidValue);
  *count = 0;
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDeviceGetCount(count));
}
RUNTIME_EXPORT cudaError_t cudaGetDevice(int* ordinal) RUNTIME_NOEXCEPT {
  if (ordinal == nullptr) return finish(cudaErrorInvalidValue);
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  *ordinal = current_device();
  return cudaSuccess;
}
RUNTIME_EXPORT cudaError_t cudaSetDevice(int ordinal) RUNTIME_NOEXCEPT { return finish(select_device(ordinal)); }
RUNTIME_EXPORT cudaError_t cudaInitDevice(int ordinal, unsigned int, unsigned int) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  CUcontext context = nullptr;
  return finish(driver().cuDevicePrimaryCtxRetain(&context, ordinal));
}
RUNTIME_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDevicePrimaryCtxSetFlags(current_device(), flags));
}
RUNTIME_EXPORT cudaError_t cudaGetDeviceFlags(unsigned int* flags) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  int active = 0;
  return flags == nullptr ? finish(cudaErrorInvalidValue) : finish(driver().cuDevicePrimaryCtxGetState(current_device(), flags, &active));
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device));
}

namespace {

struct PropertyRow {
  CUdevice_attribute attribute;
  int cudaDeviceProp::*field;
};
constexpr PropertyRow int_properties[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &cudaDeviceProp::regsPerBlock},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &cudaDeviceProp::warpSize},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &cudaDeviceProp::maxThreadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &cudaDeviceProp::major},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &cudaDeviceProp::minor},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &cudaDeviceProp::multiProcessorCount},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, &cudaDeviceProp::integrated},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, &cudaDeviceProp::canMapHostMemory},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, &cudaDeviceProp::concurrentKernels},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, &cudaDeviceProp::ECCEnabled},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &cudaDeviceProp::pciBusID},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &cudaDeviceProp::pciDeviceID},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &cudaDeviceProp::pciDomainID},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, &cudaDeviceProp::asyncEngineCount},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, &cudaDeviceProp::unifiedAddressing},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &cudaDeviceProp::memoryBusWidth},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &cudaDeviceProp::l2CacheSize},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, &cudaDeviceProp::streamPrioritiesSupported},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, &cudaDeviceProp::globalL1CacheSupported},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, &cudaDeviceProp::localL1CacheSupported},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &cudaDeviceProp::regsPerMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, &cudaDeviceProp::managedMemory},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, &cudaDeviceProp::concurrentManagedAccess},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cudaDeviceProp::cooperativeLaunch},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, &cudaDeviceProp::computePreemptionSupported},
};
struct SizeRow {
  CUdevice_attribute attribute;
  size_t cudaDeviceProp::*field;
};
constexpr SizeRow size_properties[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &cudaDeviceProp::sharedMemPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &cudaDeviceProp::sharedMemPerBlockOptin},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &cudaDeviceProp::sharedMemPerMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &cudaDeviceProp::reservedSharedMemPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, &cudaDeviceProp::memPitch},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, &cudaDeviceProp::totalConstMem},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &cudaDeviceProp::textureAlignment},
};

}  // namespace

RUNTIME_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) RUNTIME_NOEXCEPT {
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  *p = {};
  if (const CUresult bad = driver().cuDeviceGetName(p->name, sizeof p->name, device); bad != CUDA_SUCCESS) return finish(bad);
  CUuuid uuid{};
  driver().cuDeviceGetUuid(&uuid, device);
  static_assert(sizeof p->uuid == sizeof uuid);
  std::memcpy(&p->uuid, &uuid, sizeof uuid);
  driver().cuDeviceTotalMem(&p->totalGlobalMem, device);
  const auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    driver().cuDeviceGetAttribute(&value, attribute, device);
    return value;
  };
  for (const PropertyRow& row : int_properties) p->*row.field = get(row.attribute);
  for (const SizeRow& row : size_properties) p->*row.field = static_cast<size_t>(get(row.attribute));
  for (int i = 0; i < 3; ++i) {
    p->maxThreadsDim[i] = get(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    p->maxGridSize[i] = get(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
  }
  return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDeviceGetPCIBusId(text, length, device));
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDeviceGetByPCIBusId(device, text));
}
RUNTIME_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDeviceCanAccessPeer(can, device, peer));
}
RUNTIME_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUcontext context = nullptr;
    const CUresult bad = d.cuDevicePrimaryCtxRetain(&context, peer);
    return bad != CUDA_SUCCESS ? bad : d.cuCtxEnablePeerAccess(context, flags);
  });
}
RUNTIME_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUcontext context = nullptr;
    const CUresult bad = d.cuDevicePrimaryCtxRetain(&context, peer);
    return bad != CUDA_SUCCESS ? bad : d.cuCtxDisablePeerAccess(context);
  });
}
RUNTIME_EXPORT cudaError_t cudaDeviceSynchronize() RUNTIME_NOEXCEPT {
  return with_context([](const DriverTable& d) {
    CUcontext current = nullptr;
    d.cuCtxGetCurrent(&current);
    return d.cuCtxSynchronize();
  });
}
RUNTIME_EXPORT cudaError_t cudaDeviceReset() RUNTIME_NOEXCEPT {
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  return finish(driver().cuDevicePrimaryCtxReset(current_device()));
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuCtxGetLimit(value, static_cast<CUlimit>(limit)); });
}
RUNTIME_EXPORT cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuCtxSetLimit(static_cast<CUlimit>(limit), value); });
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuCtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config)); });
}
RUNTIME_EXPORT cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config)); });
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuCtxGetStreamPriorityRange(least, greatest); });
}

namespace {
cudaError_t entry_point(const char* name, void** result, unsigned version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
  if (name == nullptr || result == nullptr) return finish(cudaErrorInvalidValue);
  if (const CUresult bad = use_driver(); bad != CUDA_SUCCESS) return finish(bad);
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult code = driver().cuGetProcAddress(name, result, static_cast<int>(version), flags, &answer);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(answer);
  // A name that isn't there is an answer, not an error.
  return code == CUDA_ERROR_NOT_FOUND && status != nullptr ? cudaSuccess : finish(code);
}
}  // namespace

RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPoint(const char* name, void** result, unsigned long long flags,
                                                   cudaDriverEntryPointQueryResult* status) RUNTIME_NOEXCEPT {
  return entry_point(name, result, CUDART_VERSION, flags, status);
}
RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** result, unsigned int version, unsigned long long flags,
                                                            cudaDriverEntryPointQueryResult* status) RUNTIME_NOEXCEPT {
  return entry_point(name, result, version, flags, status);
}
RUNTIME_EXPORT cudaError_t cudaProfilerStart() RUNTIME_NOEXCEPT {
  return with_context([](const DriverTable& d) { return d.cuProfilerStart(); });
}
RUNTIME_EXPORT cudaError_t cudaProfilerStop() RUNTIME_NOEXCEPT {
  return with_context([](const DriverTable& d) { return d.cuProfilerStop(); });
}
// Nothing persists in the modelled L2.
RUNTIME_EXPORT cudaError_t cudaCtxResetPersistingL2Cache() RUNTIME_NOEXCEPT {
  return with_context([](const DriverTable&) { return CUDA_SUCCESS; });
}
// The device that has most of what is asked for: compute capability first, then memory.
RUNTIME_EXPORT cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) RUNTIME_NOEXCEPT {
  if (device == nullptr || wanted == nullptr) return finish(cudaErrorInvalidValue);
  int count = 0;
  if (const cudaError_t bad = cudaGetDeviceCount(&count); bad != cudaSuccess) return bad;
  const auto score = [&](int ordinal) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, ordinal) != cudaSuccess) return -1;
    const bool capable = p.major > wanted->major || (p.major == wanted->major && p.minor >= wanted->minor);
    return (capable ? 2 : 0) + (p.totalGlobalMem >= wanted->totalGlobalMem ? 1 : 0);
  };
  *device = 0;
  for (int i = 1; i < count; ++i) {
    if (score(i) > score(*device)) *device = i;
  }
  return cudaSuccess;
}
