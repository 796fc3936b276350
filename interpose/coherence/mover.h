// What coherence needs of a machine with several memories: queues, marks in them, copies, and space for replicas.
//
// A Lane is a queue that runs its entries in order: a stream of the program, or the shadow of one on a helper GPU. A Ticket is a mark
// in a lane: it has ended when everything in front of it has. Nothing here waits for a device, except finish().
// Invariant: a ticket that is waited for was recorded before; so waits never form a cycle among queued work.
// Units: bytes; addresses are device addresses (device and address together name a byte, since replicas live elsewhere).
// Ownership: a Ticket is shared; the last holder gives its mark back. Threads: callers hold the engine's lock.
// Implementations: interpose/device/cuda_mover (the driver), test/fake/fake_mover (bytes in host memory, any legal order).
#pragma once

#include <cstdint>
#include <memory>

#include "profiles/base/result.h"

namespace tessera::coherence {

using Address = std::uint64_t;
using DeviceId = int;              // CUDA ordinal in this process
using StreamId = std::uint64_t;    // never reused, unlike a stream handle
using ContextId = std::uintptr_t;  // identity of the context that owns an allocation

struct Lane {
  StreamId stream = 0;
  bool shadow = false;
  DeviceId device = 0;  // shadow: the helper
  bool operator==(const Lane&) const = default;
};
inline Lane program_lane(StreamId stream) { return {stream, false, 0}; }
inline Lane shadow_lane(StreamId stream, DeviceId helper) { return {stream, true, helper}; }

class Mark {
 public:
  virtual ~Mark() = default;
};
using Ticket = std::shared_ptr<Mark>;  // null = has ended

struct Place {
  DeviceId device = 0;
  Address address = 0;
  ContextId context = 0;  // of a home allocation; 0 = the helper's own
};

class Mover {
 public:
  virtual ~Mover() = default;

  // Marks the present end of `lane`.
  virtual Result<Ticket> record(Lane lane) = 0;
  // What is queued in `lane` from now on starts after `ticket` has ended.
  virtual Status wait(Lane lane, const Ticket& ticket) = 0;
  // Has it ended? Never blocks; false when in doubt.
  virtual bool ended(const Ticket& ticket) = 0;
  // Blocks the calling thread until it has ended.
  virtual Status finish(const Ticket& ticket) = 0;

  // Queues a copy in `lane`. Its error, or that of an earlier entry, may show later at the lane's end.
  virtual Status copy(Lane lane, const Place& from, const Place& to, std::uint64_t bytes) = 0;

  // Space on a helper. Error environment = none left.
  virtual Result<Address> allocate(DeviceId device, std::uint64_t bytes) = 0;
  // Gives it back. The caller has made sure that nothing queued uses it.
  virtual void release(DeviceId device, Address address) = 0;
};

}  // namespace tessera::coherence
