#include "tools/simgpu/libcuda/work.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/pool.h"

namespace tessera::simgpu {
namespace {

// The program's functions may take the program's locks, so ours is let go.
template <typename F>
Step outside(F&& f) {
  world().lock.without([&] {
    in_host_function() = true;
    f();
    in_host_function() = false;
  });
  return Step::ended;
}

void describe(const MarkWork& /*work*/, Context& /*context*/, Operation& operation) { operation.name = "mark"; }

void describe(const HostWork& work, Context& /*context*/, Operation& operation) {
  operation.kind = OperationKind::host_function;
  operation.name = "host function";
  operation.work = [work](Operation&, Random*) { return outside([&] { work.function(work.data); }); };
}

void describe(const CallbackWork& work, Context& context, Operation& operation) {
  operation.kind = OperationKind::host_function;
  operation.name = "stream callback";
  operation.work = [work, &context](Operation&, Random*) {
    const CUresult status = context.sticky;
    return outside([&] { work.function(work.stream, status, work.data); });
  };
}

void describe(const FreeWork& work, Context& /*context*/, Operation& operation) {
  operation.kind = OperationKind::memory;
  operation.name = "free";
  operation.work = [work](Operation& self, Random*) {
    world().freeing.erase(work.address);
    leave_pool(work.address);
    world().owners.erase(work.address);
    if (recording()) {
      if (const auto found = work.device->device->memory->find(work.address)) self.touched = {{found->base, found->end(), touched_written}};
    }
    (void)work.device->device->memory->free(work.address).ok();
    return Step::ended;
  };
}

void describe(const WriteValueWork& work, Context& /*context*/, Operation& operation) {
  operation.kind = OperationKind::write_value;
  operation.name = "write value";
  operation.work = [work](Operation& self, Random*) {
    std::memcpy(reinterpret_cast<void*>(work.address), &work.value, work.bytes);
    if (recording()) self.touched = {{work.address, work.address + work.bytes, touched_atomic}};
    return Step::ended;
  };
}

bool holds(const WaitValueWork& work) {
  std::uint64_t seen = 0;
  std::memcpy(&seen, reinterpret_cast<const void*>(work.address), work.bytes);
  const std::uint64_t difference = seen - work.value;
  switch (work.flags & 3u) {
    case CU_STREAM_WAIT_VALUE_GEQ:  // cyclic
      return work.bytes == 4 ? static_cast<std::int32_t>(difference) >= 0 : static_cast<std::int64_t>(difference) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return seen == work.value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (seen & work.value) != 0;
    default:  // NOR
      return work.bytes == 4 ? static_cast<std::uint32_t>(~(seen | work.value)) != 0 : ~(seen | work.value) != 0;
  }
}

void describe(const WaitValueWork& work, Context& /*context*/, Operation& operation) {
  operation.kind = OperationKind::wait_value;
  operation.name = "wait for value";
  operation.work = [work](Operation&, Random*) { return holds(work) ? Step::ended : Step::blocked; };
}

// Keeps the list in the order of submission: that of the registries comes from addresses, which differ from run to run.
void add(std::vector<OperationPtr>& list, const OperationPtr& operation) {
  if (operation == nullptr) return;
  const auto at = std::lower_bound(list.begin(), list.end(), operation,
                                   [](const OperationPtr& a, const OperationPtr& b) { return a->number < b->number; });
  if (at == list.end() || *at != operation) list.insert(at, operation);
}

// Lets go wrong what TESSERA_SIM_FAULTS asks for, once for each operation.
void fail_on_order(Operation& operation, Context& context) {
  if (std::exchange(operation.begun, true)) return;
  World& w = world();
  const SimDevice& device = *context.device;
  if (const auto lost = w.faults.lost(device.ordinal, earliest_begin(operation))) fail_device(device, static_cast<CUresult>(*lost));
  const bool kernel = operation.kind == OperationKind::kernel;
  if (!kernel && operation.kind != OperationKind::copy) return;
  const auto code = w.faults.next(kernel ? FaultSource::kernel : FaultSource::copy, operation.device);
  if (code && context.sticky == CUDA_SUCCESS) context.sticky = static_cast<CUresult>(*code);
}

// Behind an error that can't be undone nothing is done any more; only callbacks are still told, and memory is still freed.
void skip_behind_errors(Operation& operation, Context& context) {
  if (!operation.work) return;
  operation.work = [inner = std::move(operation.work), &context](Operation& o, Random* random) {
    fail_on_order(o, context);
    return context.sticky == CUDA_SUCCESS ? inner(o, random) : Step::ended;
  };
}

// A pageable source is read before the call returns; pageable memory is written before the call returns.
void settle_pageable(const CopyWork& copy, const OperationPtr& operation, Context& context) {
  if (operation->ended()) return;
  if (copy.to.device == nullptr && copy.to.pageable) {
    world().scheduler.finish(operation);
    world().clock.wait_until(operation->span.end);
  } else if (copy.from.device == nullptr && copy.from.pageable) {
    stage(copy, *operation);
    skip_behind_errors(*operation, context);
  }
}

}  // namespace

OperationPtr operation_of(Work work, Context& context) {
  auto operation = std::make_shared<Operation>();
  operation->device = context.device->ordinal;
  std::visit([&](const auto& w) { describe(w, context, *operation); }, work);
  if (!std::holds_alternative<CallbackWork>(work) && !std::holds_alternative<FreeWork>(work)) skip_behind_errors(*operation, context);
  return operation;
}

std::vector<OperationPtr> before_next_on(const Stream& stream) {
  std::vector<OperationPtr> before;
  add(before, stream.last);
  if ((stream.flags & CU_STREAM_NON_BLOCKING) != 0) return before;
  const Context& c = *stream.context;
  add(before, c.legacy.last);
  if (!stream.is_legacy) return before;
  add(before, c.per_thread.last);
  for (const auto& [other, owned] : world().streams) {
    if (other->context == &c && (other->flags & CU_STREAM_NON_BLOCKING) == 0) add(before, other->last);
  }
  return before;
}

void order_behind(Stream& stream, const OperationPtr& operation) {
  World& w = world();
  operation->issued = w.clock.call();
  if (!operation->engines.empty()) operation->issued += static_cast<Nanoseconds>(stream.context->device->model->launch_latency_s * 1e9);
  operation->stream = stream.id;
  for (OperationPtr& before : before_next_on(stream)) add(operation->after, before);
  stream.last = operation;
  w.scheduler.submit(operation);
}

CUresult enqueue(Stream& stream, Work work, bool blocking, OperationPtr* submitted) {
  if (const CUresult bad = blocking ? may_wait_for(stream) : may_use(stream); bad != CUDA_SUCCESS) return bad;
  if (stream.capturing != nullptr) return capture(stream, work);
  const CopyWork* copy = std::get_if<CopyWork>(&work);
  const CopyWork copied = copy == nullptr ? CopyWork{} : *copy;
  Context& context = *stream.context;
  const OperationPtr operation = operation_of(std::move(work), context);
  order_behind(stream, operation);
  if (blocking) {
    world().scheduler.finish(operation);
    world().clock.wait_until(operation->span.end);
  } else if (copy != nullptr) {
    settle_pageable(copied, operation, context);
  }
  if (submitted != nullptr) *submitted = operation;
  // What has run may have failed; a launch's own fault is told by a later call.
  const bool waited = blocking || (copy != nullptr && operation->ended());
  return waited && world().contexts.find(&context) != nullptr ? context.sticky : CUDA_SUCCESS;
}

namespace {

CUresult finish_all_of(const std::vector<OperationPtr>& operations, Context& context) {
  World& w = world();
  w.clock.call();
  for (const OperationPtr& operation : operations) {
    w.scheduler.finish(operation);
    w.clock.wait_until(operation->span.end);
  }
  release_from_pools();
  return w.contexts.find(&context) == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : context.sticky;
}

}  // namespace

CUresult finish_stream(Stream& stream) { return finish_all_of(before_next_on(stream), *stream.context); }

CUresult finish_context(Context& context) {
  std::vector<OperationPtr> last = context.of_destroyed_streams;
  add(last, context.legacy.last);
  add(last, context.per_thread.last);
  for (const auto& [stream, owned] : world().streams) {
    if (stream->context == &context) add(last, stream->last);
  }
  const CUresult result = finish_all_of(last, context);
  if (world().contexts.find(&context) != nullptr) context.of_destroyed_streams.clear();
  return result;
}

}  // namespace tessera::simgpu
