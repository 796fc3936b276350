// One launch from the program's call to the driver's answer.
//
// redirected() decides, and queues the launch elsewhere if it can. Where it answers nothing, the program's own call has to be made while
// the object lives; then at_home() counts it. Invariant: exactly one of the two counts the launch. Threads: any.
#pragma once

#include <optional>

#include "interpose/hooks/home_call.h"
#include "interpose/launch/launch.h"

namespace tessera::interpose {

class LaunchRun {
 public:
  LaunchRun(Engine& engine, const LaunchCall& launch) : engine_(engine), launch_(launch) {}

  // The program's answer, or nothing when its own call has to be made.
  [[nodiscard]] std::optional<CUresult> redirected();
  void at_home();

 private:
  [[nodiscard]] CUresult finish_if_blocking(CUresult launched, const order::Ticket& end);

  Engine& engine_;
  const LaunchCall& launch_;
  Decision decision_;
  std::optional<HomeCall> home_;
};

// Only counts; nothing can move.
void count_at_home(Engine& engine, CUfunction function) noexcept;

}  // namespace tessera::interpose
