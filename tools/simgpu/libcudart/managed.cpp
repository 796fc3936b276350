// Managed memory, batches of copies, attributes of streams: the driver's calls under other names.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location, unsigned int flags,
                                                cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPrefetchAsync>(devPtr, count, location, flags, stream);
}
RUNTIME_EXPORT cudaError_t cudaMemPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count, cudaMemLocation* prefetchLocs,
                                                     size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                                     cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemPrefetchBatchAsync>(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream);
}
RUNTIME_EXPORT cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                                         cudaMemLocation location) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemAdvise>(devPtr, count, advice, location);
}
RUNTIME_EXPORT cudaError_t cudaMemRangeGetAttribute(void* data, size_t dataSize, cudaMemRangeAttribute attribute, const void* devPtr,
                                                    size_t count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemRangeGetAttribute>(data, dataSize, attribute, devPtr, count);
}
RUNTIME_EXPORT cudaError_t cudaMemRangeGetAttributes(void** data, size_t* dataSizes, cudaMemRangeAttribute* attributes,
                                                     size_t numAttributes, const void* devPtr, size_t count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemRangeGetAttributes>(data, dataSizes, attributes, numAttributes, devPtr, count);
}
RUNTIME_EXPORT cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length, unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamAttachMemAsync>(stream, devPtr, length, flags);
}
RUNTIME_EXPORT cudaError_t cudaMemcpyBatchAsync(void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count,
                                                cudaMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                                cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemcpyBatchAsync>(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream);
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp* opList, unsigned long long flags,
                                                  cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuMemcpy3DBatchAsync>(numOps, opList, flags, stream);
}
RUNTIME_EXPORT cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                                  const cudaStreamAttrValue* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamSetAttribute>(hStream, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                                  cudaStreamAttrValue* value_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamGetAttribute>(hStream, attr, value_out);
}
RUNTIME_EXPORT cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamCopyAttributes>(dst, src);
}
