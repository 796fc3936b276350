#include "tools/simgpu/sched/scheduler.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace tessera::simgpu {
namespace {

constexpr std::size_t queue_limit = 512;  // in any order, more than these aren't left waiting

}  // namespace

Result<std::optional<std::uint64_t>> Scheduler::order_of(std::string_view text) {
  if (text.empty() || text == "program") return std::optional<std::uint64_t>{};
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return std::optional{seed};
  return Error{ErrorCode::usage, "not an order: \"" + std::string(text) + "\"", "TESSERA_SIM_ORDER",
               "write program, or a number as the seed"};
}

void Scheduler::set_order(std::optional<std::uint64_t> seed) {
  any_order_ = seed.has_value();
  random_ = Random(seed.value_or(0));
}

bool Scheduler::ready(const Operation& operation) {
  return operation.state == Operation::State::waiting &&
         std::all_of(operation.after.begin(), operation.after.end(), [](const OperationPtr& a) { return a->ended(); });
}

void Scheduler::end(const OperationPtr& operation) {
  operation->span = clock_.place(operation->engines, earliest_begin(*operation), operation->duration);
  operation->after.clear();
  operation->work = nullptr;
  operation->state = Operation::State::ended;
  pending_.remove(operation);
  lock_.wake();
  tell(on_end, *operation);
}

bool Scheduler::run(const OperationPtr& operation, bool partly) {
  operation->state = Operation::State::running;
  const Step step = operation->work ? operation->work(*operation, partly ? &random_ : nullptr) : Step::ended;
  operation->state = Operation::State::waiting;
  if (step == Step::ended) end(operation);
  return step != Step::blocked;
}

bool Scheduler::run_in_order() {
  bool progress = false;
  for (auto at = pending_.begin(); at != pending_.end();) {
    const OperationPtr operation = *at;
    if (ready(*operation) && run(operation, false)) {
      progress = true;
      at = pending_.begin();
    } else {
      ++at;
    }
  }
  return progress;
}

std::vector<OperationPtr> Scheduler::all_ready() const {
  std::vector<OperationPtr> found;
  std::copy_if(pending_.begin(), pending_.end(), std::back_inserter(found), [](const OperationPtr& o) { return ready(*o); });
  return found;
}

std::vector<OperationPtr> Scheduler::ready_before(const OperationPtr& last) const {
  std::vector<OperationPtr> found, stack{last};
  std::unordered_set<const Operation*> seen{last.get()};
  while (!stack.empty()) {
    const OperationPtr at = std::move(stack.back());
    stack.pop_back();
    if (ready(*at)) found.push_back(at);
    for (const OperationPtr& a : at->after) {
      if (!a->ended() && seen.insert(a.get()).second) stack.push_back(a);
    }
  }
  // By number: the order in `after` may come from addresses, which differ from run to run.
  std::sort(found.begin(), found.end(), [](const OperationPtr& a, const OperationPtr& b) { return a->number < b->number; });
  return found;
}

// False when none of them can do anything.
bool Scheduler::run_one_of(const std::vector<OperationPtr>& choice) {
  if (choice.empty()) return false;
  const std::size_t first = random_.below(choice.size());
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const OperationPtr& chosen = choice[(first + i) % choice.size()];
    if (ready(*chosen) && run(chosen, true)) return true;
  }
  return false;
}

bool Scheduler::advance(const OperationPtr& towards) {
  if (!any_order_) return run_in_order();
  if (random_.once_in(4) && run_one_of(all_ready())) return true;
  return run_one_of(ready_before(towards)) || run_one_of(all_ready());
}

void Scheduler::submit(const OperationPtr& operation) {
  operation->number = next_number_++;
  tell(on_submit, *operation);
  pending_.push_back(operation);
  if (!any_order_) {
    run_in_order();
  } else if (pending_.size() > queue_limit) {
    run_until_ended(OperationPtr(pending_.front()));
  }
}

void Scheduler::run_until_ended(const OperationPtr& operation) {
  while (!operation->ended()) {
    if (!advance(operation)) lock_.wait();
  }
}

void Scheduler::finish(const OperationPtr& operation) {
  run_until_ended(operation);
  tell(on_waited, *operation);
}

void Scheduler::finish_all() {
  while (!pending_.empty()) {
    const OperationPtr oldest = pending_.front();
    finish(oldest);
  }
}

void Scheduler::drift() {
  if (pending_.empty()) return;
  if (!any_order_) {
    run_in_order();
    return;
  }
  for (std::uint64_t steps = random_.below(3); steps > 0; --steps) run_one_of(all_ready());
}

bool Scheduler::poll(const OperationPtr& operation) {
  if (!operation->ended() && (!any_order_ || random_.once_in(2))) advance(operation);
  if (operation->ended()) tell(on_waited, *operation);
  return operation->ended();
}

}  // namespace tessera::simgpu
