// One allocation of the program and its copies: who has the newest bytes.
//
// copies[0] is the home copy, whose address is the one that the program knows. A copy is valid when, once its `ready` ticket and the
// writing uses in it have ended, it holds the newest bytes.
// Invariant: check() names the first violated sentence, or returns an empty string.
// Granularity: the whole allocation. Ownership: shared, so that a call in progress survives a free by another thread.
// Threads: callers hold the engine's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interpose/coherence/mover.h"

namespace tessera::coherence {

// A redirected launch that uses the copy and may still run.
struct Use {
  StreamId stream = 0;
  bool wrote = false;
  Ticket ticket;
};

struct Copy {
  Place place;
  bool valid = false;
  Ticket ready;  // the copy that filled it
  Lane filled_by;
  std::vector<Use> uses;
};

struct Allocation {
  std::uint64_t bytes = 0;
  std::vector<Copy> copies;
  unsigned home_writers = 0;  // calls that write home memory and are on their way into their stream
  bool home_only = false;     // somebody else can see home memory (another process, a memory wait)

  [[nodiscard]] Copy& home() { return copies.front(); }
  [[nodiscard]] const Copy& home() const { return copies.front(); }
  [[nodiscard]] Copy* at(DeviceId device, ContextId context);
  [[nodiscard]] Copy* newest();  // a valid copy, home first
  // Is anything besides a settled home copy going on?
  [[nodiscard]] bool replicated() const;
  [[nodiscard]] std::string check() const;
};
using AllocationRef = std::shared_ptr<Allocation>;

}  // namespace tessera::coherence
