#include "tools/simgpu/exec/residents.h"

#include <utility>

namespace tessera::simgpu {

void BlockOutputs::add(std::uint64_t block, std::string text) {
  if (text.empty()) return;
  const std::lock_guard lock(mutex_);
  texts_.emplace(block, std::move(text));
}

std::string BlockOutputs::join() const {
  std::string all;
  for (const auto& [block, text] : texts_) all += text;
  return all;
}

Residents::Residents(LaunchState& state, BlockOutputs& outputs, Turns turns, Next next)
    : state_(state), outputs_(outputs), turns_(turns), next_(std::move(next)) {}

bool Residents::admit() {
  const auto block = exhausted_ ? std::nullopt : next_();
  if (!block) {
    exhausted_ = true;
    return false;
  }
  if (idle_.empty()) idle_.push_back(std::make_unique<Cta>(state_, sectors_));
  running_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  running_.back()->begin(*block);
  return true;
}

bool Residents::step() {
  if (turns_.all_at_once) {
    while (admit()) {
    }
  } else if (running_.empty() || waited_ >= turns_.patience) {
    admit();
    waited_ = 0;
  }
  ++waited_;
  for (std::size_t i = 0; i < running_.size();) {
    if (running_[i]->run_once(turns_.length) == Cta::Progress::running) {
      ++i;
      continue;
    }
    outputs_.add(running_[i]->number, std::exchange(running_[i]->output, {}));
    idle_.push_back(std::move(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    waited_ = 0;
  }
  return !running_.empty() || !exhausted_;
}

Counters Residents::counters() const {
  Counters all;
  for (const auto* list : {&running_, &idle_}) {
    for (const auto& cta : *list) all += cta->counters();
  }
  return all;
}

}  // namespace tessera::simgpu
