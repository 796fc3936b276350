#include "interpose/hooks/home_call.h"

#include "interpose/device/own_calls.h"
#include "profiles/base/log.h"

namespace tessera::interpose {

void HomeCall::enter(StreamArgument stream, std::span<const coherence::Touch> touches, bool everything) {
  enter_known(engine_.streams().id_of(stream), touches, everything);
}

void HomeCall::enter_known(order::StreamId stream, std::span<const coherence::Touch> touches, bool everything) {
  stream_ = stream;
  const StreamInfo* info = engine_.streams().info(stream);
  const bool eager = info != nullptr && info->thread != 0 && open_captures.load(std::memory_order_relaxed) == 0;
  auto& coherence = engine_.coherence();
  const Status entered =
      everything ? coherence.enter_home_with_everything(stream, eager, visit_) : coherence.enter_home(stream, eager, touches, visit_);
  if (entered.ok()) return;
  status_ = engine_.mover().last_failure();
  log::error("the newest bytes could not be brought home: {}", entered.error().message());
}

HomeCall::~HomeCall() {
  const std::lock_guard lock(engine_.lock());
  if (const Status left = engine_.coherence().leave_home(visit_); !left.ok()) log::warn("{}", left.error().message());
  if (!blocker_) return;
  auto& streams = engine_.coherence().streams();
  const bool captured = open_captures.load(std::memory_order_relaxed) != 0;
  if (captured || !streams.block(stream_, *blocker_).ok()) streams.block_later(stream_, *blocker_);
}

}  // namespace tessera::interpose
