// Memory pools, the memory of graphs.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceGetDefaultMemPool>(memPool, device);
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceGetMemPool>(memPool, device);
}
RUNTIME_EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceSetMemPool>(device, memPool);
}
RUNTIME_EXPORT cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* memPool, cudaMemLocation* location,
                                                    cudaMemAllocationType type) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemGetDefaultMemPool>(memPool, location, type);
}
RUNTIME_EXPORT cudaError_t cudaMemGetMemPool(cudaMemPool_t* memPool, cudaMemLocation* location,
                                             cudaMemAllocationType type) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemGetMemPool>(memPool, location, type);
}
RUNTIME_EXPORT cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                                             cudaMemPool_t memPool) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemSetMemPool>(location, type, memPool);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolCreate>(memPool, poolProps);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolDestroy>(memPool);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolTrimTo>(memPool, minBytesToKeep);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolGetAttribute>(memPool, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolSetAttribute>(memPool, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t memPool,
                                                cudaMemLocation* location) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolGetAccess>(flags, memPool, location);
}
RUNTIME_EXPORT cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList, size_t count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPoolSetAccess>(memPool, descList, count);
}
RUNTIME_EXPORT cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemAllocFromPoolAsync>(ptr, size, memPool, stream);
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceGetGraphMemAttribute>(device, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceSetGraphMemAttribute>(device, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaDeviceGraphMemTrim(int device) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceGraphMemTrim>(device);
}
RUNTIME_EXPORT cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int srcDevice, int dstDevice) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuDeviceGetP2PAttribute>(value, attr, srcDevice, dstDevice);
}
