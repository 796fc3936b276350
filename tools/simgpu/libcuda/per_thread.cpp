// The per-thread-default-stream variants: a null stream means the thread's own one. Blocking copies and fills differ only in whom they
// wait for, which doesn't show while work is executed at submission.
#include "tools/simgpu/libcuda/driver.h"

namespace {

CUstream per_thread(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

}  // namespace

SIM_EXPORT CUresult cuEventRecordWithFlags_ptsz(CUevent a0, CUstream a1, unsigned int a2) SIM_NOEXCEPT {
  return cuEventRecordWithFlags(a0, per_thread(a1), a2);
}
SIM_EXPORT CUresult cuEventRecord_ptsz(CUevent a0, CUstream a1) SIM_NOEXCEPT { return cuEventRecord(a0, per_thread(a1)); }
SIM_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int a4,
                                                   unsigned int a5, unsigned int a6, unsigned int a7, CUstream a8, void** a9) SIM_NOEXCEPT {
  return cuLaunchCooperativeKernel(a0, a1, a2, a3, a4, a5, a6, a7, per_thread(a8), a9);
}
SIM_EXPORT CUresult cuLaunchHostFunc_ptsz(CUstream a0, CUhostFn a1, void* a2) SIM_NOEXCEPT {
  return cuLaunchHostFunc(per_thread(a0), a1, a2);
}
SIM_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned int a4, unsigned int a5,
                                        unsigned int a6, unsigned int a7, CUstream a8, void** a9, void** a10) SIM_NOEXCEPT {
  return cuLaunchKernel(a0, a1, a2, a3, a4, a5, a6, a7, per_thread(a8), a9, a10);
}
SIM_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* a0, size_t a1, CUstream a2) SIM_NOEXCEPT {
  return cuMemAllocAsync(a0, a1, per_thread(a2));
}
SIM_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr a0, CUstream a1) SIM_NOEXCEPT { return cuMemFreeAsync(a0, per_thread(a1)); }
SIM_EXPORT CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* a0, CUstream a1) SIM_NOEXCEPT {
  return cuMemcpy2DAsync_v2(a0, per_thread(a1));
}
SIM_EXPORT CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* a0) SIM_NOEXCEPT { return cuMemcpy2DUnaligned_v2(a0); }
SIM_EXPORT CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* a0) SIM_NOEXCEPT { return cuMemcpy2D_v2(a0); }
SIM_EXPORT CUresult cuMemcpyAsync_ptsz(CUdeviceptr a0, CUdeviceptr a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemcpyAsync(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr a0, CUdeviceptr a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemcpyDtoDAsync_v2(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr a0, CUdeviceptr a1, size_t a2) SIM_NOEXCEPT { return cuMemcpyDtoD_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuMemcpyDtoHAsync_v2_ptsz(void* a0, CUdeviceptr a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemcpyDtoHAsync_v2(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemcpyDtoH_v2_ptds(void* a0, CUdeviceptr a1, size_t a2) SIM_NOEXCEPT { return cuMemcpyDtoH_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr a0, const void* a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemcpyHtoDAsync_v2(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr a0, const void* a1, size_t a2) SIM_NOEXCEPT { return cuMemcpyHtoD_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr a0, CUcontext a1, CUdeviceptr a2, CUcontext a3, size_t a4,
                                           CUstream a5) SIM_NOEXCEPT {
  return cuMemcpyPeerAsync(a0, a1, a2, a3, a4, per_thread(a5));
}
SIM_EXPORT CUresult cuMemcpyPeer_ptds(CUdeviceptr a0, CUcontext a1, CUdeviceptr a2, CUcontext a3, size_t a4) SIM_NOEXCEPT {
  return cuMemcpyPeer(a0, a1, a2, a3, a4);
}
SIM_EXPORT CUresult cuMemcpy_ptds(CUdeviceptr a0, CUdeviceptr a1, size_t a2) SIM_NOEXCEPT { return cuMemcpy(a0, a1, a2); }
SIM_EXPORT CUresult cuMemsetD16Async_ptsz(CUdeviceptr a0, unsigned short a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemsetD16Async(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemsetD16_v2_ptds(CUdeviceptr a0, unsigned short a1, size_t a2) SIM_NOEXCEPT { return cuMemsetD16_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr a0, size_t a1, unsigned short a2, size_t a3, size_t a4, CUstream a5) SIM_NOEXCEPT {
  return cuMemsetD2D16Async(a0, a1, a2, a3, a4, per_thread(a5));
}
SIM_EXPORT CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr a0, size_t a1, unsigned short a2, size_t a3, size_t a4) SIM_NOEXCEPT {
  return cuMemsetD2D16_v2(a0, a1, a2, a3, a4);
}
SIM_EXPORT CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr a0, size_t a1, unsigned int a2, size_t a3, size_t a4, CUstream a5) SIM_NOEXCEPT {
  return cuMemsetD2D32Async(a0, a1, a2, a3, a4, per_thread(a5));
}
SIM_EXPORT CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr a0, size_t a1, unsigned int a2, size_t a3, size_t a4) SIM_NOEXCEPT {
  return cuMemsetD2D32_v2(a0, a1, a2, a3, a4);
}
SIM_EXPORT CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr a0, size_t a1, unsigned char a2, size_t a3, size_t a4, CUstream a5) SIM_NOEXCEPT {
  return cuMemsetD2D8Async(a0, a1, a2, a3, a4, per_thread(a5));
}
SIM_EXPORT CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr a0, size_t a1, unsigned char a2, size_t a3, size_t a4) SIM_NOEXCEPT {
  return cuMemsetD2D8_v2(a0, a1, a2, a3, a4);
}
SIM_EXPORT CUresult cuMemsetD32Async_ptsz(CUdeviceptr a0, unsigned int a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemsetD32Async(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemsetD32_v2_ptds(CUdeviceptr a0, unsigned int a1, size_t a2) SIM_NOEXCEPT { return cuMemsetD32_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuMemsetD8Async_ptsz(CUdeviceptr a0, unsigned char a1, size_t a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemsetD8Async(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemsetD8_v2_ptds(CUdeviceptr a0, unsigned char a1, size_t a2) SIM_NOEXCEPT { return cuMemsetD8_v2(a0, a1, a2); }
SIM_EXPORT CUresult cuStreamAddCallback_ptsz(CUstream a0, CUstreamCallback a1, void* a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamAddCallback(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamGetCtx_ptsz(CUstream a0, CUcontext* a1) SIM_NOEXCEPT { return cuStreamGetCtx(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamGetDevice_ptsz(CUstream a0, CUdevice* a1) SIM_NOEXCEPT { return cuStreamGetDevice(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamGetFlags_ptsz(CUstream a0, unsigned int* a1) SIM_NOEXCEPT { return cuStreamGetFlags(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamGetId_ptsz(CUstream a0, unsigned long long* a1) SIM_NOEXCEPT { return cuStreamGetId(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamGetPriority_ptsz(CUstream a0, int* a1) SIM_NOEXCEPT { return cuStreamGetPriority(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamIsCapturing_ptsz(CUstream a0, CUstreamCaptureStatus* a1) SIM_NOEXCEPT {
  return cuStreamIsCapturing(per_thread(a0), a1);
}
SIM_EXPORT CUresult cuStreamQuery_ptsz(CUstream a0) SIM_NOEXCEPT { return cuStreamQuery(per_thread(a0)); }
SIM_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream a0) SIM_NOEXCEPT { return cuStreamSynchronize(per_thread(a0)); }
SIM_EXPORT CUresult cuStreamWaitEvent_ptsz(CUstream a0, CUevent a1, unsigned int a2) SIM_NOEXCEPT {
  return cuStreamWaitEvent(per_thread(a0), a1, a2);
}
SIM_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) SIM_NOEXCEPT {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchConfig mine = *config;
  mine.hStream = per_thread(mine.hStream);
  return cuLaunchKernelEx(&mine, function, params, extra);
}
SIM_EXPORT CUresult cuStreamWaitValue32_v2_ptsz(CUstream a0, CUdeviceptr a1, cuuint32_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamWaitValue32_v2(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamWaitValue64_v2_ptsz(CUstream a0, CUdeviceptr a1, cuuint64_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamWaitValue64_v2(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamWriteValue32_v2_ptsz(CUstream a0, CUdeviceptr a1, cuuint32_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamWriteValue32_v2(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamWriteValue64_v2_ptsz(CUstream a0, CUdeviceptr a1, cuuint64_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamWriteValue64_v2(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamBatchMemOp_v2_ptsz(CUstream a0, unsigned int a1, CUstreamBatchMemOpParams* a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamBatchMemOp_v2(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* a0) SIM_NOEXCEPT { return cuMemcpy3D_v2(a0); }
SIM_EXPORT CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* a0, CUstream a1) SIM_NOEXCEPT {
  return cuMemcpy3DAsync_v2(a0, per_thread(a1));
}
SIM_EXPORT CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* a0) SIM_NOEXCEPT { return cuMemcpy3DPeer(a0); }
SIM_EXPORT CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* a0, CUstream a1) SIM_NOEXCEPT {
  return cuMemcpy3DPeerAsync(a0, per_thread(a1));
}
SIM_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec a0, CUstream a1) SIM_NOEXCEPT { return cuGraphLaunch(a0, per_thread(a1)); }
SIM_EXPORT CUresult cuGraphUpload_ptsz(CUgraphExec a0, CUstream a1) SIM_NOEXCEPT { return cuGraphUpload(a0, per_thread(a1)); }
SIM_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* a0, CUgraph a1, CUDA_GRAPH_INSTANTIATE_PARAMS* a2) SIM_NOEXCEPT {
  return cuGraphInstantiateWithParams(a0, a1, a2);
}
SIM_EXPORT CUresult cuStreamBeginCapture_ptsz(CUstream a0) SIM_NOEXCEPT { return cuStreamBeginCapture(per_thread(a0)); }
SIM_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream a0, CUstreamCaptureMode a1) SIM_NOEXCEPT {
  return cuStreamBeginCapture_v2(per_thread(a0), a1);
}
SIM_EXPORT CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream a0, CUgraph a1, const CUgraphNode* a2, const CUgraphEdgeData* a3, size_t a4,
                                                     CUstreamCaptureMode a5) SIM_NOEXCEPT {
  return cuStreamBeginCaptureToGraph(per_thread(a0), a1, a2, a3, a4, a5);
}
SIM_EXPORT CUresult cuStreamEndCapture_ptsz(CUstream a0, CUgraph* a1) SIM_NOEXCEPT { return cuStreamEndCapture(per_thread(a0), a1); }
SIM_EXPORT CUresult cuStreamGetCaptureInfo_ptsz(CUstream a0, CUstreamCaptureStatus* a1, cuuint64_t* a2) SIM_NOEXCEPT {
  return cuStreamGetCaptureInfo(per_thread(a0), a1, a2);
}
SIM_EXPORT CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream a0, CUstreamCaptureStatus* a1, cuuint64_t* a2, CUgraph* a3,
                                                   const CUgraphNode** a4, size_t* a5) SIM_NOEXCEPT {
  return cuStreamGetCaptureInfo_v2(per_thread(a0), a1, a2, a3, a4, a5);
}
SIM_EXPORT CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream a0, CUstreamCaptureStatus* a1, cuuint64_t* a2, CUgraph* a3,
                                                   const CUgraphNode** a4, const CUgraphEdgeData** a5, size_t* a6) SIM_NOEXCEPT {
  return cuStreamGetCaptureInfo_v3(per_thread(a0), a1, a2, a3, a4, a5, a6);
}
SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream a0, CUgraphNode* a1, size_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamUpdateCaptureDependencies(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream a0, CUgraphNode* a1, const CUgraphEdgeData* a2, size_t a3,
                                                              unsigned int a4) SIM_NOEXCEPT {
  return cuStreamUpdateCaptureDependencies_v2(per_thread(a0), a1, a2, a3, a4);
}
SIM_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* a0, size_t a1, CUmemoryPool a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemAllocFromPoolAsync(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr a0, size_t a1, CUdevice a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemPrefetchAsync(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr a0, size_t a1, CUmemLocation a2, unsigned int a3, CUstream a4) SIM_NOEXCEPT {
  return cuMemPrefetchAsync_v2(a0, a1, a2, a3, per_thread(a4));
}
SIM_EXPORT CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* a0, size_t* a1, size_t a2, CUmemLocation* a3, size_t* a4, size_t a5,
                                                 unsigned long long a6, CUstream a7) SIM_NOEXCEPT {
  return cuMemPrefetchBatchAsync(a0, a1, a2, a3, a4, a5, a6, per_thread(a7));
}
SIM_EXPORT CUresult cuStreamAttachMemAsync_ptsz(CUstream a0, CUdeviceptr a1, size_t a2, unsigned int a3) SIM_NOEXCEPT {
  return cuStreamAttachMemAsync(per_thread(a0), a1, a2, a3);
}
SIM_EXPORT CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* a0, CUdeviceptr* a1, size_t* a2, size_t a3, CUmemcpyAttributes* a4, size_t* a5,
                                            size_t a6, size_t* a7, CUstream a8) SIM_NOEXCEPT {
  return cuMemcpyBatchAsync(a0, a1, a2, a3, a4, a5, a6, a7, per_thread(a8));
}
SIM_EXPORT CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* a0, CUdeviceptr* a1, size_t* a2, size_t a3, CUmemcpyAttributes* a4, size_t* a5,
                                               size_t a6, CUstream a7) SIM_NOEXCEPT {
  return cuMemcpyBatchAsync_v2(a0, a1, a2, a3, a4, a5, a6, per_thread(a7));
}
SIM_EXPORT CUresult cuMemcpy3DBatchAsync_ptsz(size_t a0, CUDA_MEMCPY3D_BATCH_OP* a1, size_t* a2, unsigned long long a3,
                                              CUstream a4) SIM_NOEXCEPT {
  return cuMemcpy3DBatchAsync(a0, a1, a2, a3, per_thread(a4));
}
SIM_EXPORT CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t a0, CUDA_MEMCPY3D_BATCH_OP* a1, unsigned long long a2, CUstream a3) SIM_NOEXCEPT {
  return cuMemcpy3DBatchAsync_v2(a0, a1, a2, per_thread(a3));
}
SIM_EXPORT CUresult cuStreamSetAttribute_ptsz(CUstream a0, CUstreamAttrID a1, const CUstreamAttrValue* a2) SIM_NOEXCEPT {
  return cuStreamSetAttribute(per_thread(a0), a1, a2);
}
SIM_EXPORT CUresult cuStreamGetAttribute_ptsz(CUstream a0, CUstreamAttrID a1, CUstreamAttrValue* a2) SIM_NOEXCEPT {
  return cuStreamGetAttribute(per_thread(a0), a1, a2);
}
SIM_EXPORT CUresult cuStreamCopyAttributes_ptsz(CUstream a0, CUstream a1) SIM_NOEXCEPT {
  return cuStreamCopyAttributes(per_thread(a0), per_thread(a1));
}
