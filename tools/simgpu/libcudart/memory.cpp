// Memory: allocation, copies of every linear kind, symbols, fills, pointer attributes.
#include <cstdint>

#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

namespace {

CUdeviceptr device_pointer(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }
CUstream raw(cudaStream_t stream) { return reinterpret_cast<CUstream>(stream); }

CUresult copy(const DriverTable& d, void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return d.cuMemcpy(device_pointer(to), device_pointer(from), n);
    case cudaMemcpyHostToDevice:
      return d.cuMemcpyHtoD(device_pointer(to), from, n);
    case cudaMemcpyDeviceToHost:
      return d.cuMemcpyDtoH(to, device_pointer(from), n);
    case cudaMemcpyDeviceToDevice:
      return d.cuMemcpyDtoD(device_pointer(to), device_pointer(from), n);
  }
  return static_cast<CUresult>(cudaErrorInvalidMemcpyDirection);
}
CUresult copy_async(const DriverTable& d, void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return d.cuMemcpyAsync(device_pointer(to), device_pointer(from), n, raw(stream));
    case cudaMemcpyHostToDevice:
      return d.cuMemcpyHtoDAsync(device_pointer(to), from, n, raw(stream));
    case cudaMemcpyDeviceToHost:
      return d.cuMemcpyDtoHAsync(to, device_pointer(from), n, raw(stream));
    case cudaMemcpyDeviceToDevice:
      return d.cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from), n, raw(stream));
  }
  return static_cast<CUresult>(cudaErrorInvalidMemcpyDirection);
}

bool host_source(cudaMemcpyKind kind) { return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost; }
bool host_target(cudaMemcpyKind kind) { return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost; }

CUDA_MEMCPY2D rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D c{};
  const bool any = kind == cudaMemcpyDefault;
  c.srcMemoryType = any ? CU_MEMORYTYPE_UNIFIED : host_source(kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.dstMemoryType = any ? CU_MEMORYTYPE_UNIFIED : host_target(kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.srcHost = from, c.srcDevice = device_pointer(from), c.srcPitch = from_pitch;
  c.dstHost = to, c.dstDevice = device_pointer(to), c.dstPitch = to_pitch;
  c.WidthInBytes = width, c.Height = height;
  return c;
}

}  // namespace

RUNTIME_EXPORT cudaError_t cudaMalloc(void** p, size_t n) RUNTIME_NOEXCEPT {
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  if (n == 0) {
    *p = nullptr;
    return with_context([](const DriverTable&) { return CUDA_SUCCESS; });
  }
  return with_context([&](const DriverTable& d) { return d.cuMemAlloc(reinterpret_cast<CUdeviceptr*>(p), n); });
}
RUNTIME_EXPORT cudaError_t cudaFree(void* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemFree(device_pointer(p)); });
}
RUNTIME_EXPORT cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) RUNTIME_NOEXCEPT {
  if (p == nullptr || pitch == nullptr) return finish(cudaErrorInvalidValue);
  return with_context([&](const DriverTable& d) { return d.cuMemAllocPitch(reinterpret_cast<CUdeviceptr*>(p), pitch, width, height, 4); });
}
RUNTIME_EXPORT cudaError_t cudaMallocHost(void** p, size_t n) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemAllocHost(p, n); });
}
RUNTIME_EXPORT cudaError_t cudaHostAlloc(void** p, size_t n, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemHostAlloc(p, n, flags); });
}
RUNTIME_EXPORT cudaError_t cudaFreeHost(void* p) RUNTIME_NOEXCEPT {
  if (p == nullptr) return cudaSuccess;
  return with_context([&](const DriverTable& d) { return d.cuMemFreeHost(p); });
}
RUNTIME_EXPORT cudaError_t cudaHostRegister(void* p, size_t n, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemHostRegister(p, n, flags); });
}
RUNTIME_EXPORT cudaError_t cudaHostUnregister(void* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemHostUnregister(p); });
}
RUNTIME_EXPORT cudaError_t cudaHostGetDevicePointer(void** result, void* p, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr*>(result), p, flags); });
}
RUNTIME_EXPORT cudaError_t cudaHostGetFlags(unsigned int* flags, void* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemHostGetFlags(flags, p); });
}
RUNTIME_EXPORT cudaError_t cudaMallocManaged(void** p, size_t n, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(p), n, flags); });
}
RUNTIME_EXPORT cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(p), n, raw(stream)); });
}
RUNTIME_EXPORT cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemFreeAsync(device_pointer(p), raw(stream)); });
}
RUNTIME_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemGetInfo(free, total); });
}

RUNTIME_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return copy(d, to, from, n, kind); });
}
RUNTIME_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind,
                                           cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return copy_async(d, to, from, n, kind, stream); });
}
RUNTIME_EXPORT cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t n) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUcontext a = nullptr, b = nullptr;
    if (const CUresult bad = d.cuDevicePrimaryCtxRetain(&a, to_device); bad != CUDA_SUCCESS) return bad;
    if (const CUresult bad = d.cuDevicePrimaryCtxRetain(&b, from_device); bad != CUDA_SUCCESS) return bad;
    return d.cuMemcpyPeer(device_pointer(to), a, device_pointer(from), b, n);
  });
}
RUNTIME_EXPORT cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t n,
                                               cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUcontext a = nullptr, b = nullptr;
    if (const CUresult bad = d.cuDevicePrimaryCtxRetain(&a, to_device); bad != CUDA_SUCCESS) return bad;
    if (const CUresult bad = d.cuDevicePrimaryCtxRetain(&b, from_device); bad != CUDA_SUCCESS) return bad;
    return d.cuMemcpyPeerAsync(device_pointer(to), a, device_pointer(from), b, n, raw(stream));
  });
}
RUNTIME_EXPORT cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                                        cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height, kind);
  return with_context([&](const DriverTable& d) { return d.cuMemcpy2D(&c); });
}
RUNTIME_EXPORT cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                                             cudaMemcpyKind kind, cudaStream_t stream) RUNTIME_NOEXCEPT {
  const CUDA_MEMCPY2D c = rows(to, to_pitch, from, from_pitch, width, height, kind);
  return with_context([&](const DriverTable& d) { return d.cuMemcpy2DAsync(&c, raw(stream)); });
}

RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t n, size_t offset,
                                              cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  if (const CUresult bad = inside_symbol(symbol, offset, n, address); bad != CUDA_SUCCESS) return finish(bad);
  return finish(copy(driver(), reinterpret_cast<void*>(address), from, n, kind));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t n, size_t offset,
                                                cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  if (const CUresult bad = inside_symbol(symbol, offset, n, address); bad != CUDA_SUCCESS) return finish(bad);
  return finish(copy(driver(), to, reinterpret_cast<const void*>(address), n, kind));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t n, size_t offset, cudaMemcpyKind kind,
                                                   cudaStream_t stream) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  if (const CUresult bad = inside_symbol(symbol, offset, n, address); bad != CUDA_SUCCESS) return finish(bad);
  return finish(copy_async(driver(), reinterpret_cast<void*>(address), from, n, kind, stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t n, size_t offset, cudaMemcpyKind kind,
                                                     cudaStream_t stream) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  if (const CUresult bad = inside_symbol(symbol, offset, n, address); bad != CUDA_SUCCESS) return finish(bad);
  return finish(copy_async(driver(), to, reinterpret_cast<const void*>(address), n, kind, stream));
}
RUNTIME_EXPORT cudaError_t cudaGetSymbolAddress(void** result, const void* symbol) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  size_t size = 0;
  if (result == nullptr) return finish(cudaErrorInvalidValue);
  const CUresult code = symbol_of(symbol, address, size);
  if (code == CUDA_SUCCESS) *result = reinterpret_cast<void*>(address);
  return finish(code);
}
RUNTIME_EXPORT cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) RUNTIME_NOEXCEPT {
  CUdeviceptr address = 0;
  return size == nullptr ? finish(cudaErrorInvalidValue) : finish(symbol_of(symbol, address, *size));
}

RUNTIME_EXPORT cudaError_t cudaMemset(void* p, int value, size_t n) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuMemsetD8(device_pointer(p), static_cast<unsigned char>(value), n); });
}
RUNTIME_EXPORT cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return d.cuMemsetD8Async(device_pointer(p), static_cast<unsigned char>(value), n, raw(stream)); });
}
RUNTIME_EXPORT cudaError_t cudaMemset2D(void* p, size_t pitch, int value, size_t width, size_t height) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return d.cuMemsetD2D8(device_pointer(p), pitch, static_cast<unsigned char>(value), width, height); });
}
RUNTIME_EXPORT cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                                             cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    return d.cuMemsetD2D8Async(device_pointer(p), pitch, static_cast<unsigned char>(value), width, height, raw(stream));
  });
}

RUNTIME_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) RUNTIME_NOEXCEPT {
  if (a == nullptr) return finish(cudaErrorInvalidValue);
  return with_context([&](const DriverTable& d) {
    unsigned type = 0, managed = 0;
    int device = -2;
    CUdeviceptr on_device = 0;
    void* on_host = nullptr;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* data[] = {&type, &managed, &device, &on_device, &on_host};
    const CUresult code = d.cuPointerGetAttributes(5, which, data, device_pointer(p));
    if (code != CUDA_SUCCESS) return code;
    *a = {};
    a->type = managed != 0                   ? cudaMemoryTypeManaged
              : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
              : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                             : cudaMemoryTypeUnregistered;
    a->device = device;
    a->devicePointer = reinterpret_cast<void*>(on_device);
    a->hostPointer = a->type == cudaMemoryTypeUnregistered ? const_cast<void*>(p) : on_host;
    return CUDA_SUCCESS;
  });
}
