#include "interpose/registry/residence.h"

#include "interpose/device/own_calls.h"
#include "profiles/base/log.h"

namespace tessera::interpose::residence {
namespace {

// Our context on a GPU that may be used, or null.
CUcontext context_on(Engine& engine, int device) {
  if (!engine.placer().may_use(device)) return nullptr;
  const std::lock_guard lock(engine.lock());
  const auto context = engine.helpers().context(device);
  return context.ok() ? context.value() : nullptr;
}

Reason reason_of_load(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return Reason::no_memory;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NOT_FOUND:
      return Reason::no_code_there;
    default:
      return Reason::refused;
  }
}

// Sets an attribute on a helper and remembers whether that GPU took it.
void apply(KernelRecord& kernel, std::size_t device, CUfunction function, CUcontext context, int attribute, int value) {
  CUresult result = CUDA_SUCCESS;
  {
    const OwnCalls scope(context);
    result = call<Entry::cuFuncSetAttribute>(function, static_cast<CUfunction_attribute>(attribute), value);
  }
  const std::lock_guard lock(kernel.mutex);
  if (result == CUDA_SUCCESS) {
    kernel.there[device].refused.erase(attribute);
  } else {
    kernel.there[device].refused[attribute] = value;
  }
}

KernelThere known_there(KernelRecord& kernel, std::size_t device) {
  const std::lock_guard lock(kernel.mutex);
  return kernel.there[device];
}

CUresult function_on(const KernelRecord& kernel, std::size_t device, CUcontext context, CUfunction& function) {
  const OwnCalls scope(context);
  if (kernel.library_kernel != nullptr) return call<Entry::cuKernelGetFunction>(&function, kernel.library_kernel);
  const auto& modules = kernel.module->there;
  if (device >= modules.size() || modules[device] == nullptr) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return call<Entry::cuModuleGetFunction>(&function, modules[device], kernel.name.c_str());
}

}  // namespace

void load_elsewhere(Engine& engine, ModuleRecord& module, int home) {
  const int count = engine.helpers().count();
  module.there.assign(static_cast<std::size_t>(count), nullptr);
  if (!module.image) return;
  for (int device = 0; device < count; ++device) {
    if (device == home) continue;
    const CUcontext context = context_on(engine, device);
    if (context == nullptr) continue;
    const OwnCalls scope(context);
    CUmodule& there = module.there[static_cast<std::size_t>(device)];
    const CUresult result = call<Entry::cuModuleLoadData>(&there, module.image->data());
    if (result == CUDA_SUCCESS) continue;
    there = nullptr;
    log::info("a module doesn't load on GPU {} (driver error {}): its kernels stay home", device, static_cast<int>(result));
  }
}

void find_elsewhere(Engine& engine, KernelRecord& kernel, int home) {
  const std::uint64_t from = home >= 0 && home < 64 ? std::uint64_t{1} << home : 0;
  if ((kernel.found_from.load(std::memory_order_acquire) & from) != 0) return;
  const std::lock_guard preparing(kernel.preparing);
  if (home >= 0) static_cast<void>(kernel.text(static_cast<std::size_t>(home), engine.helpers().sm(home)));
  for (std::size_t device = 0; device < kernel.there.size(); ++device) {
    if (static_cast<int>(device) == home) continue;
    const KernelThere known = known_there(kernel, device);
    if (known.function != nullptr || known.why != Reason::not_loaded) continue;
    const CUcontext context = context_on(engine, static_cast<int>(device));
    if (context == nullptr) continue;
    CUfunction function = nullptr;
    const CUresult result = function_on(kernel, device, context, function);
    if (result == CUDA_SUCCESS) {
      static_cast<void>(kernel.text(device, engine.helpers().sm(static_cast<int>(device))));
      for (const auto& [attribute, value] : kernel.attributes) apply(kernel, device, function, context, attribute, value);
    }
    const std::lock_guard lock(kernel.mutex);
    kernel.there[device].function = result == CUDA_SUCCESS ? function : nullptr;
    kernel.there[device].why = result == CUDA_SUCCESS ? Reason::none : reason_of_load(result);
  }
  kernel.found_from.fetch_or(from, std::memory_order_release);
}

void unload_elsewhere(Engine& engine, ModuleRecord& module) {
  for (std::size_t device = 0; device < module.there.size(); ++device) {
    if (module.there[device] == nullptr) continue;
    CUcontext context = nullptr;
    {
      const std::lock_guard lock(engine.lock());
      context = engine.helpers().existing_context(static_cast<int>(device));
    }
    if (context == nullptr) continue;
    const OwnCalls scope(context);
    call<Entry::cuModuleUnload>(module.there[device]);
    module.there[device] = nullptr;
  }
}

void set_attribute(Engine& engine, KernelRecord& kernel, CUfunction_attribute attribute, int value) {
  const std::lock_guard preparing(kernel.preparing);
  kernel.attributes[attribute] = value;
  for (std::size_t device = 0; device < kernel.there.size(); ++device) {
    const CUfunction function = known_there(kernel, device).function;
    if (function == nullptr) continue;
    if (const CUcontext context = context_on(engine, static_cast<int>(device))) apply(kernel, device, function, context, attribute, value);
  }
}

}  // namespace tessera::interpose::residence
