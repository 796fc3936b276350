// Sets of touched bytes, and the search for races, each against a model that keeps one entry a byte.
#include "tools/simgpu/sched/races.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tools/simgpu/machine/random.h"

using namespace tessera::simgpu;

TEST_CASE("the ranges of a set of touched bytes are what was added, sorted, merged") {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    Touched touched;
    std::map<std::uint64_t, std::uint8_t> model;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t address = 4000 + random.below(9000), bytes = 1 + random.below(i % 5 == 0 ? 6000 : 16);
      const auto kinds = static_cast<std::uint8_t>(1 + random.below(7));
      touched.add(address, bytes, kinds);
      for (std::uint64_t b = address; b < address + bytes; ++b) model[b] = static_cast<std::uint8_t>(model[b] | kinds);
    }
    std::map<std::uint64_t, std::uint8_t> seen;
    const auto ranges = touched.ranges();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      for (std::uint64_t b = ranges[i].lo; b < ranges[i].hi; ++b) seen[b] = ranges[i].kinds;
      if (i > 0) CHECK((ranges[i - 1].hi < ranges[i].lo || (ranges[i - 1].hi == ranges[i].lo && ranges[i - 1].kinds != ranges[i].kinds)));
    }
    CHECK(seen == model);
  }
}

namespace {

struct Model {
  std::vector<OperationPtr> all;
  std::map<const Operation*, std::set<const Operation*>> behind;  // everything that comes before, directly or not
  std::map<const Operation*, std::vector<TouchedRange>> touched;

  [[nodiscard]] bool ordered(const OperationPtr& a, const OperationPtr& b) const {
    return behind.at(a.get()).count(b.get()) != 0 || behind.at(b.get()).count(a.get()) != 0;
  }
  static bool conflict(const TouchedRange& a, const TouchedRange& b) {
    if (a.lo >= b.hi || b.lo >= a.hi) return false;
    const std::uint8_t any = a.kinds | b.kinds;
    if ((any & touched_written) != 0) return true;
    const auto only = [](const TouchedRange& r, std::uint8_t kind) { return (r.kinds & ~kind) == 0; };
    return !(only(a, touched_read) && only(b, touched_read)) && !(only(a, touched_atomic) && only(b, touched_atomic));
  }
  [[nodiscard]] bool any_race() const {
    for (const auto& a : all) {
      for (const auto& b : all) {
        if (a->number >= b->number || ordered(a, b)) continue;
        for (const TouchedRange& x : touched.at(a.get())) {
          for (const TouchedRange& y : touched.at(b.get())) {
            if (conflict(x, y)) return true;
          }
        }
      }
    }
    return false;
  }
};

}  // namespace

TEST_CASE("a race is found exactly where the order leaves two conflicting operations unordered") {
  int with = 0, without = 0;
  for (std::uint64_t round = 1; round <= 400; ++round) {
    Random random(round);
    Races races;
    Model model;
    std::map<std::uint64_t, OperationPtr> last;
    std::set<const Operation*> host_knows;
    const std::uint64_t streams = 1 + random.below(3), operations = 2 + random.below(7);
    for (std::uint64_t n = 1; n <= operations; ++n) {
      auto o = std::make_shared<Operation>();
      o->number = n;
      o->stream = 1 + random.below(streams);
      if (last[o->stream] != nullptr) o->after.push_back(last[o->stream]);
      if (!model.all.empty() && random.once_in(2)) o->after.push_back(model.all[random.below(model.all.size())]);
      std::set<const Operation*> behind = host_knows;
      for (const OperationPtr& a : o->after) {
        behind.insert(a.get());
        behind.insert(model.behind[a.get()].begin(), model.behind[a.get()].end());
      }
      model.behind[o.get()] = behind;
      races.submitted(*o);
      last[o->stream] = o;
      model.all.push_back(o);
      if (random.once_in(4)) {  // the host waits for somebody
        const OperationPtr& known = model.all[random.below(model.all.size())];
        races.host_waited_for(*known);
        host_knows.insert(known.get());
        host_knows.insert(model.behind[known.get()].begin(), model.behind[known.get()].end());
      }
    }
    // They run in an arbitrary order that respects theirs.
    std::set<const Operation*> done;
    while (done.size() < model.all.size()) {
      const OperationPtr& o = model.all[random.below(model.all.size())];
      bool ready = done.count(o.get()) == 0;
      for (const Operation* b : model.behind[o.get()]) ready = ready && done.count(b) != 0;
      if (!ready) continue;
      Touched touched;
      for (std::uint64_t i = random.below(3); i > 0; --i)
        touched.add(random.below(60), 1 + random.below(10), static_cast<std::uint8_t>(1u << random.below(3)));
      model.touched[o.get()] = touched.ranges();
      races.touched(*o, touched.ranges());
      done.insert(o.get());
    }
    INFO("round " << round);
    CHECK(races.found().empty() != model.any_race());
    (races.found().empty() ? without : with)++;
  }
  CHECK(with > 40);
  CHECK(without > 40);
}

TEST_CASE("memory that was given out anew has no past") {
  Races races;
  for (std::uint64_t n = 1; n <= 2; ++n) {
    Operation o;
    o.number = n;
    o.stream = n;
    races.submitted(o);
    races.touched(o, {{100, 200, touched_written}});
    races.forget(100, 200);
  }
  CHECK(races.found().empty());
}
