// Is a text JSON that may be handed to a parser which recurses, takes the last of repeated keys, and rounds whole numbers silently?
//
// Checked, each with one clear error: empty; gzip, UTF-16 or a byte order mark in front; nesting above a limit (found before anything
// recurses); syntax, NaN and Infinity among it; repeated keys; whole numbers beyond ±2⁵³; numbers too large for a double.
// Places: line and column, or a JSON pointer (RFC 6901) where only the parsed structure is known.
// Ownership: nothing is kept. Threads: pure function.
#pragma once

#include <string_view>

#include "profiles/base/result.h"

namespace tessera {

inline constexpr unsigned deepest_json = 64;

// `where` names the text in errors (a file name). Error bad_data.
Status guard_json(std::string_view text, std::string_view where, unsigned deepest = deepest_json);

}  // namespace tessera
