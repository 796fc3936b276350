#include "interpose/resolve/proc_address.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "interpose/resolve/driver.h"
#include "interpose/resolve/real.h"

namespace tessera::interpose {
namespace {

struct Hook {
  Entry entry;
  void* wrapper;
};
const Hook hooks[] = {
#define TESSERA_HOOK(symbol, stem, since, variant) {Entry::symbol, reinterpret_cast<void*>(&::symbol)},
#include "interpose/hooks.def"
#undef TESSERA_HOOK
};

// Symbols in order, for the exact allow-list; made by the compiler, so that a dlsym of another name costs a binary search and nothing else.
constexpr auto sorted_symbols = [] {
  std::array<std::string_view, std::size(hooks)> names = {
#define TESSERA_HOOK(symbol, stem, since, variant) std::string_view(#symbol),
#include "interpose/hooks.def"
#undef TESSERA_HOOK
  };
  std::sort(names.begin(), names.end());
  return names;
}();

struct Known {
  void* address;
  Entry entry;
  void* wrapper;
};
using Table = std::vector<Known>;
std::atomic<const Table*> table{nullptr};

cuuint64_t flags_of(const EntryRow& row) {
  return row.variant.empty() ? CU_GET_PROC_ADDRESS_LEGACY_STREAM : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
}

void* ask(const EntryRow& row) {
  void* answer = nullptr;
  CUdriverProcAddressQueryResult status{};
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (const auto v2 = real<Entry::cuGetProcAddress_v2>()) {
    result = v2(row.stem.data(), &answer, row.since, flags_of(row), &status);
  } else if (const auto v1 = real<Entry::cuGetProcAddress>()) {
    result = v1(row.stem.data(), &answer, row.since, flags_of(row));
  }
  return result == CUDA_SUCCESS ? answer : nullptr;
}

const Table* made_table() {
  if (const Table* known = table.load(std::memory_order_acquire)) return known;
  if (driver::handle(false) == nullptr) return nullptr;
  auto made = std::make_unique<Table>();
  for (const Hook& hook : hooks) {
    const EntryRow& row = row_of(hook.entry);
    void* exported = real_address(hook.entry);
    if (exported != nullptr) made->push_back({exported, hook.entry, hook.wrapper});
    if (void* answered = ask(row); answered != nullptr && answered != exported) made->push_back({answered, hook.entry, hook.wrapper});
  }
  std::stable_sort(made->begin(), made->end(), [](const Known& a, const Known& b) { return a.address < b.address; });
  const Table* expected = nullptr;
  if (table.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return made.release();
  return expected;
}

}  // namespace

void* wrapper_for(std::string_view name, void* answered) noexcept {
  try {
    const Table* known = made_table();
    if (known == nullptr) return answered;
    const auto by_address = [](const Known& a, const Known& b) { return a.address < b.address; };
    const auto [first, last] = std::equal_range(known->begin(), known->end(), Known{answered, Entry::count, nullptr}, by_address);
    if (first == last) return answered;
    void* wrapper = nullptr;
    unsigned matches = 0, distinct = 0;
    Entry seen = Entry::count;
    for (auto entry = first; entry != last; ++entry) {
      if (entry->entry != seen) ++distinct;
      seen = entry->entry;
      const EntryRow& row = row_of(entry->entry);
      if (row.symbol != name && row.stem != name) continue;
      if (wrapper != entry->wrapper) ++matches;
      wrapper = entry->wrapper;
    }
    if (distinct == 1) return first->wrapper;
    return matches == 1 ? wrapper : answered;
  } catch (const std::bad_alloc&) {
    return answered;
  }
}

bool is_hooked_symbol(std::string_view name) noexcept { return std::binary_search(sorted_symbols.begin(), sorted_symbols.end(), name); }

}  // namespace tessera::interpose
