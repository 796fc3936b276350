// Copies and fills: linear, 2-D and 3-D, between the host and any devices, at once or in a stream.
#include "tools/simgpu/libcuda/copy.h"

#include <algorithm>
#include <cstring>

using namespace tessera::simgpu;

namespace {

// Where a range lies: in one device's live allocation, in memory of the host, or nowhere.
struct Place {
  bool valid = true;
  SimDevice* device = nullptr;  // nullptr = host
};
Place place_of(std::uint64_t address, std::uint64_t bytes) {
  SimDevice* d = world().device_of(address);
  if (d == nullptr) return {address != 0 || bytes == 0, nullptr};
  return {bytes == 0 || d->device->memory->covers(address, bytes), d};
}

enum class Expect : std::uint8_t { any, host, device };
bool fits(const Place& place, std::uint64_t address, Expect expect) {
  if (!place.valid) return false;
  // Pinned and managed memory has a device address, too.
  if (expect == Expect::device) return place.device != nullptr || world().host_allocation_of(address) != nullptr;
  return expect == Expect::any || place.device == nullptr;
}

CopyWork::End end_of(const Place& place, std::uint64_t address, std::uint64_t pitch, std::uint64_t slice) {
  return {place.device, address, pitch, slice, place.device == nullptr && world().host_allocation_of(address) == nullptr};
}

CUresult copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, CUstream handle, bool blocking, Expect to_expect,
              Expect from_expect) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, handle, error);
  if (stream == nullptr) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  const Place target = place_of(to, bytes), source = place_of(from, bytes);
  if (!fits(target, to, to_expect) || !fits(source, from, from_expect)) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(*stream, CopyWork{end_of(target, to, bytes, bytes), end_of(source, from, bytes, bytes), bytes}, blocking);
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

CUresult copy_box(const CUDA_MEMCPY3D& box, CUstream handle, bool blocking) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, handle, error);
  if (stream == nullptr) return error;
  CopyWork work;
  if (const CUresult bad = copy_of(box, work); bad != CUDA_SUCCESS) return bad;
  return work.bytes() == 0 ? CUDA_SUCCESS : enqueue(*stream, work, blocking);
}

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream handle, bool blocking) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = p->srcXInBytes;
  box.srcY = p->srcY;
  box.srcMemoryType = p->srcMemoryType;
  box.srcHost = p->srcHost;
  box.srcDevice = p->srcDevice;
  box.srcPitch = p->srcPitch;
  box.dstXInBytes = p->dstXInBytes;
  box.dstY = p->dstY;
  box.dstMemoryType = p->dstMemoryType;
  box.dstHost = p->dstHost;
  box.dstDevice = p->dstDevice;
  box.dstPitch = p->dstPitch;
  box.WidthInBytes = p->WidthInBytes;
  box.Height = p->Height;
  box.Depth = 1;
  return copy_box(box, handle, blocking);
}

CUresult copy_3d(const CUDA_MEMCPY3D* p, CUstream handle, bool blocking) {
  return p == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_box(*p, handle, blocking);
}

// With unified addresses the contexts say nothing new.
CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER* p, CUstream handle, bool blocking) {
  static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D), "differ in the contexts, which are reserved fields in the other");
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  {
    const Entry entry;
    for (CUcontext c : {p->srcContext, p->dstContext}) {
      if (c != nullptr && world().contexts.find(c) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  CUDA_MEMCPY3D box;
  std::memcpy(&box, p, sizeof box);
  return copy_box(box, handle, blocking);
}

template <typename T>
CUresult fill(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height, CUstream handle) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, handle, error);
  if (stream == nullptr) return error;
  FillWork work;
  if (const CUresult bad = fill_of({to, pitch, value, sizeof(T), width, height}, work); bad != CUDA_SUCCESS) return bad;
  return width == 0 || height == 0 ? CUDA_SUCCESS : enqueue(*stream, work);
}

// One side of a box: the first byte, and how far it is to the next row and slice.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::uint64_t x, y, z, pitch, rows;
};
CUresult end_of_side(const Side& side, const CUDA_MEMCPY3D& box, CopyWork::End& end) {
  if (side.type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (side.type != CU_MEMORYTYPE_HOST && side.type != CU_MEMORYTYPE_DEVICE && side.type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t pitch = side.pitch == 0 ? box.WidthInBytes : side.pitch, rows = side.rows == 0 ? box.Height : side.rows;
  if ((box.Height > 1 || box.Depth > 1) && pitch < box.WidthInBytes + side.x) return CUDA_ERROR_INVALID_VALUE;
  if (box.Depth > 1 && rows < box.Height + side.y) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t slice = pitch * rows;
  const std::uint64_t first =
      (side.type == CU_MEMORYTYPE_HOST ? address(side.host) : side.device) + side.z * slice + side.y * pitch + side.x;
  const Place place = place_of(first, (box.Depth - 1) * slice + (box.Height - 1) * pitch + box.WidthInBytes);
  if (!fits(place, first, side.type == CU_MEMORYTYPE_DEVICE ? Expect::device : Expect::any)) return CUDA_ERROR_INVALID_VALUE;
  end = end_of(place, first, pitch, slice);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult tessera::simgpu::copy_of(const CUDA_MEMCPY3D& box, CopyWork& work) {
  work.width = box.WidthInBytes;
  work.height = box.Height;
  work.depth = box.Depth;
  if (work.bytes() == 0) return CUDA_SUCCESS;
  const Side from{box.srcMemoryType, box.srcHost, box.srcDevice, box.srcXInBytes, box.srcY, box.srcZ, box.srcPitch, box.srcHeight};
  const Side to{box.dstMemoryType, box.dstHost, box.dstDevice, box.dstXInBytes, box.dstY, box.dstZ, box.dstPitch, box.dstHeight};
  if (const CUresult bad = end_of_side(from, box, work.from); bad != CUDA_SUCCESS) return bad;
  return end_of_side(to, box, work.to);
}

CUDA_MEMCPY3D tessera::simgpu::description_of(const CopyWork& work) {
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = work.from.device == nullptr ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  box.srcHost = work.from.device == nullptr ? reinterpret_cast<const void*>(work.from.address) : nullptr;
  box.srcDevice = work.from.device == nullptr ? 0 : work.from.address;
  box.srcPitch = work.from.pitch;
  box.srcHeight = work.from.pitch == 0 ? 0 : work.from.slice / work.from.pitch;
  box.dstMemoryType = work.to.device == nullptr ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  box.dstHost = work.to.device == nullptr ? reinterpret_cast<void*>(work.to.address) : nullptr;
  box.dstDevice = work.to.device == nullptr ? 0 : work.to.address;
  box.dstPitch = work.to.pitch;
  box.dstHeight = work.to.pitch == 0 ? 0 : work.to.slice / work.to.pitch;
  box.WidthInBytes = work.width;
  box.Height = work.height;
  box.Depth = work.depth;
  return box;
}

CUresult tessera::simgpu::fill_of(const CUDA_MEMSET_NODE_PARAMS& p, FillWork& work) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  work = {nullptr, p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
  if (p.width == 0 || p.height == 0) return CUDA_SUCCESS;
  if (p.dst % p.elementSize != 0 || (p.height > 1 && p.pitch < p.width * p.elementSize)) return CUDA_ERROR_INVALID_VALUE;
  const Place target = place_of(p.dst, (p.height - 1) * p.pitch + p.width * p.elementSize);
  if (!fits(target, p.dst, Expect::device)) return CUDA_ERROR_INVALID_VALUE;
  work.device = target.device;
  return CUDA_SUCCESS;
}

CUDA_MEMSET_NODE_PARAMS tessera::simgpu::description_of(const FillWork& work) {
  return {work.to, work.pitch, work.value, work.element, work.width, work.height};
}

SIM_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) SIM_NOEXCEPT {
  return copy(to, from, n, nullptr, true, Expect::any, Expect::any);
}
SIM_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) SIM_NOEXCEPT {
  return copy(to, from, n, s, false, Expect::any, Expect::any);
}
SIM_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) SIM_NOEXCEPT {
  return copy(to, address(from), n, nullptr, true, Expect::device, Expect::any);
}
SIM_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) SIM_NOEXCEPT {
  return copy(address(to), from, n, nullptr, true, Expect::any, Expect::device);
}
SIM_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) SIM_NOEXCEPT {
  return copy(to, from, n, nullptr, false, Expect::device, Expect::device);
}
SIM_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream s) SIM_NOEXCEPT {
  return copy(to, address(from), n, s, false, Expect::device, Expect::any);
}
SIM_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream s) SIM_NOEXCEPT {
  return copy(address(to), from, n, s, false, Expect::any, Expect::device);
}
SIM_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) SIM_NOEXCEPT {
  return copy(to, from, n, s, false, Expect::device, Expect::device);
}

namespace {
bool are_contexts(CUcontext a, CUcontext b) {
  const Entry entry;
  return world().contexts.find(a) != nullptr && world().contexts.find(b) != nullptr;
}
}  // namespace

SIM_EXPORT CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n) SIM_NOEXCEPT {
  return are_contexts(to_context, from_context) ? copy(to, from, n, nullptr, false, Expect::device, Expect::device)
                                                : CUDA_ERROR_INVALID_CONTEXT;
}
SIM_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n,
                                      CUstream s) SIM_NOEXCEPT {
  return are_contexts(to_context, from_context) ? copy(to, from, n, s, false, Expect::device, Expect::device) : CUDA_ERROR_INVALID_CONTEXT;
}

SIM_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) SIM_NOEXCEPT { return copy_2d(p, nullptr, true); }
SIM_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) SIM_NOEXCEPT { return copy_2d(p, nullptr, true); }
SIM_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream s) SIM_NOEXCEPT { return copy_2d(p, s, false); }
SIM_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) SIM_NOEXCEPT { return copy_3d(p, nullptr, true); }
SIM_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream s) SIM_NOEXCEPT { return copy_3d(p, s, false); }
SIM_EXPORT CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* p) SIM_NOEXCEPT { return copy_3d_peer(p, nullptr, true); }
SIM_EXPORT CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream s) SIM_NOEXCEPT { return copy_3d_peer(p, s, false); }

SIM_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char v, size_t n) SIM_NOEXCEPT { return fill(to, 0, v, n, 1, nullptr); }
SIM_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short v, size_t n) SIM_NOEXCEPT { return fill(to, 0, v, n, 1, nullptr); }
SIM_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int v, size_t n) SIM_NOEXCEPT { return fill(to, 0, v, n, 1, nullptr); }
SIM_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s) SIM_NOEXCEPT { return fill(to, 0, v, n, 1, s); }
SIM_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream s) SIM_NOEXCEPT {
  return fill(to, 0, v, n, 1, s);
}
SIM_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int v, size_t n, CUstream s) SIM_NOEXCEPT { return fill(to, 0, v, n, 1, s); }
SIM_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char v, size_t w, size_t h) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, nullptr);
}
SIM_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short v, size_t w, size_t h) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, nullptr);
}
SIM_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int v, size_t w, size_t h) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, nullptr);
}
SIM_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char v, size_t w, size_t h, CUstream s) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, s);
}
SIM_EXPORT CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short v, size_t w, size_t h, CUstream s) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, s);
}
SIM_EXPORT CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int v, size_t w, size_t h, CUstream s) SIM_NOEXCEPT {
  return fill(to, pitch, v, w, h, s);
}
