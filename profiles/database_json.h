// The profile database as a JSON file: reading with the place of any damage, writing so that a reader never sees half a file.
//
// Format: docs/file-formats.md and profiles/schema/profile.schema.json, schema_version 1. Unknown keys are ignored; an unknown
// schema version, a repeated key, a value of the wrong type, a number as text, a whole number above 2⁵³, more than 64 levels of nesting,
// and whatever isn't JSON (a byte order mark, gzip, NaN) are errors that name the place (line and column, or JSON pointer). Invariant:
// parse(write(d)) == d, and write() gives equal databases equal bytes. Ownership: values. Threads: pure functions; saving is safe against
// readers and, one at a time, against other writers.
#pragma once

#include <string>
#include <string_view>

#include "profiles/base/result.h"
#include "profiles/database.h"

namespace tessera {

inline constexpr int profile_schema_version = 1;

// `where` names the text in errors (a file name). Error bad_data.
[[nodiscard]] Result<Database> parse_database(std::string_view json, std::string_view where);
[[nodiscard]] std::string write_database(const Database& database);

// Error not_found when the file isn't there, environment when it can't be read, bad_data when it isn't a sound database.
[[nodiscard]] Result<Database> load_database(const std::string& path);

// Writes a temporary file beside `path`, syncs it and renames it over `path`: a crash leaves the old file or the new one. An existing file
// keeps its mode; a symbolic link is not followed but refused. Error environment.
Status save_database(const Database& database, const std::string& path);

}  // namespace tessera
