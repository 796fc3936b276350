#include "interpose/launch/run.h"

#include "interpose/registry/residence.h"

namespace tessera::interpose {
namespace {

KernelStats& unknown_kernels(Engine& engine) { return engine.stats().of("(unknown)"); }

}  // namespace

std::optional<CUresult> LaunchRun::redirected() {
  decision_.home = current_device();
  if (decision_.home < 0) return std::nullopt;  // the driver will say what is wrong
  decision_.kernel = engine_.registry().kernel_of(launch_.function);
  if (decision_.kernel && decision_.kernel->library_kernel != nullptr) {
    residence::find_elsewhere(engine_, *decision_.kernel, decision_.home);
  }
  std::optional<CUresult> answer;
  order::Ticket end;
  {
    const std::lock_guard lock(engine_.lock());
    const order::StreamId stream = engine_.streams().id_of(launch_.stream);
    decide(engine_, launch_, decision_);
    // In a stream of another context the launch fails, and it has to be the driver that says so.
    const StreamInfo* info = engine_.streams().info(stream);
    if (info == nullptr || info->context != current_context()) decision_.target = decision_.home;
    if (decision_.target != decision_.home) answer = submit(engine_, launch_, stream, decision_);
    if (!answer) {
      std::vector<coherence::Touch> touches;
      for (const LaunchTouch& one : decision_.touches) touches.push_back(one.touch);
      home_.emplace(engine_, stream, touches, decision_.everything);
      if (decision_.everything) home_->leaves_blocker(decision_.may_wait ? order::Blocker::waiting : order::Blocker::opaque);
      if (home_->status() != CUDA_SUCCESS) answer = home_->status();
    } else if (engine_.launches_block()) {
      if (auto mark = engine_.mover().record(order::shadow_lane(stream, decision_.target)); mark.ok()) end = mark.value();
    }
  }
  if (!answer) return answer;
  if (decision_.target != decision_.home && *answer == CUDA_SUCCESS) decision_.kernel->stats.launched(decision_.target, true);
  return finish_if_blocking(*answer, end);
}

CUresult LaunchRun::finish_if_blocking(CUresult launched, const order::Ticket& end) {
  if (!end) return launched;
  return engine_.mover().finish(end).ok() ? launched : CUDA_ERROR_LAUNCH_FAILED;
}

void LaunchRun::at_home() {
  KernelStats& stats = decision_.kernel ? decision_.kernel->stats : unknown_kernels(engine_);
  stats.launched(decision_.home < 0 ? 0 : decision_.home, false);
  stats.stayed(decision_.reason);
}

void count_at_home(Engine& engine, CUfunction function) noexcept {
  KernelStats* stats = engine.registry().stats_of(function);
  // Where nothing moves, the GPU of the context is the GPU of the launch; asking for it costs less than the launch.
  const int device = current_device();
  (stats != nullptr ? *stats : unknown_kernels(engine)).launched(device < 0 ? 0 : device, false);
}

}  // namespace tessera::interpose
