#include "interpose/registry/registry.h"

#include <algorithm>

namespace tessera::interpose {

const KernelText* KernelRecord::text(std::size_t device, unsigned sm) {
  TextSlot& slot = texts[device];
  if (!slot.known.load(std::memory_order_acquire)) {
    slot.text.store(module->image ? module->image->kernel(name, sm) : nullptr, std::memory_order_relaxed);
    slot.known.store(true, std::memory_order_release);
  }
  return slot.text.load(std::memory_order_relaxed);
}

void Registry::loaded(CUmodule module, std::shared_ptr<ModuleRecord> record) {
  const std::lock_guard lock(mutex_);
  modules_[module] = std::move(record);
}

void Registry::loaded(CUlibrary library, std::shared_ptr<ModuleRecord> record) {
  const std::lock_guard lock(mutex_);
  modules_[library] = std::move(record);
}

std::shared_ptr<ModuleRecord> Registry::module_of(const void* module_or_library) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module_or_library);
  return found == modules_.end() ? nullptr : found->second;
}

void Registry::same_module(CUmodule module, CUlibrary library) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(library);
  if (found != modules_.end()) modules_[module] = std::shared_ptr(found->second);
}

void Registry::found(const void* handle, const KernelRef& kernel) {
  {
    const std::lock_guard lock(mutex_);
    auto& handles = kernel->module->handles;
    if (std::find(handles.begin(), handles.end(), handle) == handles.end()) handles.push_back(handle);
  }
  const WriterLock lock(*this);
  kernels_[handle] = kernel;
}

KernelRef Registry::kernel_of(const void* handle) {
  const std::lock_guard lock(reader_lock());
  const auto found = kernels_.find(handle);
  return found == kernels_.end() ? nullptr : found->second;
}

KernelRef Registry::find_in(ModuleRecord& module, const std::string& name) {
  std::vector<const void*> handles;
  {
    const std::lock_guard lock(mutex_);
    handles = module.handles;
  }
  for (const void* handle : handles) {
    if (KernelRef kernel = kernel_of(handle); kernel && kernel->module.get() == &module && kernel->name == name) return kernel;
  }
  return nullptr;
}

KernelStats* Registry::stats_of(const void* handle) {
  const std::lock_guard lock(reader_lock());
  const auto found = kernels_.find(handle);
  return found == kernels_.end() ? nullptr : &found->second->stats;
}

std::shared_ptr<ModuleRecord> Registry::unloading(const void* module_or_library) {
  std::shared_ptr<ModuleRecord> record;
  std::vector<const void*> handles;
  {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module_or_library);
    if (found == modules_.end()) return nullptr;
    record = found->second;
    std::erase_if(modules_, [&](const auto& entry) { return entry.second == record; });
    handles.swap(record->handles);
  }
  const WriterLock lock(*this);
  for (const void* handle : handles) {
    const auto found = kernels_.find(handle);
    if (found != kernels_.end() && found->second->module == record) kernels_.erase(found);
  }
  return record;
}

}  // namespace tessera::interpose
