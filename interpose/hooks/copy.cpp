// Copies. What a form touches is an allocation on each side; arrays aren't tracked, and host pointers that aren't tracked cost a look-up.
#include <vector>

#include "interpose/hooks/hook.h"

using namespace tessera;
using namespace tessera::interpose;
using hooks::reads;
using hooks::touching;
using hooks::writes;

namespace {

CUdeviceptr address_of(CUmemorytype type, CUdeviceptr device, const void* host, std::size_t offset) {
  if (type == CU_MEMORYTYPE_ARRAY) return 0;
  return (type == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(host) : device) + offset;
}

coherence::Touch source(const CUDA_MEMCPY2D& p) {
  return reads(address_of(p.srcMemoryType, p.srcDevice, p.srcHost, p.srcY * p.srcPitch + p.srcXInBytes));
}
coherence::Touch target(const CUDA_MEMCPY2D& p) {
  return writes(address_of(p.dstMemoryType, p.dstDevice, p.dstHost, p.dstY * p.dstPitch + p.dstXInBytes));
}
template <typename Params>  // CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER
coherence::Touch source(const Params& p) {
  return reads(address_of(p.srcMemoryType, p.srcDevice, p.srcHost, (p.srcZ * p.srcHeight + p.srcY) * p.srcPitch + p.srcXInBytes));
}
template <typename Params>
coherence::Touch target(const Params& p) {
  return writes(address_of(p.dstMemoryType, p.dstDevice, p.dstHost, (p.dstZ * p.dstHeight + p.dstY) * p.dstPitch + p.dstXInBytes));
}

template <Entry E, typename Params, typename... Args>
CUresult copy_params(StreamArgument stream, const Params* params, Args... args) noexcept {
  if (params == nullptr) return call<E>(params, args...);
  return touching<E>(stream, {source(*params), target(*params)}, params, args...);
}

// `list` gives the touches of the batch.
template <Entry E, typename List, typename... Args>
CUresult copy_batch(CUstream handle, bool per_thread, List list, Args... args) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return call<E>(args...);
  return hooks::guarded([&] {
    const std::vector<coherence::Touch> touches = list();
    const HomeCall scope(*engine, StreamArgument{handle, per_thread}, touches);
    return scope.status() == CUDA_SUCCESS ? call<E>(args...) : scope.status();
  });
}

std::vector<coherence::Touch> pairs(const CUdeviceptr* targets, const CUdeviceptr* sources, std::size_t count) {
  std::vector<coherence::Touch> touches;
  for (std::size_t i = 0; targets != nullptr && sources != nullptr && i < count; ++i) {
    touches.push_back(writes(targets[i]));
    touches.push_back(reads(sources[i]));
  }
  return touches;
}

std::vector<coherence::Touch> operations(const CUDA_MEMCPY3D_BATCH_OP* list, std::size_t count) {
  std::vector<coherence::Touch> touches;
  for (std::size_t i = 0; list != nullptr && i < count; ++i) {
    if (list[i].dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER) touches.push_back(writes(list[i].dst.op.ptr.ptr));
    if (list[i].src.type == CU_MEMCPY_OPERAND_TYPE_POINTER) touches.push_back(reads(list[i].src.op.ptr.ptr));
  }
  return touches;
}

}  // namespace

#define TESSERA_COPIES(ptds, ptsz, own)                                                                                                    \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy##ptds(CUdeviceptr d, CUdeviceptr s, std::size_t n) {                                            \
    return touching<Entry::cuMemcpy##ptds>({nullptr, own}, {writes(d), reads(s)}, d, s, n);                                                \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyAsync##ptsz(CUdeviceptr d, CUdeviceptr s, std::size_t n, CUstream q) {                           \
    return touching<Entry::cuMemcpyAsync##ptsz>({q, own}, {writes(d), reads(s)}, d, s, n, q);                                              \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyPeer##ptds(CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, std::size_t n) {            \
    return touching<Entry::cuMemcpyPeer##ptds>({nullptr, own}, {writes(d), reads(s)}, d, dc, s, sc, n);                                    \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyPeerAsync##ptsz(CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, std::size_t n,         \
                                                          CUstream q) {                                                                    \
    return touching<Entry::cuMemcpyPeerAsync##ptsz>({q, own}, {writes(d), reads(s)}, d, dc, s, sc, n, q);                                  \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyHtoD_v2##ptds(CUdeviceptr d, const void* s, std::size_t n) {                                     \
    return touching<Entry::cuMemcpyHtoD_v2##ptds>({nullptr, own}, {writes(d), reads(s)}, d, s, n);                                         \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyDtoH_v2##ptds(void* d, CUdeviceptr s, std::size_t n) {                                           \
    return touching<Entry::cuMemcpyDtoH_v2##ptds>({nullptr, own}, {writes(d), reads(s)}, d, s, n);                                         \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyDtoD_v2##ptds(CUdeviceptr d, CUdeviceptr s, std::size_t n) {                                     \
    return touching<Entry::cuMemcpyDtoD_v2##ptds>({nullptr, own}, {writes(d), reads(s)}, d, s, n);                                         \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyDtoA_v2##ptds(CUarray d, std::size_t o, CUdeviceptr s, std::size_t n) {                          \
    return touching<Entry::cuMemcpyDtoA_v2##ptds>({nullptr, own}, {reads(s)}, d, o, s, n);                                                 \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyAtoD_v2##ptds(CUdeviceptr d, CUarray s, std::size_t o, std::size_t n) {                          \
    return touching<Entry::cuMemcpyAtoD_v2##ptds>({nullptr, own}, {writes(d)}, d, s, o, n);                                                \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync_v2##ptsz(CUdeviceptr d, const void* s, std::size_t n, CUstream q) {                    \
    return touching<Entry::cuMemcpyHtoDAsync_v2##ptsz>({q, own}, {writes(d), reads(s)}, d, s, n, q);                                       \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync_v2##ptsz(void* d, CUdeviceptr s, std::size_t n, CUstream q) {                          \
    return touching<Entry::cuMemcpyDtoHAsync_v2##ptsz>({q, own}, {writes(d), reads(s)}, d, s, n, q);                                       \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync_v2##ptsz(CUdeviceptr d, CUdeviceptr s, std::size_t n, CUstream q) {                    \
    return touching<Entry::cuMemcpyDtoDAsync_v2##ptsz>({q, own}, {writes(d), reads(s)}, d, s, n, q);                                       \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy2D_v2##ptds(const CUDA_MEMCPY2D* p) {                                                            \
    return copy_params<Entry::cuMemcpy2D_v2##ptds>({nullptr, own}, p);                                                                     \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy2DUnaligned_v2##ptds(const CUDA_MEMCPY2D* p) {                                                   \
    return copy_params<Entry::cuMemcpy2DUnaligned_v2##ptds>({nullptr, own}, p);                                                            \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy2DAsync_v2##ptsz(const CUDA_MEMCPY2D* p, CUstream q) {                                           \
    return copy_params<Entry::cuMemcpy2DAsync_v2##ptsz>({q, own}, p, q);                                                                   \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3D_v2##ptds(const CUDA_MEMCPY3D* p) {                                                            \
    return copy_params<Entry::cuMemcpy3D_v2##ptds>({nullptr, own}, p);                                                                     \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3DAsync_v2##ptsz(const CUDA_MEMCPY3D* p, CUstream q) {                                           \
    return copy_params<Entry::cuMemcpy3DAsync_v2##ptsz>({q, own}, p, q);                                                                   \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3DPeer##ptds(const CUDA_MEMCPY3D_PEER* p) {                                                      \
    return copy_params<Entry::cuMemcpy3DPeer##ptds>({nullptr, own}, p);                                                                    \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3DPeerAsync##ptsz(const CUDA_MEMCPY3D_PEER* p, CUstream q) {                                     \
    return copy_params<Entry::cuMemcpy3DPeerAsync##ptsz>({q, own}, p, q);                                                                  \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyBatchAsync##ptsz(CUdeviceptr* d, CUdeviceptr* s, std::size_t* n, std::size_t count,              \
                                                           CUmemcpyAttributes* a, std::size_t* ai, std::size_t an, std::size_t* failed,    \
                                                           CUstream q) {                                                                   \
    return copy_batch<Entry::cuMemcpyBatchAsync##ptsz>(                                                                                    \
        q, own, [&] { return pairs(d, s, count); }, d, s, n, count, a, ai, an, failed, q);                                                 \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpyBatchAsync_v2##ptsz(CUdeviceptr* d, CUdeviceptr* s, std::size_t* n, std::size_t count,           \
                                                              CUmemcpyAttributes* a, std::size_t* ai, std::size_t an, CUstream q) {        \
    return copy_batch<Entry::cuMemcpyBatchAsync_v2##ptsz>(                                                                                 \
        q, own, [&] { return pairs(d, s, count); }, d, s, n, count, a, ai, an, q);                                                         \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3DBatchAsync##ptsz(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, std::size_t* failed,         \
                                                             unsigned long long flags, CUstream q) {                                       \
    return copy_batch<Entry::cuMemcpy3DBatchAsync##ptsz>(                                                                                  \
        q, own, [&] { return operations(list, count); }, count, list, failed, flags, q);                                                   \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemcpy3DBatchAsync_v2##ptsz(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags, \
                                                                CUstream q) {                                                              \
    return copy_batch<Entry::cuMemcpy3DBatchAsync_v2##ptsz>(                                                                               \
        q, own, [&] { return operations(list, count); }, count, list, flags, q);                                                           \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuMemBatchDecompressAsync##ptsz(CUmemDecompressParams* list, std::size_t count, unsigned flags,          \
                                                                  std::size_t* failed, CUstream q) {                                       \
    return hooks::touching_everything<Entry::cuMemBatchDecompressAsync##ptsz>({q, own}, list, count, flags, failed, q);                    \
  }
TESSERA_COPIES(, , false)
TESSERA_COPIES(_ptds, _ptsz, true)
#undef TESSERA_COPIES
