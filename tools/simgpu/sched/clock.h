// Virtual time: when each operation begins and ends, by the order that streams, engines and the host give.
//
// An operation begins when what it waits for has ended and its engines and the host's call allow it. Invariant: times never run backwards
// on a stream or an engine; the same program gives the same nanoseconds. Units: nanoseconds since the driver started.
// Threads: guarded by the driver's lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tools/simgpu/sched/cost.h"

namespace tessera::simgpu {

enum class Engine : std::uint8_t { compute, copy_in, copy_out };
inline constexpr std::size_t engine_count = 3;

struct EngineState {
  Nanoseconds free_at = 0;
  Nanoseconds busy = 0;
};

struct DeviceClock {
  std::array<EngineState, engine_count> engines{};
  [[nodiscard]] EngineState& of(Engine engine) { return engines[static_cast<std::size_t>(engine)]; }
};

struct Span {
  Nanoseconds begin = 0, end = 0;
};

// Time that one call to the driver takes the host.
inline constexpr Nanoseconds host_call_time = 1000;

class Clock {
 public:
  [[nodiscard]] Nanoseconds host_now() const { return host_; }
  // The host submits something.
  Nanoseconds call() { return host_ += host_call_time; }
  // The host waits until `time`.
  void wait_until(Nanoseconds time) { host_ = std::max(host_, time); }
  // The latest end of anything.
  [[nodiscard]] Nanoseconds makespan() const { return std::max(host_, last_end_); }

  // Places an operation that may begin at `earliest` and holds all `engines` together for `duration`.
  template <typename Engines>
  Span place(const Engines& engines, Nanoseconds earliest, Nanoseconds duration) {
    Nanoseconds begin = earliest;
    for (const auto& use : engines) begin = std::max(begin, use.device->of(use.engine).free_at);
    const Span span{begin, begin + duration};
    for (const auto& use : engines) {
      EngineState& state = use.device->of(use.engine);
      state.free_at = span.end;
      state.busy += duration;
    }
    last_end_ = std::max(last_end_, span.end);
    return span;
  }

 private:
  Nanoseconds host_ = 0;
  Nanoseconds last_end_ = 0;
};

}  // namespace tessera::simgpu
