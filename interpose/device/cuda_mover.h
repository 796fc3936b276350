// coherence::Mover over the driver: lanes are streams, tickets are events without timing.
//
// A shadow lane is a non-blocking stream in the helper's context with the priority of the program's stream, made when first used. Events
// are kept in a pool for each context. Invariant: nothing here blocks but finish(). Threads: callers hold the engine's lock, except for
// finish() and the death of a ticket.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "interpose/coherence/mover.h"
#include "interpose/device/helpers.h"
#include "interpose/device/streams.h"

namespace tessera::interpose {

class EventPool;

class CudaMover : public coherence::Mover {
 public:
  CudaMover(Streams& streams, Helpers& helpers) : streams_(streams), helpers_(helpers) {}
  ~CudaMover() override;
  CudaMover(const CudaMover&) = delete;
  CudaMover& operator=(const CudaMover&) = delete;

  Result<order::Ticket> record(order::Lane lane) override;
  Status wait(order::Lane lane, const order::Ticket& ticket) override;
  bool ended(const order::Ticket& ticket) override;
  Status finish(const order::Ticket& ticket) override;
  Status copy(order::Lane lane, const coherence::Place& from, const coherence::Place& to, std::uint64_t bytes) override;
  coherence::ContextId helper_context(order::DeviceId device) override;
  Result<coherence::Address> allocate(order::DeviceId device, std::uint64_t bytes) override;
  void release(order::DeviceId device, coherence::Address address) override;

  // The stream behind a lane; a shadow stream is made if need be.
  [[nodiscard]] Result<StreamInfo> stream_of(order::Lane lane);
  // The driver's code of the latest call that failed, to be passed on where the program's own call would have failed.
  [[nodiscard]] CUresult last_failure() const { return last_failure_; }
  // The program's stream is gone: its shadow streams aren't needed any more.
  void close(order::StreamId stream);
  // A context was destroyed with its streams and events: their tickets have ended.
  void context_gone(CUcontext context);

 private:
  [[nodiscard]] EventPool& pool_of(CUcontext context);
  [[nodiscard]] Error failed(const char* what, CUresult result);

  Streams& streams_;
  Helpers& helpers_;
  std::map<std::pair<order::StreamId, order::DeviceId>, StreamInfo> shadows_;
  std::map<CUcontext, std::shared_ptr<EventPool>> pools_;
  CUresult last_failure_ = CUDA_ERROR_UNKNOWN;
};

}  // namespace tessera::interpose
