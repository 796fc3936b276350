// Copies and fills: linear and 2-D, between the host and any devices, at once or in a stream.
#include <cstring>

#include "tools/simgpu/libcuda/work.h"

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

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream handle, bool blocking) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, handle, error);
  if (stream == nullptr) return error;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (p->srcMemoryType == CU_MEMORYTYPE_ARRAY || p->dstMemoryType == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (p->WidthInBytes == 0 || p->Height == 0) return CUDA_SUCCESS;
  const std::uint64_t from = p->srcMemoryType == CU_MEMORYTYPE_HOST ? address(p->srcHost) : p->srcDevice;
  const std::uint64_t to = p->dstMemoryType == CU_MEMORYTYPE_HOST ? address(p->dstHost) : p->dstDevice;
  const std::size_t from_pitch = p->srcPitch == 0 ? p->WidthInBytes : p->srcPitch,
                    to_pitch = p->dstPitch == 0 ? p->WidthInBytes : p->dstPitch;
  if ((p->Height > 1 && (from_pitch < p->WidthInBytes || to_pitch < p->WidthInBytes))) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t from_first = from + p->srcY * from_pitch + p->srcXInBytes, to_first = to + p->dstY * to_pitch + p->dstXInBytes;
  const Place source = place_of(from_first, (p->Height - 1) * from_pitch + p->WidthInBytes);
  const Place target = place_of(to_first, (p->Height - 1) * to_pitch + p->WidthInBytes);
  if (!source.valid || !target.valid) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(*stream,
                 CopyWork{end_of(target, to_first, to_pitch, to_pitch * p->Height),
                          end_of(source, from_first, from_pitch, from_pitch * p->Height), p->WidthInBytes, p->Height},
                 blocking);
}

template <typename T>
CUresult fill(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height, CUstream handle) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, handle, error);
  if (stream == nullptr) return error;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  if (to % sizeof(T) != 0 || (height > 1 && pitch < width * sizeof(T))) return CUDA_ERROR_INVALID_VALUE;
  const Place target = place_of(to, (height - 1) * pitch + width * sizeof(T));
  if (!fits(target, to, Expect::device)) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(*stream, FillWork{target.device, to, pitch, value, sizeof(T), width, height});
}

}  // namespace

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
