// The per-thread-default-stream variants: a null stream means the thread's own one. Blocking copies and fills differ only in whom they
// wait for.
#include <vector_types.h>

#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

namespace {

cudaStream_t per_thread(cudaStream_t stream) { return stream == nullptr ? cudaStreamPerThread : stream; }
// Without a wish for the legacy stream, the entry points are those of the per-thread one.
unsigned long long per_thread_flags(unsigned long long flags) {
  constexpr unsigned long long per_thread = cudaEnablePerThreadDefaultStream;
  return flags == cudaEnableDefault ? per_thread : flags;
}

}  // namespace

RUNTIME_EXPORT cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaEventRecordWithFlags(event, per_thread(stream), flags);
}
RUNTIME_EXPORT cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaEventRecord(event, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaFreeAsync_ptsz(void* devPtr, cudaStream_t hStream) RUNTIME_NOEXCEPT {
  return cudaFreeAsync(devPtr, per_thread(hStream));
}
RUNTIME_EXPORT cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                               cudaGraphInstantiateParams* instantiateParams) RUNTIME_NOEXCEPT {
  return cudaGraphInstantiateWithParams(pGraphExec, graph, instantiateParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaGraphLaunch(graphExec, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaGraphUpload(graphExec, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                                            cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaLaunchCooperativeKernel(func, gridDim, blockDim, args, sharedMem, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t fn, void* userData) RUNTIME_NOEXCEPT {
  return cudaLaunchHostFunc(per_thread(stream), fn, userData);
}
RUNTIME_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                                 cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMallocAsync_ptsz(void** devPtr, size_t size, cudaStream_t hStream) RUNTIME_NOEXCEPT {
  return cudaMallocAsync(devPtr, size, per_thread(hStream));
}
RUNTIME_EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void** ptr, size_t size, cudaMemPool_t memPool,
                                                        cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMallocFromPoolAsync(ptr, size, memPool, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpy2DAsync_ptsz(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                                  cudaMemcpyKind kind, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpy2D_ptds(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                                             cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  return cudaMemcpy2D(dst, dpitch, src, spitch, width, height, kind);
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* p, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpy3DAsync(p, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpy3DPeerAsync(p, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* p) RUNTIME_NOEXCEPT { return cudaMemcpy3DPeer(p); }
RUNTIME_EXPORT cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT { return cudaMemcpy3D(p); }
RUNTIME_EXPORT cudaError_t cudaMemcpyAsync_ptsz(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                                                cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpyAsync(dst, src, count, kind, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                                          cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbol_ptds(void* dst, const void* symbol, size_t count, size_t offset,
                                                     cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  return cudaMemcpyFromSymbol(dst, symbol, count, offset, kind);
}
RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* src, size_t count, size_t offset,
                                                        cudaMemcpyKind kind, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* src, size_t count, size_t offset,
                                                   cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  return cudaMemcpyToSymbol(symbol, src, count, offset, kind);
}
RUNTIME_EXPORT cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  return cudaMemcpy(dst, src, count, kind);
}
RUNTIME_EXPORT cudaError_t cudaMemset2DAsync_ptsz(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                                                  cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemset2DAsync(devPtr, pitch, value, width, height, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemset2D_ptds(void* devPtr, size_t pitch, int value, size_t width, size_t height) RUNTIME_NOEXCEPT {
  return cudaMemset2D(devPtr, pitch, value, width, height);
}
RUNTIME_EXPORT cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                                                  cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemset3DAsync(pitchedDevPtr, value, extent, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) RUNTIME_NOEXCEPT {
  return cudaMemset3D(pitchedDevPtr, value, extent);
}
RUNTIME_EXPORT cudaError_t cudaMemsetAsync_ptsz(void* devPtr, int value, size_t count, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemsetAsync(devPtr, value, count, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemset_ptds(void* devPtr, int value, size_t count) RUNTIME_NOEXCEPT {
  return cudaMemset(devPtr, value, count);
}
RUNTIME_EXPORT cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback, void* userData,
                                                      unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaStreamAddCallback(per_thread(stream), callback, userData, flags);
}
RUNTIME_EXPORT cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                                              const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                                                              cudaStreamCaptureMode mode) RUNTIME_NOEXCEPT {
  return cudaStreamBeginCaptureToGraph(per_thread(stream), graph, dependencies, dependencyData, numDependencies, mode);
}
RUNTIME_EXPORT cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) RUNTIME_NOEXCEPT {
  return cudaStreamBeginCapture(per_thread(stream), mode);
}
RUNTIME_EXPORT cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* pGraph) RUNTIME_NOEXCEPT {
  return cudaStreamEndCapture(per_thread(stream), pGraph);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                                         unsigned long long* id_out, cudaGraph_t* graph_out,
                                                         const cudaGraphNode_t** dependencies_out, const cudaGraphEdgeData** edgeData_out,
                                                         size_t* numDependencies_out) RUNTIME_NOEXCEPT {
  return cudaStreamGetCaptureInfo(per_thread(stream), captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                                  numDependencies_out);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t hStream, int* device) RUNTIME_NOEXCEPT {
  return cudaStreamGetDevice(per_thread(hStream), device);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t hStream, unsigned int* flags) RUNTIME_NOEXCEPT {
  return cudaStreamGetFlags(per_thread(hStream), flags);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetId_ptsz(cudaStream_t hStream, unsigned long long* streamId) RUNTIME_NOEXCEPT {
  return cudaStreamGetId(per_thread(hStream), streamId);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t hStream, int* priority) RUNTIME_NOEXCEPT {
  return cudaStreamGetPriority(per_thread(hStream), priority);
}
RUNTIME_EXPORT cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) RUNTIME_NOEXCEPT {
  return cudaStreamIsCapturing(per_thread(stream), pCaptureStatus);
}
RUNTIME_EXPORT cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) RUNTIME_NOEXCEPT { return cudaStreamQuery(per_thread(stream)); }
RUNTIME_EXPORT cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaStreamSynchronize(per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                                    const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                                                                    unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaStreamUpdateCaptureDependencies(per_thread(stream), dependencies, dependencyData, numDependencies, flags);
}
RUNTIME_EXPORT cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaStreamWaitEvent(per_thread(stream), event, flags);
}
RUNTIME_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                                                   cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaLaunchKernel(kernel, grid, block, args, shared, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* func, void** args) RUNTIME_NOEXCEPT {
  if (config == nullptr) return finish(cudaErrorInvalidValue);
  cudaLaunchConfig_t mine = *config;
  mine.stream = per_thread(mine.stream);
  return cudaLaunchKernelExC(&mine, func, args);
}
RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPoint_ptsz(const char* name, void** result, unsigned long long flags,
                                                        cudaDriverEntryPointQueryResult* status) RUNTIME_NOEXCEPT {
  return cudaGetDriverEntryPointByVersion(name, result, CUDART_VERSION, per_thread_flags(flags), status);
}
RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** result, unsigned int version,
                                                                 unsigned long long flags,
                                                                 cudaDriverEntryPointQueryResult* status) RUNTIME_NOEXCEPT {
  return cudaGetDriverEntryPointByVersion(name, result, version, per_thread_flags(flags), status);
}
RUNTIME_EXPORT cudaError_t cudaMemPrefetchAsync_ptsz(const void* devPtr, size_t count, cudaMemLocation location, unsigned int flags,
                                                     cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemPrefetchAsync(devPtr, count, location, flags, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemPrefetchBatchAsync_ptsz(void** dptrs, size_t* sizes, size_t count, cudaMemLocation* prefetchLocs,
                                                          size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                                          cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* devPtr, size_t length,
                                                         unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaStreamAttachMemAsync(per_thread(stream), devPtr, length, flags);
}
RUNTIME_EXPORT cudaError_t cudaMemcpyBatchAsync_ptsz(void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count,
                                                     cudaMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                                     cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t numOps, cudaMemcpy3DBatchOp* opList, unsigned long long flags,
                                                       cudaStream_t stream) RUNTIME_NOEXCEPT {
  return cudaMemcpy3DBatchAsync(numOps, opList, flags, per_thread(stream));
}
RUNTIME_EXPORT cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t hStream, cudaStreamAttrID attr,
                                                       const cudaStreamAttrValue* value) RUNTIME_NOEXCEPT {
  return cudaStreamSetAttribute(per_thread(hStream), attr, value);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t hStream, cudaStreamAttrID attr,
                                                       cudaStreamAttrValue* value_out) RUNTIME_NOEXCEPT {
  return cudaStreamGetAttribute(per_thread(hStream), attr, value_out);
}
RUNTIME_EXPORT cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t dst, cudaStream_t src) RUNTIME_NOEXCEPT {
  return cudaStreamCopyAttributes(per_thread(dst), per_thread(src));
}
