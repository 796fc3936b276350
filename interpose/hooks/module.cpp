// Modules, libraries and kernel handles. The program's own call is always made, whatever we think of the image.
#include <memory>
#include <string>

#include "interpose/hooks/hook.h"
#include "interpose/registry/residence.h"

using namespace tessera;
using namespace tessera::interpose;

namespace {

std::shared_ptr<ModuleRecord> record_of(std::shared_ptr<Image> image, bool is_library) {
  auto record = std::make_shared<ModuleRecord>();
  record->image = std::move(image);
  record->is_library = is_library;
  return record;
}

// `make` is the program's call, `read` makes our copy of the image.
template <typename Make, typename Read>
CUresult load_module(CUmodule* module, Make make, Read read) noexcept {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = make();
  if (engine == nullptr || result != CUDA_SUCCESS || module == nullptr) return result;
  hooks::guarded([&] {
    const bool moving = Engine::moving() != nullptr;
    auto record = record_of(moving ? read() : nullptr, false);
    if (moving) residence::load_elsewhere(*engine, *record, current_device());
    engine->registry().loaded(*module, std::move(record));
    return CUDA_SUCCESS;
  });
  return result;
}

template <typename Make, typename Read>
CUresult load_library(CUlibrary* library, Make make, Read read) noexcept {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = make();
  if (engine == nullptr || result != CUDA_SUCCESS || library == nullptr) return result;
  hooks::guarded([&] {
    engine->registry().loaded(*library, record_of(Engine::moving() != nullptr ? read() : nullptr, true));
    return CUDA_SUCCESS;
  });
  return result;
}

// A handle of a kernel of this module was given out.
void handle_found(Engine& engine, const void* handle, const std::shared_ptr<ModuleRecord>& module, const char* name, CUkernel kernel) {
  if (!module || handle == nullptr || name == nullptr) return;
  KernelRef record = engine.registry().find_in(*module, name);
  if (!record) {
    record = std::make_shared<KernelRecord>(name, module, engine.stats().of(name), static_cast<std::size_t>(engine.helpers().count()));
    record->library_kernel = kernel;
  }
  engine.registry().found(handle, record);
  // A library is loaded without a context; its kernels are looked for on other GPUs once the program has one.
  if (Engine::moving() != nullptr && (kernel == nullptr || current_device() >= 0))
    residence::find_elsewhere(engine, *record, current_device());
}

template <typename Unload>
CUresult unload(const void* handle, Unload make) noexcept {
  const Inside inside;
  if (Engine* engine = hooks::counting_engine_for(inside)) {
    hooks::guarded([&] {
      if (const auto record = engine->registry().unloading(handle); record && Engine::moving() != nullptr) {
        residence::unload_elsewhere(*engine, *record);
      }
      return CUDA_SUCCESS;
    });
  }
  return make();
}

const char* name_of(CUfunction function) {
  const char* name = nullptr;
  return call<Entry::cuFuncGetName>(&name, function) == CUDA_SUCCESS ? name : nullptr;
}
const char* name_of(CUkernel kernel) {
  const char* name = nullptr;
  return call<Entry::cuKernelGetName>(&name, kernel) == CUDA_SUCCESS ? name : nullptr;
}

}  // namespace

TESSERA_EXPORT CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* path) {
  return load_module(
      module, [&] { return call<Entry::cuModuleLoad>(module, path); }, [&] { return read_image(path); });
}
TESSERA_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  return load_module(
      module, [&] { return call<Entry::cuModuleLoadData>(module, image); }, [&] { return copy_image(image); });
}
TESSERA_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                                   void** values) {
  return load_module(
      module, [&] { return call<Entry::cuModuleLoadDataEx>(module, image, count, options, values); }, [&] { return copy_image(image); });
}
TESSERA_EXPORT CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_module(
      module, [&] { return call<Entry::cuModuleLoadFatBinary>(module, image); }, [&] { return copy_image(image); });
}
TESSERA_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  return unload(module, [&] { return call<Entry::cuModuleUnload>(module); });
}
TESSERA_EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                                                  unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return load_library(
      library, [&] { return call<Entry::cuLibraryLoadData>(library, code, jit_options, jit_values, jit_count, options, values, count); },
      [&] { return copy_image(code); });
}
TESSERA_EXPORT CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                                                      unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return load_library(
      library,
      [&] { return call<Entry::cuLibraryLoadFromFile>(library, path, jit_options, jit_values, jit_count, options, values, count); },
      [&] { return read_image(path); });
}
TESSERA_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  return unload(library, [&] { return call<Entry::cuLibraryUnload>(library); });
}

TESSERA_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuModuleGetFunction>(function, module, name);
  if (engine == nullptr || result != CUDA_SUCCESS || function == nullptr) return result;
  hooks::guarded([&] {
    handle_found(*engine, *function, engine->registry().module_of(module), name, nullptr);
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuModuleEnumerateFunctions>(functions, count, module);
  if (engine == nullptr || result != CUDA_SUCCESS || functions == nullptr) return result;
  hooks::guarded([&] {
    const auto record = engine->registry().module_of(module);
    for (unsigned i = 0; i < count; ++i) {
      if (functions[i] != nullptr) handle_found(*engine, functions[i], record, name_of(functions[i]), nullptr);
    }
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuLibraryGetKernel>(kernel, library, name);
  if (engine == nullptr || result != CUDA_SUCCESS || kernel == nullptr) return result;
  hooks::guarded([&] {
    handle_found(*engine, *kernel, engine->registry().module_of(library), name, *kernel);
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuLibraryEnumerateKernels>(kernels, count, library);
  if (engine == nullptr || result != CUDA_SUCCESS || kernels == nullptr) return result;
  hooks::guarded([&] {
    const auto record = engine->registry().module_of(library);
    for (unsigned i = 0; i < count; ++i) {
      if (kernels[i] != nullptr) handle_found(*engine, kernels[i], record, name_of(kernels[i]), kernels[i]);
    }
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuLibraryGetModule>(module, library);
  if (engine == nullptr || result != CUDA_SUCCESS || module == nullptr) return result;
  hooks::guarded([&] {
    engine->registry().same_module(*module, library);
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const Inside inside;
  Engine* engine = hooks::counting_engine_for(inside);
  const CUresult result = call<Entry::cuKernelGetFunction>(function, kernel);
  if (engine == nullptr || result != CUDA_SUCCESS || function == nullptr) return result;
  hooks::guarded([&] {
    if (const KernelRef record = engine->registry().kernel_of(kernel)) engine->registry().found(*function, record);
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  const CUresult result = call<Entry::cuFuncSetAttribute>(function, attribute, value);
  if (engine == nullptr || result != CUDA_SUCCESS) return result;
  hooks::guarded([&] {
    if (const KernelRef record = engine->registry().kernel_of(function)) residence::set_attribute(*engine, *record, attribute, value);
    return CUDA_SUCCESS;
  });
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  const CUresult result = call<Entry::cuKernelSetAttribute>(attribute, value, kernel, device);
  if (engine == nullptr || result != CUDA_SUCCESS) return result;
  hooks::guarded([&] {
    if (const KernelRef record = engine->registry().kernel_of(kernel)) residence::set_attribute(*engine, *record, attribute, value);
    return CUDA_SUCCESS;
  });
  return result;
}
