// Any bytes as a profile database: refused with a place, or a database that keeps its invariant and survives writing and merging.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "profiles/database_json.h"

namespace {

void require(bool holds, const char* what, const std::string& detail) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const auto database = parse_database({reinterpret_cast<const char*>(data), size}, "input");
  if (!database.ok()) {
    require(database.error().code == ErrorCode::bad_data, "code", database.error().message());
    require(database.error().where.find("input") == 0, "place", database.error().message());
    return 0;
  }
  require(database->violation().empty(), "invariant", database->violation());
  const std::string text = write_database(*database);
  const auto again = parse_database(text, "written");
  require(again.ok(), "written text is refused", text);
  require(*again == *database, "round trip", text);
  Database twice = *database;
  twice.merge(*again);
  require(twice == *database, "merging with itself", text);
  return 0;
}
