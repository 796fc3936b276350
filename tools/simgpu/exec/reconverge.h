// Where the lanes of a warp are, when they aren't all in one place.
//
// Lanes at the same place form a Split. One split runs at a time; at each basic block it merges with those that wait there, and gives way
// to one that is further behind. Code is laid out so that a smaller program counter is further behind (order.h: loop bodies before what
// follows them, both arms before their meeting point), hence lanes meet at the immediate post-dominator of the branch that parted them,
// or earlier. A split that has run `patience` blocks while others were ready gives way to the one that waited longest, so that a lane that
// spins on another's lock doesn't starve it: independent thread scheduling is this rule with patience as its only setting.
// Invariant: masks are disjoint and nonempty, their union is Warp::alive; check() names the first violated sentence.
// Threads: belongs to its warp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/simgpu/exec/op.h"

namespace tessera::simgpu {

enum class SplitState : std::uint8_t {
  ready,
  at_sync,     // waits in front of a warp-wide op for the other lanes of its mask
  released,    // ready, and that op may run now
  at_barrier,  // waits at a block barrier
};

struct Split {
  std::uint32_t activation = 0;
  std::uint32_t depth = 0;  // of calls: deeper ones run first
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  std::uint32_t wanted = 0;  // at_sync: lanes that must come; at_barrier: barrier number
  std::uint32_t waited = 0;  // when it was last put back, for fairness
  SplitState state = SplitState::ready;
};

class Splits {
 public:
  static constexpr std::uint32_t patience = 8192;  // blocks

  void reset(std::uint32_t mask);
  [[nodiscard]] unsigned size() const { return count_; }
  [[nodiscard]] Split& operator[](unsigned i) { return rows_[i]; }
  [[nodiscard]] const Split& operator[](unsigned i) const { return rows_[i]; }
  // Adds a split, merging it with one that is ready at the same place. Returns the index of where the lanes are now.
  unsigned put(const Split& split);
  // Removes row i; the last row takes its index.
  void remove(unsigned i);
  // The ready split that should run: deepest call first, then smallest pc. -1 when none is ready.
  [[nodiscard]] int next() const;
  // Of the ready ones but `except`, the one that waited longest. -1 when there is none.
  [[nodiscard]] int longest_waiting(unsigned except) const;
  // Merges every ready split at (activation, pc) of row i into it; returns its index afterwards.
  unsigned gather(unsigned i);
  // Frees the splits that wait for a set of lanes which now all wait (lanes not in `alive` aren't waited for). True if any was freed.
  bool release_syncs(std::uint32_t alive);
  void touch(unsigned i) { rows_[i].waited = ++clock_; }
  [[nodiscard]] std::string check(std::uint32_t alive) const;

 private:
  std::array<Split, warp_size> rows_{};
  unsigned count_ = 0;
  std::uint32_t clock_ = 0;
};

}  // namespace tessera::simgpu
