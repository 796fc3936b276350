// The blocks of a launch that one thread runs: one after the other, and several in turns where they wait for each other.
//
// Invariant: a block that waits for one that hasn't begun (a lock, a flag, a look-back) makes progress, since another block
// begins when those that run have had many turns. Blocks begin in the order that `next` gives. Ownership: Ctas are reused, buffers and all.
// Threads: an object belongs to one thread; LaunchState and BlockOutputs are shared.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/simgpu/exec/cta.h"

namespace tessera::simgpu {

// What the blocks printed, put together in their order.
class BlockOutputs {
 public:
  void add(std::uint64_t block, std::string text);
  [[nodiscard]] std::string join() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> texts_;
};

struct Turns {
  std::uint64_t length = 16384;  // basic blocks that a warp runs before the next one has its turn
  unsigned patience = 8;         // turns of all that run before another block begins beside them
  bool all_at_once = false;      // every block begins before any has its turn
};

class Residents {
 public:
  using Next = std::function<std::optional<std::uint64_t>()>;
  Residents(LaunchState& state, BlockOutputs& outputs, Turns turns, Next next);
  // Lets every block that runs have a turn; false when all have ended and none is left to begin.
  bool step();
  [[nodiscard]] Counters counters() const;  // without those of distinct sectors
  [[nodiscard]] const Sectors& sectors() const { return sectors_; }

 private:
  bool admit();

  LaunchState& state_;
  BlockOutputs& outputs_;
  const Turns turns_;
  Next next_;
  Sectors sectors_;
  bool exhausted_ = false;
  unsigned waited_ = 0;
  std::vector<std::unique_ptr<Cta>> running_, idle_;
};

}  // namespace tessera::simgpu
