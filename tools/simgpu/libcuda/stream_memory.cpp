// Memory operations in a stream: write a value, wait for a value.
#include <type_traits>

#include "tools/simgpu/libcuda/work.h"

using namespace tessera::simgpu;

namespace {

template <typename W>
CUresult value_operation(CUstream handle, CUdeviceptr address, std::uint64_t value, unsigned bytes, unsigned flags) {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (address % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  const SimDevice* d = world().device_of(address);
  if (d != nullptr ? !d->device->memory->covers(address, bytes) : world().host_allocation_of(address) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  if constexpr (std::is_same_v<W, WaitValueWork>) {
    if ((flags & ~(3u | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH))) != 0) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(*s, WaitValueWork{address, value, bytes, flags});
  } else {
    if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(*s, WriteValueWork{address, value, bytes});
  }
}

}  // namespace

SIM_EXPORT CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation<WaitValueWork>(s, address, value, 4, flags);
}
SIM_EXPORT CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation<WaitValueWork>(s, address, value, 8, flags);
}
SIM_EXPORT CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation<WriteValueWork>(s, address, value, 4, flags);
}
SIM_EXPORT CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation<WriteValueWork>(s, address, value, 8, flags);
}
