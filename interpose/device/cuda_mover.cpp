#include "interpose/device/cuda_mover.h"

#include <utility>

#include "interpose/device/own_calls.h"

namespace tessera::interpose {

using order::Lane;
using order::Ticket;

// Events of one context that wait to be used again. Shared with the tickets, which may outlive the context.
class EventPool {
 public:
  explicit EventPool(CUcontext context) : context_(context) {}

  CUevent take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        const CUevent event = free_.back();
        free_.pop_back();
        return event;
      }
    }
    const OwnCalls scope(context_);
    CUevent event = nullptr;
    return call<Entry::cuEventCreate>(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? event : nullptr;
  }
  void give_back(CUevent event) {
    const std::lock_guard lock(mutex_);
    if (!dead_) free_.push_back(event);
  }
  void die() {
    const std::lock_guard lock(mutex_);
    dead_ = true;
    free_.clear();
  }
  bool dead() {
    const std::lock_guard lock(mutex_);
    return dead_;
  }
  [[nodiscard]] CUcontext context() const { return context_; }

 private:
  std::mutex mutex_;
  CUcontext context_;
  std::vector<CUevent> free_;
  bool dead_ = false;
};

namespace {

struct CudaMark : order::Mark {
  CudaMark(std::shared_ptr<EventPool> events, CUevent handle) : pool(std::move(events)), event(handle) {}
  ~CudaMark() override { pool->give_back(event); }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;

  std::shared_ptr<EventPool> pool;
  CUevent event;
};

const CudaMark& mark_of(const Ticket& ticket) { return static_cast<const CudaMark&>(*ticket); }

}  // namespace

CudaMover::~CudaMover() = default;

Error CudaMover::failed(const char* what, CUresult result) {
  last_failure_ = result;
  const char* name = nullptr;
  if (call<Entry::cuGetErrorName>(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown driver error";
  return {ErrorCode::environment, what, name, {}};
}

EventPool& CudaMover::pool_of(CUcontext context) {
  auto& pool = pools_[context];
  if (!pool) pool = std::make_shared<EventPool>(context);
  return *pool;
}

Result<StreamInfo> CudaMover::stream_of(Lane lane) {
  const StreamInfo* program = streams_.info(lane.stream);
  if (program == nullptr) return Error{ErrorCode::internal, "a stream that is gone", {}, {}};
  if (!lane.shadow) {
    if (program->thread != 0 && program->thread != this_thread())
      return Error{ErrorCode::unsupported, "another thread's own default stream", {}, {}};
    return *program;
  }
  const auto found = shadows_.find({lane.stream, lane.device});
  if (found != shadows_.end()) return found->second;
  TRY(context, helpers_.context(lane.device));
  int priority = 0;
  if (program->handle != CU_STREAM_LEGACY && program->handle != CU_STREAM_PER_THREAD) {
    call<Entry::cuStreamGetPriority>(program->handle, &priority);
  }
  const OwnCalls scope(context);
  StreamInfo shadow{nullptr, context, 0};
  const CUresult result = call<Entry::cuStreamCreateWithPriority>(&shadow.handle, CU_STREAM_NON_BLOCKING, priority);
  if (result != CUDA_SUCCESS) return failed("no shadow stream", result);
  shadows_[{lane.stream, lane.device}] = shadow;
  return shadow;
}

Result<Ticket> CudaMover::record(Lane lane) {
  TRY(stream, stream_of(lane));
  EventPool& pool = pool_of(stream.context);
  const CUevent event = pool.take();
  if (event == nullptr) return Error{ErrorCode::environment, "no event", {}, {}};
  Ticket ticket = std::make_shared<CudaMark>(pools_[stream.context], event);
  const OwnCalls scope(stream.context);
  const CUresult result = call<Entry::cuEventRecord>(event, stream.handle);
  if (result != CUDA_SUCCESS) return failed("an event could not be recorded", result);
  return ticket;
}

Status CudaMover::wait(Lane lane, const Ticket& ticket) {
  if (!ticket || mark_of(ticket).pool->dead()) return {};
  TRY(stream, stream_of(lane));
  const OwnCalls scope(stream.context);
  const CUresult result = call<Entry::cuStreamWaitEvent>(stream.handle, mark_of(ticket).event, CU_EVENT_WAIT_DEFAULT);
  if (result != CUDA_SUCCESS) return failed("a stream could not wait for an event", result);
  return {};
}

bool CudaMover::ended(const Ticket& ticket) {
  if (!ticket || mark_of(ticket).pool->dead()) return true;
  const OwnCalls scope(mark_of(ticket).pool->context());
  return call<Entry::cuEventQuery>(mark_of(ticket).event) == CUDA_SUCCESS;
}

Status CudaMover::finish(const Ticket& ticket) {
  if (!ticket || mark_of(ticket).pool->dead()) return {};
  const OwnCalls scope(mark_of(ticket).pool->context());
  const CUresult result = call<Entry::cuEventSynchronize>(mark_of(ticket).event);
  if (result == CUDA_SUCCESS) return {};
  return Error{ErrorCode::environment, "queued work failed", {}, {}};  // without the lock: last_failure_ isn't ours to set
}

Status CudaMover::copy(Lane lane, const coherence::Place& from, const coherence::Place& to, std::uint64_t bytes) {
  TRY(stream, stream_of(lane));
  const OwnCalls scope(stream.context);
  const CUresult result = call<Entry::cuMemcpyPeerAsync>(to.address, reinterpret_cast<CUcontext>(to.context), from.address,
                                                         reinterpret_cast<CUcontext>(from.context), bytes, stream.handle);
  if (result != CUDA_SUCCESS) return failed("a copy between GPUs could not be queued", result);
  return {};
}

coherence::ContextId CudaMover::helper_context(order::DeviceId device) {
  const auto context = helpers_.context(device);
  return context.ok() ? reinterpret_cast<coherence::ContextId>(context.value()) : 0;
}

Result<coherence::Address> CudaMover::allocate(order::DeviceId device, std::uint64_t bytes) {
  TRY(context, helpers_.context(device));
  const OwnCalls scope(context);
  CUdeviceptr address = 0;
  const CUresult result = call<Entry::cuMemAlloc_v2>(&address, bytes);
  if (result != CUDA_SUCCESS) return failed("no memory for a replica", result);
  return coherence::Address{address};
}

void CudaMover::release(order::DeviceId device, coherence::Address address) {
  const CUcontext context = helpers_.existing_context(device);
  if (context == nullptr) return;
  const OwnCalls scope(context);
  call<Entry::cuMemFree_v2>(address);
}

void CudaMover::close(order::StreamId stream) {
  for (auto shadow = shadows_.lower_bound({stream, 0}); shadow != shadows_.end() && shadow->first.first == stream;) {
    const OwnCalls scope(shadow->second.context);
    call<Entry::cuStreamDestroy_v2>(shadow->second.handle);
    shadow = shadows_.erase(shadow);
  }
}

void CudaMover::context_gone(CUcontext context) {
  std::erase_if(shadows_, [&](const auto& entry) { return entry.second.context == context; });
  const auto pool = pools_.find(context);
  if (pool == pools_.end()) return;
  pool->second->die();
  pools_.erase(pool);
}

}  // namespace tessera::interpose
