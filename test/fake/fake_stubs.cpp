// A function for every hooked name, told apart by its address; what fake_driver.cpp defines replaces the one here. cuda.h isn't included,
// so that all of them can have one form: integer arguments are passed alike.
#include <cstring>
#include <string_view>

#include "test/fake/fake_driver.h"

void fake_note(const char* symbol);

#define TESSERA_HOOK(symbol, stem, since, variant)                                          \
  extern "C" __attribute__((weak, visibility("default"))) int symbol(void*, void*, void*) { \
    fake_note(#symbol);                                                                     \
    return 0;                                                                               \
  }
#include "interpose/hooks.def"
#undef TESSERA_HOOK

// Two that aren't hooked and changed their form under one name.
extern "C" {
__attribute__((visibility("default"))) int cuMemAdvise(void*, void*, void*) {
  fake_note("cuMemAdvise");
  return 0;
}
__attribute__((visibility("default"))) int cuMemAdvise_v2(void*, void*, void*) {
  fake_note("cuMemAdvise_v2");
  return 0;
}
}

namespace {

struct Row {
  std::string_view symbol, stem;
  int since;
  bool per_thread;
  void* address;
};
const Row rows[] = {
#define TESSERA_HOOK(symbol, stem, since, variant) {#symbol, #stem, since, #variant[0] != '\0', reinterpret_cast<void*>(&symbol)},
#include "interpose/hooks.def"
#undef TESSERA_HOOK
    {"cuMemAdvise", "cuMemAdvise", 8000, false, reinterpret_cast<void*>(&cuMemAdvise)},
    {"cuMemAdvise_v2", "cuMemAdvise", 12020, false, reinterpret_cast<void*>(&cuMemAdvise_v2)},
};

}  // namespace

extern "C" const char* fake_answer(const char* stem, int version, unsigned long long flags) {
  const bool per_thread = (flags & 2) != 0;
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.stem != stem || row.since > version || (row.per_thread && !per_thread)) continue;
    if (best == nullptr || row.per_thread > best->per_thread || (row.per_thread == best->per_thread && row.since > best->since))
      best = &row;
  }
  return best == nullptr ? nullptr : best->symbol.data();
}

extern "C" void* fake_address(const char* symbol) {
  for (const Row& row : rows) {
    if (row.symbol == symbol) return row.address;
  }
  return nullptr;
}
