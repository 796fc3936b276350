// Libraries that programs load themselves, and their kernels.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

// The runtime's options are the driver's.
RUNTIME_EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit, void** jit_values,
                                               unsigned int jit_count, cudaLibraryOption* options, void** values,
                                               unsigned int count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryLoadData>(library, code, jit, jit_values, jit_count, options, values, count);
}
RUNTIME_EXPORT cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption* jit, void** jit_values,
                                                   unsigned int jit_count, cudaLibraryOption* options, void** values,
                                                   unsigned int count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryLoadFromFile>(library, file, jit, jit_values, jit_count, options, values, count);
}
RUNTIME_EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t library) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryUnload>(library);
}
RUNTIME_EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    const CUresult code = call_driver(d.cuLibraryGetKernel, kernel, library, name);
    if (code == CUDA_SUCCESS) know_kernel(reinterpret_cast<CUkernel>(*kernel));
    return code;
  });
}
RUNTIME_EXPORT cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryGetKernelCount>(count, library);
}
RUNTIME_EXPORT cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    unsigned int all = 0;
    const CUresult counted = call_driver(d.cuLibraryGetKernelCount, &all, library);
    const CUresult code = counted != CUDA_SUCCESS ? counted : call_driver(d.cuLibraryEnumerateKernels, kernels, count, library);
    for (unsigned i = 0; code == CUDA_SUCCESS && i < count && i < all; ++i) know_kernel(reinterpret_cast<CUkernel>(kernels[i]));
    return code;
  });
}
RUNTIME_EXPORT cudaError_t cudaLibraryGetGlobal(void** address, size_t* size, cudaLibrary_t library, const char* name) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryGetGlobal>(address, size, library, name);
}
RUNTIME_EXPORT cudaError_t cudaLibraryGetManaged(void** address, size_t* size, cudaLibrary_t library, const char* name) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuLibraryGetManaged>(address, size, library, name);
}
RUNTIME_EXPORT cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                                           int device) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuKernelSetAttribute>(attribute, value, kernel, device);
}
