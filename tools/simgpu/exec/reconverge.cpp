#include "tools/simgpu/exec/reconverge.h"

namespace tessera::simgpu {
namespace {

bool runnable(const Split& s) { return s.state == SplitState::ready || s.state == SplitState::released; }
bool same_place(const Split& a, const Split& b) { return a.activation == b.activation && a.pc == b.pc && a.state == b.state; }
bool before(const Split& a, const Split& b) { return a.depth != b.depth ? a.depth > b.depth : a.pc < b.pc; }

}  // namespace

void Splits::reset(std::uint32_t mask) {
  count_ = 1;
  clock_ = 0;
  rows_[0] = Split{};
  rows_[0].mask = mask;
}

unsigned Splits::put(const Split& split) {
  if (runnable(split)) {
    for (unsigned i = 0; i < count_; ++i) {
      if (!same_place(rows_[i], split)) continue;
      rows_[i].mask |= split.mask;
      return i;
    }
  }
  rows_[count_] = split;
  rows_[count_].waited = ++clock_;
  return count_++;
}

void Splits::remove(unsigned i) { rows_[i] = rows_[--count_]; }

int Splits::next() const {
  int best = -1;
  for (unsigned i = 0; i < count_; ++i) {
    if (runnable(rows_[i]) && (best < 0 || before(rows_[i], rows_[static_cast<unsigned>(best)]))) best = static_cast<int>(i);
  }
  return best;
}

int Splits::longest_waiting(unsigned except) const {
  int best = -1;
  for (unsigned i = 0; i < count_; ++i) {
    if (i == except || !runnable(rows_[i])) continue;
    if (best < 0 || rows_[i].waited < rows_[static_cast<unsigned>(best)].waited) best = static_cast<int>(i);
  }
  return best;
}

unsigned Splits::gather(unsigned i) {
  for (unsigned k = count_; k-- > 0;) {
    if (k == i || !same_place(rows_[k], rows_[i])) continue;
    rows_[i].mask |= rows_[k].mask;
    remove(k);
    if (i == count_) i = k;  // row i was the last one and has taken k's place
  }
  return i;
}

bool Splits::release_syncs(std::uint32_t alive) {
  std::uint32_t waiting = 0;
  for (unsigned i = 0; i < count_; ++i) {
    if (rows_[i].state == SplitState::at_sync) waiting |= rows_[i].mask;
  }
  bool freed = false;
  for (unsigned i = 0; i < count_; ++i) {
    if (rows_[i].state != SplitState::at_sync || (rows_[i].wanted & alive & ~waiting) != 0) continue;
    rows_[i].state = SplitState::released;
    freed = true;
  }
  if (freed) {
    for (unsigned i = 0; i < count_; ++i) i = gather(i);
  }
  return freed;
}

std::string Splits::check(std::uint32_t alive) const {
  std::uint32_t seen = 0;
  for (unsigned i = 0; i < count_; ++i) {
    if (rows_[i].mask == 0) return "a split is empty";
    if ((rows_[i].mask & seen) != 0) return "two splits share a lane";
    seen |= rows_[i].mask;
  }
  return seen == alive ? "" : "the splits aren't the living lanes";
}

}  // namespace tessera::simgpu
