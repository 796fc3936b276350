// What every hook is made of.
//
// A hook unpacks its arguments, says what its call touches, and hands on to the driver. Calls that the driver or we make while serving
// the program go straight through. Invariant: hooks don't throw and return the driver's code. Threads: any.
#pragma once

#include <initializer_list>
#include <new>
#include <type_traits>

#include "interpose/engine.h"
#include "interpose/hooks/home_call.h"
#include "interpose/reentry.h"
#include "interpose/resolve/real.h"

#define TESSERA_EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::interpose::hooks {

// The engine if the program itself calls and launches may move; else null.
[[nodiscard]] inline Engine* engine_for(const Inside& inside) noexcept {
  if (!inside.outermost()) return nullptr;
  start::first_contact();
  return Engine::moving();
}
[[nodiscard]] inline Engine* counting_engine_for(const Inside& inside) noexcept {
  if (!inside.outermost()) return nullptr;
  start::first_contact();
  return Engine::counting();
}

// A call that fails for want of host memory fails as the driver's would.
template <typename Body>
CUresult guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

[[nodiscard]] inline coherence::Touch reads(CUdeviceptr address) { return {address, true, false}; }
[[nodiscard]] inline coherence::Touch reads(const void* address) { return reads(reinterpret_cast<CUdeviceptr>(address)); }
[[nodiscard]] inline coherence::Touch writes(CUdeviceptr address) { return {address, false, true}; }
[[nodiscard]] inline coherence::Touch writes(void* address) { return writes(reinterpret_cast<CUdeviceptr>(address)); }

// The call E at home, with what it touches.
template <Entry E, typename... Args>
CUresult touching(StreamArgument stream, std::initializer_list<coherence::Touch> touches, Args... args) noexcept {
  const Inside inside;
  Engine* engine = engine_for(inside);
  if (engine == nullptr) return call<E>(args...);
  return guarded([&] {
    const HomeCall scope(*engine, stream, std::span(touches.begin(), touches.size()));
    return scope.status() == CUDA_SUCCESS ? call<E>(args...) : scope.status();
  });
}

// The call E at home; what it touches isn't known, and what it queues may wait for something outside.
template <Entry E, typename... Args>
CUresult touching_everything(StreamArgument stream, Args... args) noexcept {
  const Inside inside;
  Engine* engine = engine_for(inside);
  if (engine == nullptr) return call<E>(args...);
  return guarded([&] {
    HomeCall scope(*engine, stream);
    scope.leaves_blocker(order::Blocker::waiting);
    return scope.status() == CUDA_SUCCESS ? call<E>(args...) : scope.status();
  });
}

// The call E touches no memory that is tracked, but what it queues waits for something outside.
template <Entry E, typename... Args>
CUresult waiting(StreamArgument stream, Args... args) noexcept {
  const Inside inside;
  Engine* engine = engine_for(inside);
  if (engine == nullptr) return call<E>(args...);
  return guarded([&] {
    HomeCall scope(*engine, stream, {});
    scope.leaves_blocker(order::Blocker::waiting);
    return call<E>(args...);
  });
}

}  // namespace tessera::interpose::hooks
