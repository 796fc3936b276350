// Batches of copies: each behind the stream, and what follows behind all of them; among themselves in no order.
#include <vector>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/copy.h"

using namespace tessera::simgpu;

namespace {

struct Copy {
  CopyWork work;
  CUmemcpySrcAccessOrder order;
};

CUresult submit(Stream& stream, const std::vector<Copy>& copies) {
  if (stream.is_legacy) return CUDA_ERROR_INVALID_VALUE;  // documented
  if (const CUresult bad = stream.capturing != nullptr ? may_wait_for(stream) : may_use(stream); bad != CUDA_SUCCESS) return bad;
  World& w = world();
  const std::vector<OperationPtr> before = before_next_on(stream);
  std::vector<OperationPtr> made;
  for (const Copy& copy : copies) {
    const OperationPtr operation = operation_of(copy.work, *stream.context);
    // The source may change as soon as the call has returned: it is read now. Else it is read when the copy runs.
    if (copy.order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL && copy.work.from.device == nullptr) stage(copy.work, *operation);
    operation->issued = w.clock.call();
    operation->stream = stream.id;
    operation->after = before;
    w.scheduler.submit(operation);
    made.push_back(operation);
  }
  const OperationPtr end = operation_of(MarkWork{}, *stream.context);
  end->after = made;
  order_behind(stream, end);
  return CUDA_SUCCESS;
}

bool is_order(CUmemcpySrcAccessOrder order) {
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

CUDA_MEMCPY3D line(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.srcDevice = from;
  box.dstDevice = to;
  box.WidthInBytes = bytes;
  box.Height = box.Depth = 1;
  return box;
}

// `failed`, where given, gets the index of the copy at fault, or all ones where it isn't one of them.
CUresult copy_lines(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes, size_t* indices,
                    size_t attribute_count, size_t* failed, CUstream handle) {
  const Entry entry;
  CUresult error;
  if (failed != nullptr) *failed = ~std::size_t{0};
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (to == nullptr || from == nullptr || sizes == nullptr || attributes == nullptr || indices == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0 || attribute_count == 0 || attribute_count > count || indices[0] != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Copy> copies;
  std::size_t row = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (row + 1 < attribute_count && indices[row + 1] == i) ++row;
    Copy copy{{}, attributes[row].srcAccessOrder};
    const CUresult bad =
        !is_order(copy.order) || sizes[i] == 0 ? CUDA_ERROR_INVALID_VALUE : copy_of(line(to[i], from[i], sizes[i]), copy.work);
    if (bad != CUDA_SUCCESS) {
      if (failed != nullptr) *failed = i;
      return bad;
    }
    copies.push_back(copy);
  }
  return submit(*s, copies);
}

// One side of a box of a batch: lengths are in bytes where memory isn't an array.
CUresult read_side(const CUmemcpy3DOperand& operand, CUdeviceptr& address, std::size_t& pitch, std::size_t& rows) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_ERROR_INVALID_VALUE;
  address = operand.op.ptr.ptr;
  pitch = operand.op.ptr.rowLength;
  rows = operand.op.ptr.layerHeight;
  return CUDA_SUCCESS;
}
CUresult read_box(const CUDA_MEMCPY3D_BATCH_OP& op, Copy& copy) {
  CUDA_MEMCPY3D box = line(0, 0, op.extent.width);
  box.Height = op.extent.height;
  box.Depth = op.extent.depth;
  copy.order = op.srcAccessOrder;
  if (!is_order(copy.order)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = read_side(op.src, box.srcDevice, box.srcPitch, box.srcHeight); bad != CUDA_SUCCESS) return bad;
  if (const CUresult bad = read_side(op.dst, box.dstDevice, box.dstPitch, box.dstHeight); bad != CUDA_SUCCESS) return bad;
  return copy_of(box, copy.work);
}

CUresult copy_boxes(size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, size_t* failed, unsigned long long flags, CUstream handle) {
  const Entry entry;
  CUresult error;
  if (failed != nullptr) *failed = ~std::size_t{0};
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (boxes == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Copy> copies(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult bad = read_box(boxes[i], copies[i]);
    if (bad != CUDA_SUCCESS) {
      if (failed != nullptr) *failed = i;
      return bad;
    }
  }
  return submit(*s, copies);
}

}  // namespace

SIM_EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
                                       size_t* indices, size_t attribute_count, size_t* failed, CUstream stream) SIM_NOEXCEPT {
  return copy_lines(to, from, sizes, count, attributes, indices, attribute_count, failed, stream);
}
SIM_EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
                                          size_t* indices, size_t attribute_count, CUstream stream) SIM_NOEXCEPT {
  return copy_lines(to, from, sizes, count, attributes, indices, attribute_count, nullptr, stream);
}
SIM_EXPORT CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, size_t* failed, unsigned long long flags,
                                         CUstream stream) SIM_NOEXCEPT {
  return copy_boxes(count, boxes, failed, flags, stream);
}
SIM_EXPORT CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, unsigned long long flags,
                                            CUstream stream) SIM_NOEXCEPT {
  return copy_boxes(count, boxes, nullptr, flags, stream);
}
