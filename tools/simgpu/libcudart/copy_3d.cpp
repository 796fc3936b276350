// Memory in three dimensions: pitched allocations, boxes that are copied and filled.
#include <cstring>

#include "tools/simgpu/libcudart/state.h"

namespace tessera::simgpu::runtime {
namespace {

CUdeviceptr device_pointer(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

constexpr CUmemorytype sources[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
                                    CU_MEMORYTYPE_UNIFIED};  // by cudaMemcpyKind
constexpr CUmemorytype targets[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                    CU_MEMORYTYPE_UNIFIED};

cudaMemcpyKind kind_of(const CUDA_MEMCPY3D& copy) {
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST, to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  if (from_host) return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// What both forms of a box have in common.
template <typename Params>
CUresult read_sides(const Params& p, CUDA_MEMCPY3D& copy) {
  copy = {};
  if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  if (p.srcArray != nullptr || p.dstArray != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  copy.srcHost = p.srcPtr.ptr, copy.srcDevice = device_pointer(p.srcPtr.ptr);
  copy.srcPitch = p.srcPtr.pitch, copy.srcHeight = p.srcPtr.ysize;
  copy.srcXInBytes = p.srcPos.x, copy.srcY = p.srcPos.y, copy.srcZ = p.srcPos.z;
  copy.dstHost = p.dstPtr.ptr, copy.dstDevice = device_pointer(p.dstPtr.ptr);
  copy.dstPitch = p.dstPtr.pitch, copy.dstHeight = p.dstPtr.ysize;
  copy.dstXInBytes = p.dstPos.x, copy.dstY = p.dstPos.y, copy.dstZ = p.dstPos.z;
  copy.WidthInBytes = p.extent.width, copy.Height = p.extent.height, copy.Depth = p.extent.depth;
  return CUDA_SUCCESS;
}

CUresult context_of(const DriverTable& d, int device, CUcontext& context) { return d.cuDevicePrimaryCtxRetain(&context, device); }

CUresult read_peer_copy(const DriverTable& d, const cudaMemcpy3DPeerParms* p, CUDA_MEMCPY3D_PEER& copy) {
  CUDA_MEMCPY3D box;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = read_sides(*p, box); bad != CUDA_SUCCESS) return bad;
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  static_assert(sizeof copy == sizeof box, "they differ in the contexts, which are reserved fields in the other");
  std::memcpy(&copy, &box, sizeof copy);
  const CUresult bad = context_of(d, p->srcDevice, copy.srcContext);
  return bad != CUDA_SUCCESS ? bad : context_of(d, p->dstDevice, copy.dstContext);
}

// Slices of a pitched allocation follow each other without a gap: a fill of whole slices is one of rows.
template <typename Fill>
CUresult fill_slices(const cudaPitchedPtr& p, const cudaExtent& extent, Fill fill) {
  for (size_t z = 0; z < extent.depth; ++z) {
    const CUresult bad = fill(device_pointer(p.ptr) + z * p.pitch * p.ysize);
    if (bad != CUDA_SUCCESS) return bad;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult read_copy(const cudaMemcpy3DParms& p, CUDA_MEMCPY3D& copy) noexcept {
  if (p.kind < cudaMemcpyHostToHost || p.kind > cudaMemcpyDefault) return static_cast<CUresult>(cudaErrorInvalidMemcpyDirection);
  const CUresult bad = read_sides(p, copy);
  copy.srcMemoryType = sources[p.kind];
  copy.dstMemoryType = targets[p.kind];
  return bad;
}

cudaMemcpy3DParms written_copy(const CUDA_MEMCPY3D& copy) noexcept {
  cudaMemcpy3DParms p{};
  void* from = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? const_cast<void*>(copy.srcHost) : reinterpret_cast<void*>(copy.srcDevice);
  void* to = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
  p.srcPtr = {from, copy.srcPitch, copy.WidthInBytes, copy.srcHeight};
  p.dstPtr = {to, copy.dstPitch, copy.WidthInBytes, copy.dstHeight};
  p.srcPos = {copy.srcXInBytes, copy.srcY, copy.srcZ};
  p.dstPos = {copy.dstXInBytes, copy.dstY, copy.dstZ};
  p.extent = {copy.WidthInBytes, copy.Height, copy.Depth};
  p.kind = kind_of(copy);
  return p;
}

}  // namespace tessera::simgpu::runtime

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent extent) RUNTIME_NOEXCEPT {
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  *p = {nullptr, 0, extent.width, extent.height};
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  return with_context([&](const DriverTable& d) {
    return d.cuMemAllocPitch(reinterpret_cast<CUdeviceptr*>(&p->ptr), &p->pitch, extent.width, extent.height * extent.depth, 4);
  });
}

RUNTIME_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  if (const CUresult bad = read_copy(*p, copy); bad != CUDA_SUCCESS) return finish(bad);
  return with_context([&](const DriverTable& d) { return d.cuMemcpy3D(&copy); });
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  if (const CUresult bad = read_copy(*p, copy); bad != CUDA_SUCCESS) return finish(bad);
  return with_context([&](const DriverTable& d) { return d.cuMemcpy3DAsync(&copy, reinterpret_cast<CUstream>(stream)); });
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUDA_MEMCPY3D_PEER copy;
    const CUresult bad = read_peer_copy(d, p, copy);
    return bad != CUDA_SUCCESS ? bad : d.cuMemcpy3DPeer(&copy);
  });
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUDA_MEMCPY3D_PEER copy;
    const CUresult bad = read_peer_copy(d, p, copy);
    return bad != CUDA_SUCCESS ? bad : d.cuMemcpy3DPeerAsync(&copy, reinterpret_cast<CUstream>(stream));
  });
}

RUNTIME_EXPORT cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    return fill_slices(p, extent, [&](CUdeviceptr slice) {
      return d.cuMemsetD2D8(slice, p.pitch, static_cast<unsigned char>(value), extent.width, extent.height);
    });
  });
}
RUNTIME_EXPORT cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent extent, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    return fill_slices(p, extent, [&](CUdeviceptr slice) {
      return d.cuMemsetD2D8Async(slice, p.pitch, static_cast<unsigned char>(value), extent.width, extent.height,
                                 reinterpret_cast<CUstream>(stream));
    });
  });
}
