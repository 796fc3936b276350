// Queues and marks in them: what order needs of a machine.
//
// A Lane is a queue that runs its entries in order: a stream of the program, or the shadow of one on a helper GPU. A Ticket is a mark
// in a lane: it has ended when everything in front of it has.
// Invariant: a ticket that is waited for was recorded before; so waits never form a cycle among queued work. Only finish() blocks.
// Ownership: a Ticket is shared; the last holder gives its mark back. Threads: callers hold the engine's lock, except for finish().
#pragma once

#include <cstdint>
#include <memory>

#include "profiles/base/result.h"

namespace tessera::order {

using DeviceId = int;            // CUDA ordinal in this process
using StreamId = std::uint64_t;  // never reused, unlike a stream handle

struct Lane {
  StreamId stream = 0;
  bool shadow = false;
  DeviceId device = 0;  // shadow: the helper
  bool operator==(const Lane&) const = default;
};
[[nodiscard]] inline Lane program_lane(StreamId stream) { return {stream, false, 0}; }
[[nodiscard]] inline Lane shadow_lane(StreamId stream, DeviceId helper) { return {stream, true, helper}; }

class Mark {
 public:
  virtual ~Mark() = default;
};
using Ticket = std::shared_ptr<Mark>;  // null = has ended

class Queues {
 public:
  virtual ~Queues() = default;
  // Marks the present end of `lane`.
  virtual Result<Ticket> record(Lane lane) = 0;
  // What is queued in `lane` from now on starts after `ticket` has ended.
  virtual Status wait(Lane lane, const Ticket& ticket) = 0;
  // Has it ended? Never blocks; false when in doubt.
  virtual bool ended(const Ticket& ticket) = 0;
  // Blocks the calling thread until it has ended.
  virtual Status finish(const Ticket& ticket) = 0;
};

}  // namespace tessera::order
