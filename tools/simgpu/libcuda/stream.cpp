// Streams, events, host functions, memory operations.
#include <algorithm>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/work.h"

using namespace tessera::simgpu;

namespace {

Event* find_event(const Entry& entry, CUevent handle, CUresult& error) {
  if (entry.context(error) == nullptr) return nullptr;
  Event* e = world().events.find(handle);
  if (e == nullptr) error = CUDA_ERROR_INVALID_HANDLE;
  return e;
}

CUresult finish_event(const Event& event) {
  World& w = world();
  w.clock.call();
  const OperationPtr mark = event.mark;
  Context* c = event.context;
  if (mark == nullptr) return CUDA_SUCCESS;
  w.scheduler.finish(mark);
  w.clock.wait_until(mark->span.end);
  return w.contexts.find(c) == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : c->sticky;
}

}  // namespace

SIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream* result, unsigned int flags, int priority) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (result == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Stream* s = world().streams.make();
  s->context = c;
  s->flags = flags;
  s->priority = std::clamp(priority, -5, 0);
  s->id = world().next_id++;
  *result = reinterpret_cast<CUstream>(s);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamCreate(CUstream* result, unsigned int flags) SIM_NOEXCEPT {
  return cuStreamCreateWithPriority(result, flags, 0);
}

SIM_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Stream* s = world().streams.find(handle);
  if (s == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  forget_capture(*s);
  if (s->last != nullptr && !s->last->ended()) s->context->of_destroyed_streams.push_back(s->last);
  world().streams.erase(s);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = s->priority;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = s->flags;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* id) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = s->id;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(s->context);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = s->context->device->ordinal;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  Event* e = find_event(entry, event, error);
  if (e == nullptr) return error;
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  if (flags == CU_EVENT_WAIT_EXTERNAL)  // documented: only while capturing
    return s->capturing == nullptr ? CUDA_ERROR_INVALID_VALUE : capture(*s, EventNode{e, false});
  if (s->capturing != nullptr || e->captured != nullptr) return capture_wait(*s, *e);
  if (e->mark == nullptr) {
    world().clock.call();
    return CUDA_SUCCESS;
  }
  const OperationPtr wait = operation_of(MarkWork{}, *s->context);
  wait->after.push_back(e->mark);
  order_behind(*s, wait);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamSynchronize(CUstream handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  const CUresult bad = may_wait_for(*s);
  return bad != CUDA_SUCCESS ? bad : finish_stream(*s);
}

// In program order nothing is ever "not ready" for long; the host is taken to have polled until it was ready.
SIM_EXPORT CUresult cuStreamQuery(CUstream handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (const CUresult bad = may_wait_for(*s); bad != CUDA_SUCCESS) return bad;
  for (const OperationPtr& before : before_next_on(*s)) {
    if (!world().scheduler.poll(before)) return CUDA_ERROR_NOT_READY;
  }
  return finish_stream(*s);
}

SIM_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  return function == nullptr ? CUDA_ERROR_INVALID_VALUE : enqueue(*s, HostWork{function, data});
}
SIM_EXPORT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  return callback == nullptr || flags != 0 ? CUDA_ERROR_INVALID_VALUE : enqueue(*s, CallbackWork{callback, handle, data});
}

SIM_EXPORT CUresult cuEventCreate(CUevent* result, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (result == nullptr || (flags & ~7u) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  Event* e = world().events.make();
  e->context = c;
  e->flags = flags;
  *result = reinterpret_cast<CUevent>(e);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuEventDestroy_v2(CUevent handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Event* e = world().events.find(handle);
  if (e == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  world().events.erase(e);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Event* e = find_event(entry, handle, error);
  if (e == nullptr) return error;
  Stream* s = find_stream(entry, stream, error);
  if (s == nullptr) return error;
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (s->context != e->context) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  if (flags == CU_EVENT_RECORD_EXTERNAL)  // documented: only while capturing
    return s->capturing == nullptr ? CUDA_ERROR_INVALID_VALUE : capture(*s, EventNode{e, true});
  if (s->capturing != nullptr) {
    capture_record(*s, *e);
    return CUDA_SUCCESS;
  }
  e->captured = nullptr;
  return enqueue(*s, MarkWork{}, false, &e->mark);
}
SIM_EXPORT CUresult cuEventRecord(CUevent handle, CUstream stream) SIM_NOEXCEPT { return cuEventRecordWithFlags(handle, stream, 0); }

SIM_EXPORT CUresult cuEventSynchronize(CUevent handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Event* e = find_event(entry, handle, error);
  if (e == nullptr) return error;
  const CUresult bad = may_wait_for(*e);
  return bad != CUDA_SUCCESS ? bad : finish_event(*e);
}
SIM_EXPORT CUresult cuEventQuery(CUevent handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Event* e = find_event(entry, handle, error);
  if (e == nullptr) return error;
  if (const CUresult bad = may_wait_for(*e); bad != CUDA_SUCCESS) return bad;
  if (e->mark != nullptr && !world().scheduler.poll(e->mark)) return CUDA_ERROR_NOT_READY;
  return finish_event(*e);
}

SIM_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Event* a = find_event(entry, start, error);
  const Event* b = a == nullptr ? nullptr : find_event(entry, end, error);
  if (b == nullptr) return error;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (a->captured != nullptr || b->captured != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  if (a->mark == nullptr || b->mark == nullptr || ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) != 0 || a->context != b->context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!a->mark->ended() || !b->mark->ended()) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>((static_cast<double>(b->mark->span.end) - static_cast<double>(a->mark->span.end)) / 1e6);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) SIM_NOEXCEPT {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
