#include "tools/simgpu/sched/races.h"

#include <fmt/core.h>

#include <algorithm>

namespace tessera::simgpu {
namespace {

void merge(OrderClock& into, const OrderClock& other) {
  for (const auto& [line, tick] : other) into[line] = std::max(into[line], tick);
}

std::string name_of(const Operation& o) {
  const std::string where = o.device < 0 ? "the host" : fmt::format("GPU {}", o.device);
  const std::string what = o.kind == OperationKind::kernel ? "kernel " + o.name : o.name;
  return fmt::format("{} (operation {} on {}, stream {})", what, o.number, where, o.stream);
}

}  // namespace

std::string Race::text() const {
  return fmt::format("race on bytes [{:#x}, {:#x}): {}, and {}; nothing orders the two", lo, hi, first, second);
}

void Races::submitted(Operation& operation) {
  OrderClock clock = host_;
  for (const OperationPtr& a : operation.after) {
    if (a->clock != nullptr) merge(clock, *a->clock);
  }
  operation.line = operation.stream != 0 ? operation.stream : next_private_line_++;
  clock[operation.line] = ++ticks_[operation.line];
  operation.clock = std::make_shared<const OrderClock>(std::move(clock));
}

void Races::host_waited_for(const Operation& operation) {
  if (operation.clock != nullptr) merge(host_, *operation.clock);
}

bool Races::ordered(const Stamp& a, const Stamp& b) {
  const auto covers = [](const Stamp& later, const Stamp& earlier) {
    const auto found = later.clock->find(earlier.line);
    return found != later.clock->end() && found->second >= earlier.tick;
  };
  return covers(a, b) || covers(b, a);
}

// Makes `at` the beginning of a cell, if it lies inside one.
void Races::split(std::uint64_t at) {
  auto next = cells_.upper_bound(at);
  if (next == cells_.begin()) return;
  auto cell = std::prev(next);
  if (cell->first == at || cell->second.hi <= at) return;
  Cell upper = cell->second;
  cell->second.hi = at;
  cells_.emplace(at, std::move(upper));
}

void Races::check(const StampPtr& mine, const char* mine_does, const StampPtr& other, const char* other_does, std::uint64_t lo,
                  std::uint64_t hi) {
  if (other == nullptr || other->number == mine->number || ordered(*mine, *other)) return;
  const bool swap = other->number < mine->number;
  const Stamp &first = swap ? *other : *mine, &second = swap ? *mine : *other;
  if (!reported_.insert({first.number, second.number}).second) return;
  found_.push_back({first.name + (swap ? other_does : mine_does), second.name + (swap ? mine_does : other_does), lo, hi});
}

void Races::visit(Cell& cell, std::uint64_t lo, const StampPtr& stamp, std::uint8_t kinds) {
  const bool reads = (kinds & touched_read) != 0, writes = (kinds & touched_written) != 0, atomic = (kinds & touched_atomic) != 0;
  const char* does = writes ? " writes them" : atomic ? " updates them" : " reads them";
  check(stamp, does, cell.writer, " writes them", lo, cell.hi);
  if (writes || atomic) {
    for (const StampPtr& r : cell.readers) check(stamp, does, r, " reads them", lo, cell.hi);
  }
  if (writes || reads) {
    for (const StampPtr& a : cell.atomics) check(stamp, does, a, " updates them", lo, cell.hi);
  }
  if (writes) {
    // Who is unordered with an earlier one that we forget now is unordered with us as well, or ordered by us.
    cell = Cell{cell.hi, stamp, {}, {}};
    return;
  }
  auto& list = atomic ? cell.atomics : cell.readers;
  std::erase_if(list, [&](const StampPtr& old) {
    const auto found = stamp->clock->find(old->line);
    return found != stamp->clock->end() && found->second >= old->tick;
  });
  list.push_back(stamp);
}

void Races::touched(const Operation& operation, const std::vector<TouchedRange>& ranges) {
  if (operation.clock == nullptr || ranges.empty()) return;
  const auto stamp = std::make_shared<const Stamp>(
      Stamp{operation.number, operation.line, operation.clock->at(operation.line), name_of(operation), operation.clock});
  for (const TouchedRange& range : ranges) {
    split(range.lo);
    split(range.hi);
    std::uint64_t at = range.lo;
    for (auto cell = cells_.lower_bound(range.lo); at < range.hi; ++cell) {
      if (cell == cells_.end() || cell->first > at) {  // a gap: nobody has touched it
        const std::uint64_t end = cell == cells_.end() ? range.hi : std::min(range.hi, cell->first);
        cell = cells_.emplace(at, Cell{end, nullptr, {}, {}}).first;
      }
      visit(cell->second, cell->first, stamp, range.kinds);
      at = cell->second.hi;
    }
  }
}

void Races::forget(std::uint64_t lo, std::uint64_t hi) {
  split(lo);
  split(hi);
  cells_.erase(cells_.lower_bound(lo), cells_.lower_bound(hi));
}

}  // namespace tessera::simgpu
