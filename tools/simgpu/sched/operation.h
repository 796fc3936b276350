// One piece of work that a program gave to the driver: a kernel, a copy, a fill, a host function, or a mark in a stream.
//
// An operation may run when all operations in `after` have ended; nothing else orders it. Its bytes change when `work` runs, its time is
// found when it ends. Invariant: `after` is acyclic and final once submitted; it is emptied at the end, so that chains don't pile up.
// Units: nanoseconds of virtual time. Ownership: shared between the scheduler, streams, events and later operations.
// Threads: guarded by the driver's lock; `work` of a host function lets it go while it runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/simgpu/machine/random.h"
#include "tools/simgpu/machine/touched.h"
#include "tools/simgpu/sched/clock.h"

namespace tessera::simgpu {

enum class OperationKind : std::uint8_t { mark, kernel, copy, fill, host_function, memory, wait_value, write_value };

// Lines of time (streams, the host) and how far along each.
using OrderClock = std::map<std::uint64_t, std::uint64_t>;

struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

enum class Step : std::uint8_t {
  ended,
  again,    // some of it is done; call again
  blocked,  // can't go on until something outside has changed; call again
};

struct EngineUse {
  DeviceClock* device = nullptr;
  Engine engine = Engine::compute;
};

struct Operation {
  OperationKind kind = OperationKind::mark;
  std::string name;          // for messages: the kernel's name, "copy host to GPU 0"
  std::uint64_t number = 0;  // by submission, from 1
  std::uint64_t stream = 0;  // id of the stream; 0 = inside a graph
  int device = -1;           // ordinal of the GPU that does it; -1 = the host
  std::vector<OperationPtr> after;
  Nanoseconds issued = 0;          // no earlier than this
  std::vector<EngineUse> engines;  // held together for `duration`
  Nanoseconds duration = 0;        // `work` may set it
  // Does it, or a part of it: all where `random` is null, else as much as chance says. Empty: nothing to do.
  std::function<Step(Operation&, Random* random)> work;

  enum class State : std::uint8_t { waiting, running, ended };
  State state = State::waiting;
  bool begun = false;
  Span span;  // once ended

  // Where races are looked for (races.h): its line of time, what it is behind, and, once ended, what it touched.
  std::uint64_t line = 0;
  std::shared_ptr<const OrderClock> clock;
  std::vector<TouchedRange> touched;
  [[nodiscard]] bool ended() const { return state == State::ended; }
};

// No earlier than this may it begin, by what it waits for; engines may hold it up further. All of `after` have ended.
[[nodiscard]] inline Nanoseconds earliest_begin(const Operation& operation) {
  Nanoseconds earliest = operation.issued;
  for (const OperationPtr& a : operation.after) earliest = std::max(earliest, a->span.end);
  return earliest;
}

}  // namespace tessera::simgpu
