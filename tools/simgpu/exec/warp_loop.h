// The loop that runs a warp: straight-line ops through their handlers, control flow by itself.
// Threads: belongs to its block.
#pragma once

#include "tools/simgpu/exec/cta.h"

namespace tessera::simgpu {

class WarpLoop {
 public:
  WarpLoop(Cta& cta, Cta::WarpState& state) : cta_(cta), state_(state), w_(state.warp), splits_(state.warp.splits) {}
  // Runs at most about `turn` basic blocks; returns when the warp has ended, waits, yields or has faulted (Warp::stopped).
  void run(std::uint64_t turn);

 private:
  enum class Next : std::uint8_t { go_on, reschedule, leave };
  void load(unsigned row);
  void save() {
    splits_[row_].pc = pc_;
    splits_[row_].mask = w_.active;
  }
  Next control(const Op& op);
  Next at_block(const Op& op);
  Next branch(const Op& op, std::uint32_t taken);
  Next branch_indexed(const Op& op);
  Next call(const Op& op);
  Next ret(std::uint32_t lanes);
  Next exit(std::uint32_t lanes);
  Next barrier(const Op& op);
  Next warp_sync(const Op& op);
  Next yield();
  // The lanes of `leaving` are no longer in the running split; the others go on behind the op.
  Next without(std::uint32_t leaving);

  Cta& cta_;
  Cta::WarpState& state_;
  Warp& w_;
  Splits& splits_;
  unsigned row_ = 0;  // of the running split
  std::uint32_t pc_ = 0;
  const Op* ops_ = nullptr;
  bool released_ = false;  // the warp-wide op at hand needn't wait any more
  std::uint64_t turn_ = 0;
  std::uint64_t ran_ = 0;  // blocks since the running split was chosen
  bool pinned_ = false;    // chosen out of turn: keeps running for a while
};

}  // namespace tessera::simgpu
