// Scope in which we call the driver for ourselves: the right context is current, and no capture of the program minds.
//
// Invariant: the thread's context stack and capture mode are as before when the scope ends. Threads: any.
#pragma once

#include <atomic>

#include "interpose/resolve/real.h"

namespace tessera::interpose {

// How many captures of the program are open; while there are any, our calls run in relaxed capture mode.
inline std::atomic<unsigned> open_captures{0};

class OwnCalls {
 public:
  explicit OwnCalls(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (call<Entry::cuCtxGetCurrent>(&current) != CUDA_SUCCESS || current != context) {
      pushed_ = call<Entry::cuCtxPushCurrent_v2>(context) == CUDA_SUCCESS;
    }
    if (open_captures.load(std::memory_order_relaxed) != 0) relaxed_ = exchange();
  }
  ~OwnCalls() {
    if (relaxed_) exchange();
    CUcontext popped = nullptr;
    if (pushed_) call<Entry::cuCtxPopCurrent_v2>(&popped);
  }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

 private:
  bool exchange() noexcept { return call<Entry::cuThreadExchangeStreamCaptureMode>(&mode_) == CUDA_SUCCESS; }

  bool pushed_ = false, relaxed_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tessera::interpose
