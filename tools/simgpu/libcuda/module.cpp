// Modules and libraries: images become PTX, PTX becomes kernels and globals of a device.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "placement/image/image.h"
#include "placement/image/select.h"
#include "placement/ptx/parse.h"
#include "profiles/base/log.h"
#include "tools/simgpu/libcuda/driver.h"
#include "tools/simgpu/libcuda/function.h"
#include "tools/simgpu/libcuda/pool.h"

using namespace tessera;
using namespace tessera::simgpu;

namespace {

// Where the program wants messages (CU_JIT_*_LOG_BUFFER).
struct JitLog {
  char* buffer = nullptr;
  std::size_t size = 0;
  std::size_t* used = nullptr;
  void write(std::string_view text) const {
    if (buffer == nullptr || size == 0) return;
    const std::size_t n = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), n);
    buffer[n] = '\0';
    if (used != nullptr) *used = n;
  }
};

JitLog error_log(unsigned count, CUjit_option* options, void** values) {
  JitLog result;
  for (unsigned i = 0; i < count && options != nullptr && values != nullptr; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) result.buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      result.size = reinterpret_cast<std::uintptr_t>(values[i]);
      result.used = reinterpret_cast<std::size_t*>(&values[i]);
    }
  }
  return result;
}

// The PTX that a GPU of architecture `sm` takes from an image, or the code to return.
CUresult ptx_for(image::Bytes bytes, unsigned sm, std::string& text, std::string& why) {
  switch (image::form_of(bytes)) {
    case image::Form::ptx_text:
      text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return CUDA_SUCCESS;
    case image::Form::fatbin_container: {
      auto entries = image::entries_of(bytes);
      if (!entries) {
        why = entries.error().message();
        return CUDA_ERROR_INVALID_IMAGE;
      }
      const image::Entry* entry = image::best_ptx_for(*entries, sm);
      if (entry == nullptr) {
        why = fmt::format("the fat binary has no PTX for sm_{} (simulated GPUs execute PTX, not machine code)", sm);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
      }
      auto payload = image::payload_of(*entry);
      if (!payload) {
        why = payload.error().message();
        return CUDA_ERROR_INVALID_IMAGE;
      }
      text = std::move(*payload);
      return CUDA_SUCCESS;
    }
    case image::Form::cubin:
      why = "a cubin alone: simulated GPUs execute PTX, not machine code";
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    default:
      why = "not a device image";
      return CUDA_ERROR_INVALID_IMAGE;
  }
}

CUresult refuse(CUresult code, const std::string& why, const JitLog& jit) {
  log::warn("simulated driver: a module could not be loaded: {}", why);
  jit.write(why);
  return code;
}

// A variable that the library's modules have already is theirs, too.
ManagedPlaces places_in(ManagedVariables& variables) {
  return [&variables](const std::string& name, std::uint64_t size) -> Result<ManagedPlace> {
    const auto known = variables.find(name);
    if (known != variables.end()) return ManagedPlace{known->second, false};
    TRY(address, make_managed_variable(size));
    variables[name] = address;
    return ManagedPlace{address, true};
  };
}

// `shared`: the managed variables of the library, if it is one's module.
CUresult load(Context& c, image::Bytes bytes, const JitLog& jit, Module*& result, ManagedVariables* shared = nullptr) {
  const unsigned sm = c.device->model->sm();
  std::string text, why;
  if (const CUresult code = ptx_for(bytes, sm, text, why); code != CUDA_SUCCESS) return refuse(code, why, jit);
  auto module = std::make_shared<ptx::Module>(ptx::parse(text));
  if (!module->diagnostics.empty()) {
    const ptx::Diagnostic& first = module->diagnostics.front();
    return refuse(CUDA_ERROR_INVALID_PTX, fmt::format("PTX line {}, column {}: {}", first.place.line, first.place.column, first.message),
                  jit);
  }
  if (module->sm() > sm) return refuse(CUDA_ERROR_INVALID_PTX, fmt::format("PTX for sm_{} on a GPU of sm_{}", module->sm(), sm), jit);
  ManagedVariables own;
  auto exec = ExecModule::load(std::move(module), *c.device->device, places_in(shared != nullptr ? *shared : own));
  if (!exec) {
    free_managed_variables(own);
    const bool memory = exec.error().code == ErrorCode::environment;
    return refuse(memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX, exec.error().message(), jit);
  }
  Module* m = world().modules.make();
  m->context = &c;
  m->exec = std::move(*exec);
  m->managed = std::move(own);
  for (const auto& kernel : m->exec->kernels()) {
    auto f = std::make_unique<Function>();
    f->module = m;
    f->kernel = kernel.get();
    f->name = std::string(kernel->name());
    world().functions.insert(f.get());
    m->functions[f->name] = std::move(f);
  }
  result = m;
  return CUDA_SUCCESS;
}

CUresult load_image(const void* image_pointer, const JitLog& jit, CUmodule* result) {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (result == nullptr || image_pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = image::extent_of(image_pointer);
  if (!bytes) return refuse(CUDA_ERROR_INVALID_IMAGE, bytes.error().message(), jit);
  Module* m = nullptr;
  const CUresult code = load(*c, *bytes, jit, m);
  if (code == CUDA_SUCCESS) *result = reinterpret_cast<CUmodule>(m);
  return code;
}

CUresult read_file(const char* path, std::string& bytes) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return CUDA_ERROR_FILE_NOT_FOUND;
  bytes.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  return CUDA_SUCCESS;
}

void unload(Module* m) {
  world().scheduler.finish_all();  // what was launched may still refer to it
  for (const auto& [name, f] : m->functions) world().functions.erase(f.get());
  free_managed_variables(m->managed);
  world().modules.erase(m);
}

image::Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

// A library's kernels are known without a context: their names come from any PTX that it holds.
CUresult name_kernels(Library& library) {
  std::string text, why;
  // The newest PTX, whatever the GPU.
  if (const CUresult code = ptx_for(bytes_of(library.image), 999, text, why); code != CUDA_SUCCESS) return refuse(code, why, {});
  for (const ptx::EntryIndex& e : ptx::index_entries(text)) {
    if (!e.is_entry) continue;
    auto k = std::make_unique<Kernel>();
    k->library = &library;
    k->name = std::string(e.name);
    world().kernels.insert(k.get());
    library.kernels[k->name] = std::move(k);
  }
  return CUDA_SUCCESS;
}

CUresult load_library(std::string bytes, CUlibrary* result) {
  Library* l = world().libraries.make();
  l->image = std::move(bytes);
  if (const CUresult code = name_kernels(*l); code != CUDA_SUCCESS) {
    world().libraries.erase(l);
    return code;
  }
  *result = reinterpret_cast<CUlibrary>(l);
  return CUDA_SUCCESS;
}

}  // namespace

namespace tessera::simgpu {

Module* instance_of(Library& library, Context& c, CUresult& error) {
  error = CUDA_SUCCESS;
  if (const auto found = library.instances.find(&c); found != library.instances.end()) return found->second;
  Module* m = nullptr;
  error = ::load(c, bytes_of(library.image), {}, m, &library.managed);
  if (m == nullptr) return nullptr;
  m->library = &library;
  library.instances[&c] = m;
  for (const auto& [key, value] : library.max_dynamic_shared) {
    const auto f = m->functions.find(key.first);
    if (key.second == c.device->ordinal && f != m->functions.end()) f->second->max_dynamic_shared = value;
  }
  return m;
}

Function* function_of(const void* handle, Context& c, CUresult& error) {
  World& w = world();
  if (w.functions.count(handle) != 0) return const_cast<Function*>(static_cast<const Function*>(handle));
  error = CUDA_ERROR_INVALID_HANDLE;
  if (w.kernels.count(handle) == 0) return nullptr;
  const Kernel& k = *static_cast<const Kernel*>(handle);
  Module* m = instance_of(*k.library, c, error);
  if (m == nullptr) return nullptr;
  const auto found = m->functions.find(k.name);
  if (found == m->functions.end()) {
    error = CUDA_ERROR_NOT_FOUND;
    return nullptr;
  }
  return found->second.get();
}

}  // namespace tessera::simgpu

SIM_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) SIM_NOEXCEPT { return load_image(image, {}, module); }
SIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                                       void** values) SIM_NOEXCEPT {
  return load_image(image, error_log(count, options, values), module);
}
SIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) SIM_NOEXCEPT { return load_image(image, {}, module); }
SIM_EXPORT CUresult cuModuleLoad(CUmodule* module, const char* path) SIM_NOEXCEPT {
  std::string bytes;
  if (const CUresult code = read_file(path, bytes); code != CUDA_SUCCESS) return code;
  return load_image(bytes.c_str(), {}, module);
}

SIM_EXPORT CUresult cuModuleUnload(CUmodule handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  Module* m = world().modules.find(handle);
  if (m == nullptr || m->library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  unload(m);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) SIM_NOEXCEPT {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Module* m = world().modules.find(handle);
  if (m == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = m->functions.find(name);
  if (found == m->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(found->second.get());
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const Module* m = world().modules.find(handle);
  if (m == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(m->functions.size());
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const Module* m = world().modules.find(handle);
  if (m == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [name, f] : m->functions) {
    if (count-- == 0) break;
    *functions++ = reinterpret_cast<CUfunction>(f.get());
  }
  return CUDA_SUCCESS;
}

static CUresult global_of(const Module& m, const char* name, CUdeviceptr* pointer, std::size_t* bytes) {
  if (name == nullptr || (pointer == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  const ExecGlobal* g = m.exec->global(name);
  if (g == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (pointer != nullptr) *pointer = g->address;
  if (bytes != nullptr) *bytes = g->size;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule handle, const char* name) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const Module* m = world().modules.find(handle);
  return m == nullptr ? CUDA_ERROR_INVALID_HANDLE : global_of(*m, name, pointer, bytes);
}

SIM_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                                      unsigned int) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = image::extent_of(code);
  if (!bytes) return refuse(CUDA_ERROR_INVALID_IMAGE, bytes.error().message(), {});
  return load_library(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), library);
}
SIM_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                                          void**, unsigned int) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string bytes;
  const CUresult code = read_file(path, bytes);
  return code == CUDA_SUCCESS ? load_library(std::move(bytes), library) : code;
}

SIM_EXPORT CUresult cuLibraryUnload(CUlibrary handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [context, m] : l->instances) unload(m);
  free_managed_variables(l->managed);
  for (const auto& [name, k] : l->kernels) world().kernels.erase(k.get());
  world().libraries.erase(l);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = l->kernels.find(name);
  if (found == l->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *kernel = reinterpret_cast<CUkernel>(found->second.get());
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) SIM_NOEXCEPT {
  const Entry entry;
  const Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(l->kernels.size());
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary handle) SIM_NOEXCEPT {
  const Entry entry;
  const Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [name, k] : l->kernels) {
    if (count-- == 0) break;
    *kernels++ = reinterpret_cast<CUkernel>(k.get());
  }
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* m = instance_of(*l, *c, error);
  if (m != nullptr) *module = reinterpret_cast<CUmodule>(m);
  return error;
}
SIM_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary handle, const char* name) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Module* m = instance_of(*l, *c, error);
  return m == nullptr ? error : global_of(*m, name, pointer, bytes);
}
// One for all contexts, made with the first of the library's modules.
SIM_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr* pointer, size_t* bytes, CUlibrary handle, const char* name) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  Library* l = world().libraries.find(handle);
  if (l == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Module* m = instance_of(*l, *c, error);
  if (m == nullptr) return error;
  return l->managed.count(name) == 0 ? CUDA_ERROR_NOT_FOUND : global_of(*m, name, pointer, bytes);
}
