// Text of PTX -> Module.
//
// parse() never fails as a whole: a statement that it cannot read costs the function in which it stands (Function::broken, and a
// Diagnostic with line, column, what was found and what was expected), never the file. Callers that act on a kernel must test
// `broken` first: its instructions are then incomplete.
// Invariant: check(parse(any bytes)) == "". Time is linear in the text; memory is bounded by a fixed multiple of it; nothing recurses
// on the depth of the input. A NUL in the text ends it (images end so).
// Units: bytes of text, lines and columns from 1. Ownership: the Module owns copies, the text may go away; an EntryIndex's
// name points into the text. Threads: pure functions.
// Source of the language: NVIDIA "Parallel Thread Execution ISA", versions 1.0 to 9.x.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "placement/ptx/ir.h"
#include "profiles/base/result.h"

namespace tessera::ptx {

struct ParseOptions {
  // Bodies are read only of functions so named; others get their signature, and Function::body_skipped. Empty = all bodies.
  // (Before PTX 1.4 a kernel's parameters stood in its body, and are skipped with it.)
  std::span<const std::string_view> only_bodies_of = {};
  // Diagnostics kept per function; `broken` is set whether or not one was kept.
  std::size_t diagnostics_per_function = 16;
};

[[nodiscard]] Module parse(std::string_view text, const ParseOptions& options = {});

// The same, but the first diagnostic becomes an Error (bad_data, where = "line:column").
[[nodiscard]] Result<Module> parse_strict(std::string_view text);

// A .entry or .func with a body, found without parsing it.
struct EntryIndex {
  std::string_view name;
  bool is_entry = false;
  std::size_t begin = 0, end = 0;  // text range from the first of its directives (.visible …) to behind its closing brace
  std::uint32_t line = 0;          // of `begin`
};

// In text order; an unclosed body runs to the end of the text. Far faster than parse(): for choosing what to parse.
[[nodiscard]] std::vector<EntryIndex> index_entries(std::string_view text);

}  // namespace tessera::ptx
