// Memory operations in a stream: write a value, wait for a value, several at once.
#include "tools/simgpu/libcuda/stream_memory.h"

#include "tools/simgpu/libcuda/capture.h"

using namespace tessera::simgpu;

namespace {

CUresult check(CUdeviceptr address, unsigned bytes) {
  if (address % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  const SimDevice* d = world().device_of(address);
  if (d != nullptr) return d->device->memory->covers(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  return world().host_allocation_of(address) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult wait_of(CUdeviceptr address, std::uint64_t value, unsigned bytes, unsigned flags, Work& work) {
  if ((flags & ~(3u | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH))) != 0) return CUDA_ERROR_INVALID_VALUE;
  work = WaitValueWork{address, value, bytes, flags};
  return check(address, bytes);
}
CUresult write_of(CUdeviceptr address, std::uint64_t value, unsigned bytes, unsigned flags, Work& work) {
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;
  work = WriteValueWork{address, value, bytes};
  return check(address, bytes);
}

using Make = CUresult (*)(CUdeviceptr, std::uint64_t, unsigned, unsigned, Work&);
CUresult value_operation(CUstream handle, Make make, CUdeviceptr address, std::uint64_t value, unsigned bytes, unsigned flags) {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  Work work;
  if (const CUresult bad = make(address, value, bytes, flags, work); bad != CUDA_SUCCESS) return bad;
  return enqueue(*s, std::move(work));
}

}  // namespace

CUresult tessera::simgpu::value_works_of(const CUstreamBatchMemOpParams* operations, unsigned count, std::vector<Work>& works) {
  if (count > 256 || (operations == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& o = operations[i];
    Work work;
    CUresult result = CUDA_SUCCESS;
    switch (o.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = wait_of(o.waitValue.address, o.waitValue.value, 4, o.waitValue.flags, work);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = wait_of(o.waitValue.address, o.waitValue.value64, 8, o.waitValue.flags, work);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = write_of(o.writeValue.address, o.writeValue.value, 4, o.writeValue.flags, work);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = write_of(o.writeValue.address, o.writeValue.value64, 8, o.writeValue.flags, work);
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        break;  // writes are seen at once
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) return result;
    works.push_back(std::move(work));
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count, CUstreamBatchMemOpParams* operations,
                                          unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  std::vector<Work> works;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = value_works_of(operations, count, works); bad != CUDA_SUCCESS) return bad;
  if (s->capturing != nullptr) return capture(*s, BatchNode{{operations, operations + count}, std::move(works)});
  for (Work& work : works) {
    if (const CUresult bad = enqueue(*s, std::move(work)); bad != CUDA_SUCCESS) return bad;
  }
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation(s, wait_of, address, value, 4, flags);
}
SIM_EXPORT CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation(s, wait_of, address, value, 8, flags);
}
SIM_EXPORT CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation(s, write_of, address, value, 4, flags);
}
SIM_EXPORT CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) SIM_NOEXCEPT {
  return value_operation(s, write_of, address, value, 8, flags);
}
