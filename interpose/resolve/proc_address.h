// From an address that the driver answered to our wrapper for exactly that function: "ask first, then map".
//
// The table is made from what the driver itself says: for each row of hooks.def its dlsym answer and its cuGetProcAddress answer.
// Invariant: an address that the table doesn't hold comes back as it is; so nothing is claimed by its name, and an ABI that we don't
// wrap stays the driver's. Where a driver answers several names with one address, only the row of the name asked for is taken.
// Threads: any; no lock is held while the driver is asked.
#pragma once

#include <string_view>

namespace tessera::interpose {

// `name` is what the program asked for: a symbol (dlsym) or a stem (cuGetProcAddress).
[[nodiscard]] void* wrapper_for(std::string_view name, void* answered) noexcept;

// Is `name` an exported symbol of hooks.def?
[[nodiscard]] bool is_hooked_symbol(std::string_view name) noexcept;

}  // namespace tessera::interpose
