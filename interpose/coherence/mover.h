// What coherence needs of a machine with several memories: its queues (order/ticket.h), copies, and space for replicas.
//
// Units: bytes; device and address together name a byte, since replicas live at addresses of their own.
// Threads: callers hold the engine's lock. Implementations: interpose/device/cuda_mover (the driver), test/fake/fake_mover (bytes in
// host memory, run in any order that the queues allow).
#pragma once

#include <cstdint>

#include "interpose/order/ticket.h"
#include "profiles/base/result.h"

namespace tessera::coherence {

using order::DeviceId;
using order::Lane;
using order::StreamId;
using order::Ticket;
using Address = std::uint64_t;
using ContextId = std::uintptr_t;  // identity of the context that owns an allocation

struct Place {
  DeviceId device = 0;
  ContextId context = 0;
  Address address = 0;
};

class Mover : public order::Queues {
 public:
  // Queues a copy in `lane`. What goes wrong on the device shows later, at the lane's end.
  virtual Status copy(Lane lane, const Place& from, const Place& to, std::uint64_t bytes) = 0;

  // The context in which a helper's replicas and kernels live.
  virtual ContextId helper_context(DeviceId device) = 0;
  // Space on a helper, in its context. Error environment = none left.
  virtual Result<Address> allocate(DeviceId device, std::uint64_t bytes) = 0;
  // Gives it back. The caller has made sure that nothing queued uses it.
  virtual void release(DeviceId device, Address address) = 0;
};

}  // namespace tessera::coherence
