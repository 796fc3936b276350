// Memsets.
#include "interpose/hooks/hook.h"

using namespace tessera::interpose;
using hooks::touching;
using hooks::writes;

#define TESSERA_MEMSET(name1, name2, value_type, ptds, ptsz, own)                                                                  \
  TESSERA_EXPORT CUresult CUDAAPI name1##_v2##ptds(CUdeviceptr d, value_type v, std::size_t n) {                                   \
    return touching<Entry::name1##_v2##ptds>({nullptr, own}, {writes(d)}, d, v, n);                                                \
  }                                                                                                                                \
  TESSERA_EXPORT CUresult CUDAAPI name1##Async##ptsz(CUdeviceptr d, value_type v, std::size_t n, CUstream q) {                     \
    return touching<Entry::name1##Async##ptsz>({q, own}, {writes(d)}, d, v, n, q);                                                 \
  }                                                                                                                                \
  TESSERA_EXPORT CUresult CUDAAPI name2##_v2##ptds(CUdeviceptr d, std::size_t pitch, value_type v, std::size_t w, std::size_t h) { \
    return touching<Entry::name2##_v2##ptds>({nullptr, own}, {writes(d)}, d, pitch, v, w, h);                                      \
  }                                                                                                                                \
  TESSERA_EXPORT CUresult CUDAAPI name2##Async##ptsz(CUdeviceptr d, std::size_t pitch, value_type v, std::size_t w, std::size_t h, \
                                                     CUstream q) {                                                                 \
    return touching<Entry::name2##Async##ptsz>({q, own}, {writes(d)}, d, pitch, v, w, h, q);                                       \
  }
#define TESSERA_MEMSETS(ptds, ptsz, own)                                      \
  TESSERA_MEMSET(cuMemsetD8, cuMemsetD2D8, unsigned char, ptds, ptsz, own)    \
  TESSERA_MEMSET(cuMemsetD16, cuMemsetD2D16, unsigned short, ptds, ptsz, own) \
  TESSERA_MEMSET(cuMemsetD32, cuMemsetD2D32, unsigned int, ptds, ptsz, own)
TESSERA_MEMSETS(, , false)
TESSERA_MEMSETS(_ptds, _ptsz, true)
#undef TESSERA_MEMSETS
#undef TESSERA_MEMSET
