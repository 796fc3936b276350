// The driver's own entry points: typed, found on first use.
//
// One enumerator an entry point: those that we wrap (hooks.def) and those that we only call (calls.def). Types come from
// cudaTypedefs.h by stem, version and variant; a row whose type isn't that of the exported symbol doesn't compile.
// Invariant: a pointer found here is never one of our own wrappers. No lock is held while the driver is looked up or called.
// Threads: any; looking up twice at once finds the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "interpose/resolve/cuda_api.h"

namespace tessera::interpose {

enum class Entry : std::uint16_t {
#define TESSERA_HOOK(symbol, stem, since, variant) symbol,
#define TESSERA_CALL TESSERA_HOOK
#include "interpose/hooks.def"
#include "interpose/resolve/calls.def"
#undef TESSERA_CALL
#undef TESSERA_HOOK
  count
};
inline constexpr std::size_t entry_count = static_cast<std::size_t>(Entry::count);

template <Entry E>
struct EntryType;
#define TESSERA_HOOK(symbol, stem, since, variant)                                                                        \
  template <>                                                                                                             \
  struct EntryType<Entry::symbol> {                                                                                       \
    using Pointer = PFN_##stem##_v##since##variant;                                                                       \
    static_assert(std::is_same_v<Pointer, decltype(&::symbol)>, #symbol ": this version doesn't name the symbol's type"); \
  };
#define TESSERA_CALL TESSERA_HOOK
#include "interpose/hooks.def"
#include "interpose/resolve/calls.def"
#undef TESSERA_CALL
#undef TESSERA_HOOK

struct EntryRow {
  std::string_view symbol;
  std::string_view stem;
  int since;
  std::string_view variant;  // "", "_ptds", "_ptsz"
  bool hooked;
};
[[nodiscard]] const EntryRow& row_of(Entry entry);

// The driver's function, or null where this driver has none of that name.
[[nodiscard]] void* real_address(Entry entry) noexcept;

template <Entry E>
[[nodiscard]] typename EntryType<E>::Pointer real() noexcept {
  return reinterpret_cast<typename EntryType<E>::Pointer>(real_address(E));
}

// Calls the driver; without a driver the answer is CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
template <Entry E, typename... Args>
CUresult call(Args... args) noexcept {
  const auto function = real<E>();
  return function == nullptr ? CUDA_ERROR_SHARED_OBJECT_INIT_FAILED : function(args...);
}

}  // namespace tessera::interpose
