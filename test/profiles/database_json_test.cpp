#include "profiles/database_json.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "profiles/json_guard.h"
#include "test/profiles/random_database.h"

using namespace tessera;
using tessera::testing::RandomDatabase;

namespace {

// A small sound database, to be damaged in one place.
nlohmann::json sound() {
  return nlohmann::json::parse(R"({
    "format": "tessera-profile", "schema_version": 1,
    "runs": {"00000000000000a1": {"started_unix_s": 1700000000, "tool_version": "0.1", "driver_version": "580", "simulated": false}},
    "devices": {"A100": {"model": "A100-SXM4-80GB", "compute_capability": "8.0", "sm_count": 108}},
    "records": [{"kernel": "k", "content_hash": "99aa06d3014798d86001c324468d497f", "grid": [4, 1, 1], "block": [128, 1, 1],
                 "dynamic_shared_bytes": 0, "device": "A100",
                 "samples": [{"run": "00000000000000a1", "count": 3, "min_s": 1e-6, "p50_s": 2e-6, "p90_s": 3e-6, "max_s": 3e-6,
                              "mean_s": 2e-6, "variance_s2": 5e-13, "registers": 32}]}]})");
}

std::string message(std::string_view text) {
  const auto result = parse_database(text, "p.json");
  return result.ok() ? "" : result.error().message();
}

bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

struct Damage {
  const char* pointer;
  const char* value;  // JSON; nullptr removes the member
  const char* said;
};

std::string damaged(const Damage& d) {
  nlohmann::json document = sound();
  const nlohmann::json::json_pointer pointer(d.pointer);
  if (d.value != nullptr)
    document[pointer] = nlohmann::json::parse(d.value);
  else
    document[pointer.parent_pointer()].erase(pointer.back());
  return document.dump();
}

}  // namespace

TEST_CASE("what is written reads back as the same database, and is written as the same bytes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomDatabase random(seed);
    Database a = random.make();
    a.merge(random.make());
    const std::string text = write_database(a);
    const auto back = parse_database(text, "p.json");
    INFO(text);
    REQUIRE(back.ok());
    CHECK(*back == a);
    CHECK(write_database(*back) == text);
    CHECK(back->violation().empty());
  }
  CHECK(parse_database(write_database({}), "p.json").value() == Database{});
}

TEST_CASE("the file holds what the schema asks for") {
  std::ifstream stream(TESSERA_PROFILE_SCHEMA);
  const auto schema = nlohmann::json::parse(stream);
  const auto& properties = schema["properties"];
  CHECK(properties["schema_version"]["const"] == profile_schema_version);
  RandomDatabase random(1);
  Database database;
  while (database.records().empty()) database.merge(random.make());
  const auto document = nlohmann::json::parse(write_database(database));
  const auto check = [](const nlohmann::json& object, const nlohmann::json& definition) {
    for (const auto& key : definition["required"]) CHECK(object.contains(key));
    for (const auto& [key, value] : object.items()) CHECK(definition["properties"].contains(key));
  };
  check(document, schema);
  for (const auto& run : document["runs"]) check(run, schema["$defs"]["run"]);
  for (const auto& device : document["devices"]) check(device, schema["$defs"]["device"]);
  for (const auto& record : document["records"]) {
    check(record, schema["$defs"]["record"]);
    for (const auto& sample : record["samples"]) check(sample, schema["$defs"]["sample"]);
  }
}

TEST_CASE("a key that the schema requires is required by the reader too, with its place") {
  std::ifstream stream(TESSERA_PROFILE_SCHEMA);
  const auto schema = nlohmann::json::parse(stream);
  REQUIRE(message(sound().dump()).empty());
  const std::pair<std::string, nlohmann::json> objects[] = {{"", schema},
                                                            {"/runs/00000000000000a1", schema["$defs"]["run"]},
                                                            {"/devices/A100", schema["$defs"]["device"]},
                                                            {"/records/0", schema["$defs"]["record"]},
                                                            {"/records/0/samples/0", schema["$defs"]["sample"]}};
  for (const auto& [pointer, definition] : objects) {
    for (const auto& key : definition["required"]) {
      const std::string name = key.get<std::string>();
      const std::string said = message(damaged({(pointer + "/" + name).c_str(), nullptr, ""}));
      INFO(pointer << " without " << name << ": " << said);
      CHECK((mentions(said, name)));
      CHECK((mentions(said, "p.json")));
    }
  }
}

TEST_CASE("each kind of damage is one line that says where") {
  const Damage all[] = {
      {"/schema_version", "2", "newer"},
      {"/schema_version", "0", "older"},
      {"/schema_version", "\"1\"", "/schema_version"},
      {"/schema_version", "1.0", "/schema_version"},
      {"/format", "\"other\"", "not a profile database"},
      {"/runs", "[]", "/runs"},
      {"/runs/xyz", "{}", "/runs/xyz"},
      {"/runs/00000000000000a1/simulated", "1", "/runs/00000000000000a1/simulated"},
      {"/runs/00000000000000a1/started_unix_s", "9007199254740993", "2^53"},
      {"/runs/00000000000000a1/tool_version", "\"a\\nb\"", "/runs/00000000000000a1"},
      {"/devices/A100/compute_capability", "8.0", "/devices/A100/compute_capability"},
      {"/devices/A100/compute_capability", "\"8\"", "/devices/A100/compute_capability"},
      {"/devices/A100/compute_capability", "\"1..\"", "/devices/A100/compute_capability"},
      {"/devices/A100/sm_count", "-1", "/devices/A100/sm_count"},
      {"/records", "{}", "/records"},
      {"/records/0", "7", "/records/0"},
      {"/records/0/kernel", "7", "/records/0/kernel"},
      {"/records/0/kernel", "\"\"", "/records/0/samples/0"},
      {"/records/0/content_hash", "\"12\"", "/records/0/content_hash"},
      {"/records/0/grid", "[1, 2]", "/records/0/grid"},
      {"/records/0/grid", "[1, 2, 4294967296]", "/records/0/grid"},
      {"/records/0/grid", "[1, 2, \"3\"]", "/records/0/grid"},
      {"/records/0/block", "[0, 1, 1]", "/records/0"},
      {"/records/0/device", "\"B100\"", "/records/0/device"},
      {"/records/0/samples", "[]", "/records/0/samples"},
      {"/records/0/samples/0/run", "\"00000000000000a2\"", "/records/0/samples/0/run"},
      {"/records/0/samples/0/count", "3.5", "/records/0/samples/0/count"},
      {"/records/0/samples/0/count", "\"3\"", "/records/0/samples/0/count"},
      {"/records/0/samples/0/count", "0", "/records/0/samples/0"},
      {"/records/0/samples/0/count", "9007199254740993", "/records/0/samples/0/count"},
      {"/records/0/samples/0/global_bytes", "99999999999999999999999", "/records/0/samples/0/global_bytes"},
      {"/records/0/samples/0/global_bytes", "-9007199254740993", "/records/0/samples/0/global_bytes"},
      {"/records/0/samples/0/p50_s", "\"1e-6\"", "/records/0/samples/0/p50_s"},
      {"/records/0/samples/0/p50_s", "null", "/records/0/samples/0/p50_s"},
      {"/records/0/samples/0/p50_s", "-1", "/records/0/samples/0"},
      {"/records/0/samples/0/p50_s", "1", "p50"},
      {"/records/0/samples/0/variance_s2", "1", "variance"},
      {"/records/0/samples/0/registers", "4294967296", "/records/0/samples/0/registers"},
  };
  for (const Damage& d : all) {
    const std::string said = message(damaged(d));
    INFO(d.pointer << " = " << d.value << ": " << said);
    CHECK((mentions(said, d.said)));
    CHECK((mentions(said, "p.json")));
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("what isn't JSON is refused with line and column") {
  const std::string good = sound().dump(1);
  CHECK((mentions(message(""), "empty")));
  CHECK((mentions(message(" \r\n\t"), "empty")));
  CHECK((mentions(message("\xef\xbb\xbf" + good), "byte order mark")));
  CHECK((mentions(message("\x1f\x8b\x08"), "gzip")));
  CHECK((mentions(message("\xff\xfe{"), "UTF-16")));
  CHECK((mentions(message("{\n \"format\": NaN}"), "p.json:2:")));
  CHECK((mentions(message("{\n \"format\": NaN}"), "NaN")));
  CHECK((mentions(message("[Infinity]"), "Infinity")));
  CHECK((mentions(message("[-Infinity]"), "Infinity")));
  CHECK((mentions(message("[nan]"), "NaN")));
  CHECK((mentions(message("[nul]"), "malformed")));
  CHECK((mentions(message("[1e999]"), "too large")));
  CHECK((mentions(message("{\n\n  \"a\" 1}"), "p.json:3:7")));
  CHECK((mentions(message(R"({"a": [0, {"b": 1, "c": 2, "b": 3}]})"), "\"b\" is there twice")));
  CHECK((mentions(message(R"({"a": [0, {"b": 1, "c": 2, "b": 3}]})"), "/a/1")));
  CHECK((mentions(message("[\"\xff\"]"), "malformed")));
  CHECK((mentions(message(good + "x"), "malformed")));
  CHECK((mentions(message("[]"), "expected an object")));
  CHECK((mentions(message("7"), "expected an object")));
}

TEST_CASE("white space, line ends and unknown keys don't count") {
  std::string text = sound().dump(1);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, 1, '\r');
  CHECK(message(text).empty());
  CHECK(message(damaged({"/records/0/samples/0/added_later", "[1, {}]", ""})).empty());
  CHECK(message(damaged({"/added_later", "{}", ""})).empty());
}

TEST_CASE("nesting is bounded before anything recurses") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  for (const std::size_t depth : {20u, 64u}) CHECK(guard_json(nested(depth), "x").ok());
  for (const std::size_t depth : {65u, 512u, 100'000u, 5'000'000u}) {
    CHECK((mentions(message(nested(depth)), "64 levels")));
    CHECK((mentions(message(std::string(depth, '[')), "64 levels")));
  }
  CHECK((mentions(message(std::string(65, '[')), "p.json:1:65")));
  CHECK(guard_json("[\"" + std::string(100, '[') + "\\\"[[\"]", "x").ok());
}

TEST_CASE("a file that was cut anywhere is refused") {
  RandomDatabase random(4);
  Database database;
  while (database.records().size() < 3) database.merge(random.make());
  const std::string text = write_database(database);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    const std::string said = message(text.substr(0, size));
    INFO(size << ": " << said);
    REQUIRE_FALSE(said.empty());
    if (size > 0) CHECK((mentions(said, "too early")));
  }
}

TEST_CASE("any flipped bit is refused, or gives a database that keeps its invariant") {
  RandomDatabase random(6);
  Database database;
  while (database.records().size() < 2) database = random.make(4);
  const std::string text = write_database(database);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto result = parse_database(flipped, "p.json");
    if (!result.ok()) {
      ++refused;
      continue;
    }
    REQUIRE(result->violation().empty());
  }
  CHECK(refused > 4 * text.size());
}
