#include "tools/simgpu/libcuda/driver.h"

#include "tools/simgpu/libcuda/virtual_memory.h"

namespace tessera::simgpu {

World& world() {
  static World* const instance = new World;  // outlives exit handlers that still call the driver
  return *instance;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

bool& in_host_function() {
  thread_local bool inside = false;
  return inside;
}

SimDevice* World::device_of(std::uint64_t address) {
  for (const auto& d : devices) {
    if (d->device->memory->owns(address)) return d.get();
  }
  return device_of_mapping(address);
}

HostAllocation* World::host_allocation_of(std::uint64_t address) {
  auto next = host_allocations.upper_bound(address);
  if (next == host_allocations.begin()) return nullptr;
  HostAllocation& candidate = std::prev(next)->second;
  return address - candidate.base < candidate.size ? &candidate : nullptr;
}

Context* Entry::context(CUresult& error) const {
  error = initialized();
  if (error != CUDA_SUCCESS) return nullptr;
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) {
    error = CUDA_ERROR_INVALID_CONTEXT;
    return nullptr;
  }
  Context* current = world().contexts.find(stack.back());
  if (current == nullptr) {
    error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return nullptr;
  }
  World& w = world();
  if (const auto lost = w.faults.lost(current->device->ordinal, w.clock.host_now()))
    fail_device(*current->device, static_cast<CUresult>(*lost));
  error = current->sticky;
  return error == CUDA_SUCCESS ? current : nullptr;
}

Stream* stream_of(CUstream handle, Context& current) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return &current.legacy;
  if (handle == CU_STREAM_PER_THREAD) return &current.per_thread;
  return world().streams.find(handle);
}

Stream* find_stream(const Entry& entry, CUstream handle, CUresult& error) {
  Context* c = entry.context(error);
  if (c == nullptr) return nullptr;
  Stream* s = stream_of(handle, *c);
  if (s == nullptr) error = CUDA_ERROR_INVALID_HANDLE;
  return s;
}

void fail_device(const SimDevice& device, CUresult code) {
  for (const auto& [context, owned] : world().contexts) {
    if (context->device == &device && context->sticky == CUDA_SUCCESS) context->sticky = code;
  }
}

}  // namespace tessera::simgpu
