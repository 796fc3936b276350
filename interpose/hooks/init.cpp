// cuInit and the driver's own look-up.
#include "interpose/hooks/hook.h"
#include "interpose/resolve/proc_address.h"

using namespace tessera::interpose;

TESSERA_EXPORT CUresult CUDAAPI cuInit(unsigned flags) {
  const Inside inside;
  if (!inside.outermost()) return call<Entry::cuInit>(flags);
  start::first_contact();
  const CUresult result = call<Entry::cuInit>(flags);
  start::driver_initialised(result);
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  const Inside inside;
  const CUresult result = call<Entry::cuGetProcAddress>(symbol, pfn, version, flags);
  if (inside.outermost() && result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr && *pfn != nullptr)
    *pfn = wrapper_for(symbol, *pfn);
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                                                    CUdriverProcAddressQueryResult* status) {
  const Inside inside;
  const CUresult result = call<Entry::cuGetProcAddress_v2>(symbol, pfn, version, flags, status);
  if (inside.outermost() && result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr && *pfn != nullptr)
    *pfn = wrapper_for(symbol, *pfn);
  return result;
}
