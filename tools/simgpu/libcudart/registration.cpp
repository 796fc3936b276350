// What nvcc-built programs register before main: fat binaries, kernels, variables. Declarations as in the toolkit's crt/host_runtime.h.
#include <vector_types.h>

#include <map>
#include <mutex>
#include <vector>

#include "tools/simgpu/libcudart/state.h"

namespace tessera::simgpu::runtime {
namespace {

struct FatBinary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
  CUresult loaded = CUDA_ERROR_NOT_INITIALIZED;
};
struct Entity {
  FatBinary* binary = nullptr;
  std::string name;
  CUkernel kernel = nullptr;
  std::size_t size = 0;  // variables
};
// Programs reach a managed variable through a pointer of their own.
struct ManagedVariable {
  FatBinary* binary = nullptr;
  void** host_pointer = nullptr;
  std::string name;
};
struct Registry {
  std::mutex lock;
  std::vector<ManagedVariable> managed;
  std::vector<FatBinary*> binaries;
  std::map<const void*, Entity> kernels, variables;
  std::map<CUkernel, const void*> host_functions;
};
// Never destroyed: programs unregister while the process ends.
Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

CUresult library_of(FatBinary& binary) {
  if (binary.loaded == CUDA_ERROR_NOT_INITIALIZED) {
    binary.loaded = driver().cuLibraryLoadData(&binary.library, binary.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  return binary.loaded;
}

}  // namespace

CUresult kernel_of(const void* host_function, CUkernel& kernel) noexcept {
  if (const CUresult ready = use_driver(); ready != CUDA_SUCCESS) return ready;
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  const auto found = r.kernels.find(host_function);
  if (found == r.kernels.end()) {
    // A cudaKernel_t is taken as well.
    const auto handle = static_cast<CUkernel>(const_cast<void*>(host_function));
    if (r.host_functions.count(handle) == 0) return static_cast<CUresult>(cudaErrorInvalidDeviceFunction);
    kernel = handle;
    return CUDA_SUCCESS;
  }
  Entity& e = found->second;
  if (e.kernel == nullptr) {
    if (const CUresult bad = library_of(*e.binary); bad != CUDA_SUCCESS) return bad;
    if (const CUresult bad = driver().cuLibraryGetKernel(&e.kernel, e.binary->library, e.name.c_str()); bad != CUDA_SUCCESS) return bad;
    r.host_functions[e.kernel] = host_function;
  }
  kernel = e.kernel;
  return CUDA_SUCCESS;
}

CUresult function_of(const void* host_function, CUfunction& function) noexcept {
  if (const CUresult ready = use_context(); ready != CUDA_SUCCESS) return ready;
  CUkernel kernel = nullptr;
  if (const CUresult bad = kernel_of(host_function, kernel); bad != CUDA_SUCCESS) return bad;
  return driver().cuKernelGetFunction(&function, kernel);
}

CUresult symbol_of(const void* host_variable, CUdeviceptr& address, std::size_t& size) noexcept {
  if (const CUresult ready = use_context(); ready != CUDA_SUCCESS) return ready;
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  const auto found = r.variables.find(host_variable);
  if (found == r.variables.end()) {
    // A managed variable is named by the address of its bytes.
    for (const ManagedVariable& v : r.managed) {
      if (*v.host_pointer == host_variable) return driver().cuLibraryGetManaged(&address, &size, v.binary->library, v.name.c_str());
    }
    return static_cast<CUresult>(cudaErrorInvalidSymbol);
  }
  if (const CUresult bad = library_of(*found->second.binary); bad != CUDA_SUCCESS) return bad;
  return driver().cuLibraryGetGlobal(&address, &size, found->second.binary->library, found->second.name.c_str());
}

CUresult inside_symbol(const void* host_variable, std::size_t offset, std::size_t size, CUdeviceptr& address) noexcept {
  std::size_t whole = 0;
  if (const CUresult bad = symbol_of(host_variable, address, whole); bad != CUDA_SUCCESS) return bad;
  if (offset > whole || size > whole - offset) return CUDA_ERROR_INVALID_VALUE;
  address += offset;
  return CUDA_SUCCESS;
}

void know_kernel(CUkernel kernel) noexcept {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  r.host_functions.emplace(kernel, nullptr);
}

const void* host_function_of(CUkernel kernel) noexcept {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  const auto found = r.host_functions.find(kernel);
  return found == r.host_functions.end() ? nullptr : found->second;
}

}  // namespace tessera::simgpu::runtime

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT void** __cudaRegisterFatBinary(void* wrapper) RUNTIME_NOEXCEPT {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  auto* binary = new FatBinary;
  binary->image = wrapper;
  r.binaries.push_back(binary);
  return reinterpret_cast<void**>(binary);
}
RUNTIME_EXPORT void __cudaRegisterFatBinaryEnd(void**) RUNTIME_NOEXCEPT {}
RUNTIME_EXPORT void __cudaUnregisterFatBinary(void** handle) RUNTIME_NOEXCEPT {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  const auto forget = [&](auto& table) {
    for (auto it = table.begin(); it != table.end();) it = it->second.binary == binary ? table.erase(it) : std::next(it);
  };
  for (const auto& [host, e] : r.kernels) {
    if (e.binary == binary) r.host_functions.erase(e.kernel);
  }
  forget(r.kernels);
  forget(r.variables);
  std::erase(r.binaries, binary);
  std::erase_if(r.managed, [&](const ManagedVariable& v) { return v.binary == binary; });
  if (binary->library != nullptr) driver().cuLibraryUnload(binary->library);
  delete binary;
}
RUNTIME_EXPORT void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                                           int*) RUNTIME_NOEXCEPT {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  r.kernels[host] = Entity{reinterpret_cast<FatBinary*>(handle), name, nullptr, 0};
}
RUNTIME_EXPORT void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size, int, int) RUNTIME_NOEXCEPT {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  r.variables[host] = Entity{reinterpret_cast<FatBinary*>(handle), name, nullptr, size};
}
RUNTIME_EXPORT void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t, int,
                                             int) RUNTIME_NOEXCEPT {
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  r.managed.push_back({reinterpret_cast<FatBinary*>(handle), host_pointer, name});
}
// Called before the host first touches a managed variable of the binary.
RUNTIME_EXPORT char __cudaInitModule(void** handle) RUNTIME_NOEXCEPT {
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  if (use_context() != CUDA_SUCCESS) return 0;
  Registry& r = registry();
  const std::lock_guard lock(r.lock);
  for (const ManagedVariable& v : r.managed) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    if (v.binary != binary) continue;
    if (library_of(*binary) != CUDA_SUCCESS ||
        driver().cuLibraryGetManaged(&address, &size, binary->library, v.name.c_str()) != CUDA_SUCCESS)
      return 0;
    *v.host_pointer = reinterpret_cast<void*>(address);
  }
  return 1;
}

RUNTIME_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* result, const void* host) RUNTIME_NOEXCEPT {
  CUkernel kernel = nullptr;
  const CUresult code = kernel_of(host, kernel);
  if (code == CUDA_SUCCESS) *result = reinterpret_cast<cudaKernel_t>(kernel);
  return finish(code);
}
RUNTIME_EXPORT cudaError_t cudaGetKernel(cudaKernel_t* result, const void* host) RUNTIME_NOEXCEPT {
  return result == nullptr ? finish(cudaErrorInvalidValue) : __cudaGetKernel(result, host);
}
RUNTIME_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, const void* host) RUNTIME_NOEXCEPT {
  if (result == nullptr) return finish(cudaErrorInvalidValue);
  CUfunction function = nullptr;
  const CUresult code = function_of(host, function);
  *result = reinterpret_cast<cudaFunction_t>(function);
  return finish(code);
}
