#include "tools/simgpu/libcuda/driver.h"

#include <algorithm>

namespace tessera::simgpu {

World& world() {
  static World* const instance = new World;  // outlives exit handlers that still call the driver
  return *instance;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

SimDevice* World::device_of(std::uint64_t address) {
  for (const auto& d : devices) {
    if (d->device->memory->owns(address)) return d.get();
  }
  return nullptr;
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
  error = current->sticky;
  return error == CUDA_SUCCESS ? current : nullptr;
}

Stream* stream_of(CUstream handle, Context& current) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return &current.legacy;
  if (handle == CU_STREAM_PER_THREAD) return &current.per_thread;
  return world().streams.find(handle);
}

Nanoseconds drained(const Context& context) {
  Nanoseconds last = std::max(context.legacy.ready, context.per_thread.ready);
  for (const auto& [stream, owned] : world().streams) {
    if (stream->context == &context) last = std::max(last, stream->ready);
  }
  return last;
}

Nanoseconds earliest_on(const Stream& stream) {
  if ((stream.flags & CU_STREAM_NON_BLOCKING) != 0) return stream.ready;
  if (!stream.is_legacy) return std::max(stream.ready, stream.context->legacy.ready);
  Nanoseconds last = std::max(stream.ready, stream.context->per_thread.ready);
  for (const auto& [other, owned] : world().streams) {
    if (other->context == stream.context && (other->flags & CU_STREAM_NON_BLOCKING) == 0) last = std::max(last, other->ready);
  }
  return last;
}

void ended_on(Stream& stream, Nanoseconds end) { stream.ready = std::max(stream.ready, end); }

Span submit(Stream& stream, SimDevice& device, Engine engine, Nanoseconds duration, bool blocking) {
  Clock& clock = world().clock;
  const auto latency = static_cast<Nanoseconds>(device.model->launch_latency_s * 1e9);
  const Nanoseconds issued = clock.call() + latency;
  const Span span = clock.place(device.clock, engine, std::max(issued, earliest_on(stream)), duration);
  ended_on(stream, span.end);
  if (blocking) clock.wait_until(span.end);
  return span;
}

}  // namespace tessera::simgpu
