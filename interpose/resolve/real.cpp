#include "interpose/resolve/real.h"

#include <array>

#include "interpose/resolve/driver.h"

namespace tessera::interpose {
namespace {

constexpr EntryRow rows[] = {
#define TESSERA_HOOK(symbol, stem, since, variant) {#symbol, #stem, since, #variant, true},
#define TESSERA_CALL(symbol, stem, since, variant) {#symbol, #stem, since, #variant, false},
#include "interpose/hooks.def"
#include "interpose/resolve/calls.def"
#undef TESSERA_CALL
#undef TESSERA_HOOK
};

// Absent is remembered too: a driver doesn't grow names.
char absent_marker;
std::array<std::atomic<void*>, entry_count> found{};

}  // namespace

const EntryRow& row_of(Entry entry) { return rows[static_cast<std::size_t>(entry)]; }

void* real_address(Entry entry) noexcept {
  std::atomic<void*>& slot = found[static_cast<std::size_t>(entry)];
  void* known = slot.load(std::memory_order_acquire);
  if (known == nullptr) {
    if (driver::handle(true) == nullptr) return nullptr;
    known = driver::symbol(row_of(entry).symbol.data());
    if (known == nullptr) known = &absent_marker;
    slot.store(known, std::memory_order_release);
  }
  return known == &absent_marker ? nullptr : known;
}

}  // namespace tessera::interpose
