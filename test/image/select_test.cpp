#include "placement/image/select.h"

#include <catch2/catch.hpp>

using namespace tessera::image;

namespace {

Entry make(EntryKind kind, unsigned sm, char suffix = '\0') {
  Entry e;
  e.kind = kind;
  e.sm = sm;
  e.arch_suffix = suffix;
  return e;
}
const EntryKind code = EntryKind::cubin, text = EntryKind::ptx;

}  // namespace

TEST_CASE("what runs where follows the rules of compute capabilities") {
  struct Row {
    Entry entry;
    unsigned sm;
    bool runs;
  };
  const Row rows[] = {
      {make(code, 80), 80, true},
      {make(code, 80), 86, true},
      {make(code, 86), 80, false},
      {make(code, 80), 90, false},
      {make(code, 75), 80, false},
      {make(text, 75), 120, true},
      {make(text, 80), 75, false},
      {make(text, 80), 80, true},
      {make(code, 90, 'a'), 90, true},
      {make(text, 90, 'a'), 90, true},
      {make(text, 90, 'a'), 100, false},
      {make(code, 100, 'a'), 103, false},
      {make(code, 100, 'f'), 103, true},
      {make(code, 100, 'f'), 120, false},
      {make(text, 100, 'f'), 103, true},
      {make(text, 100, 'f'), 120, false},
      {make(code, 100), 120, false},
      {make(EntryKind::lto_ir, 80), 80, false},
      {make(EntryKind::other, 80), 80, false},
  };
  for (const Row& r : rows) {
    INFO(static_cast<int>(r.entry.kind) << " sm_" << r.entry.sm << r.entry.arch_suffix << " on " << r.sm);
    CHECK(runs_on(r.entry, r.sm) == r.runs);
  }
}

TEST_CASE("machine code goes before text, the nearest before the farther") {
  const std::vector<Entry> entries = {make(text, 75), make(code, 80), make(text, 90), make(code, 86), make(code, 90, 'a'), make(text, 120)};
  const auto chosen = [&](unsigned sm) {
    return best_for(entries, sm) == nullptr ? -1 : static_cast<int>(best_for(entries, sm) - entries.data());
  };
  CHECK(chosen(80) == 1);
  CHECK(chosen(86) == 3);
  CHECK(chosen(89) == 3);
  CHECK(chosen(90) == 4);
  CHECK(chosen(75) == 0);
  CHECK(chosen(100) == 2);
  CHECK(chosen(120) == 5);
  CHECK(chosen(70) == -1);
  CHECK(best_ptx_for(entries, 86) == &entries[0]);
  CHECK(best_ptx_for(entries, 90) == &entries[2]);
  CHECK(best_for({}, 80) == nullptr);
}
