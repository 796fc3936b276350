// Scope of a call that runs where the program asked: before it what it touches is brought home, after it its writes are known.
//
// The lock is taken at both ends and not held between them. Invariant: when status() isn't CUDA_SUCCESS, the call must not be made and
// that code is the program's answer. Threads: any.
#pragma once

#include <optional>
#include <span>

#include "interpose/engine.h"

namespace tessera::interpose {

class HomeCall {
 public:
  HomeCall(Engine& engine, StreamArgument stream, std::span<const coherence::Touch> touches) : engine_(engine) {
    const std::lock_guard lock(engine.lock());
    enter(stream, touches, false);
  }
  // Touches everything.
  HomeCall(Engine& engine, StreamArgument stream) : engine_(engine) {
    const std::lock_guard lock(engine.lock());
    enter(stream, {}, true);
  }
  // Under the lock already; touches everything or only `touches`.
  HomeCall(Engine& engine, order::StreamId stream, std::span<const coherence::Touch> touches, bool everything) : engine_(engine) {
    enter_known(stream, touches, everything);
  }
  ~HomeCall();
  HomeCall(const HomeCall&) = delete;
  HomeCall& operator=(const HomeCall&) = delete;

  [[nodiscard]] CUresult status() const { return status_; }
  // What was queued may wait for something outside.
  void leaves_blocker(order::Blocker kind) { blocker_ = kind; }

 private:
  void enter(StreamArgument stream, std::span<const coherence::Touch> touches, bool everything);
  void enter_known(order::StreamId stream, std::span<const coherence::Touch> touches, bool everything);

  Engine& engine_;
  order::StreamId stream_ = 0;
  coherence::HomeVisit visit_;
  CUresult status_ = CUDA_SUCCESS;
  std::optional<order::Blocker> blocker_;
};

}  // namespace tessera::interpose
