#include <cstring>

#include "interpose/device/own_calls.h"
#include "interpose/launch/launch.h"
#include "profiles/base/log.h"

namespace tessera::interpose {
namespace {

Reason reason_of(coherence::Refusal refusal) {
  switch (refusal) {
    case coherence::Refusal::none:
      return Reason::none;
    case coherence::Refusal::not_tracked:
      return Reason::memory_kind;
    case coherence::Refusal::home_only:
      return Reason::memory_shared;
    case coherence::Refusal::busy:
      return Reason::busy;
    case coherence::Refusal::blocked:
      return Reason::waiting;
    case coherence::Refusal::no_memory:
      return Reason::no_memory;
    case coherence::Refusal::failed:
      return Reason::refused;
  }
  return Reason::refused;
}

void translate(Decision& decision, const std::vector<coherence::Address>& there) {
  for (std::size_t i = 0; i < decision.touches.size(); ++i) {
    const LaunchTouch& one = decision.touches[i];
    const coherence::Address address = there[i] + one.behind;
    std::memcpy(decision.block.data() + one.offset, &address, sizeof address);
  }
}

CUresult launch_there(const LaunchCall& launch, const StreamInfo& shadow, Decision& decision) {
  thread_local std::vector<void*> params;
  params.clear();
  for (const ParamSlot slot : decision.slots) params.push_back(decision.block.data() + slot.offset);
  const OwnCalls scope(shadow.context);
  const auto& grid = launch.shape.grid;
  const auto& block = launch.shape.block;
  return call<Entry::cuLaunchKernel>(decision.there, grid[0], grid[1], grid[2], block[0], block[1], block[2], launch.shape.dynamic_shared,
                                     shadow.handle, params.empty() ? nullptr : params.data(), static_cast<void**>(nullptr));
}

std::optional<CUresult> stay(Decision& decision, Reason reason) {
  decision.reason = reason;
  decision.target = decision.home;
  return std::nullopt;
}

}  // namespace

std::optional<CUresult> submit(Engine& engine, const LaunchCall& launch, order::StreamId stream, Decision& decision) {
  thread_local std::vector<coherence::Touch> touches;
  thread_local std::vector<coherence::Address> there;
  touches.clear();
  for (const LaunchTouch& one : decision.touches) touches.push_back(one.touch);
  const coherence::Refusal refused = engine.coherence().enter_remote(stream, decision.target, touches, there);
  if (refused != coherence::Refusal::none) return stay(decision, reason_of(refused));
  const auto shadow = engine.mover().stream_of(order::shadow_lane(stream, decision.target));
  if (!shadow.ok()) return stay(decision, Reason::refused);
  translate(decision, there);
  const CUresult launched = launch_there(launch, shadow.value(), decision);
  if (launched != CUDA_SUCCESS) {
    log::warn("GPU {} refused a launch of {} (driver error {}); it runs at home", decision.target, decision.kernel->name,
              static_cast<int>(launched));
    return stay(decision, Reason::refused);
  }
  const Status joined = engine.coherence().leave_remote(stream, decision.target, touches);
  if (joined.ok()) return CUDA_SUCCESS;
  log::error("a redirected launch could not be joined: {}", joined.error().message());
  return engine.mover().last_failure();
}

}  // namespace tessera::interpose
