// The preloaded library from outside: what it needs, what it exports, and what whole processes see of it.
#include "test/programs/process.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

using namespace tessera::test;

namespace {

const std::string library = TESSERA_LIBRARY;

Environment over_fake(Environment more = {}) {
  Environment environment = {{"LD_PRELOAD", library}, {"LD_LIBRARY_PATH", TESSERA_FAKE_FOLDER}};
  for (auto& [name, value] : more) environment[name] = value;
  return environment;
}
std::vector<nlohmann::json> lines_of(const std::string& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}
std::vector<std::string> launching(const char* count) { return {TESSERA_LAUNCHER, count}; }

}  // namespace

TEST_CASE("it needs the C library and nothing else", "[G4]") {
  const Outcome needed = run_process({"readelf", "-dW", library}, {});
  std::istringstream text(needed.out);
  unsigned count = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++count;
    INFO(line);
    const bool allowed = line.find("[libc.so.6]") != std::string::npos || line.find("[libm.so.6]") != std::string::npos ||
                         line.find("[ld-linux") != std::string::npos;
    CHECK(allowed);
  }
  REQUIRE(count > 0);
}

TEST_CASE("it exports the hooked names and dlsym", "[exports]") {
  std::set<std::string> expected = {"dlsym"};
#define TESSERA_HOOK(symbol, stem, since, variant) expected.insert(#symbol);
#include "interpose/hooks.def"
#undef TESSERA_HOOK
  std::set<std::string> exported;
  std::istringstream text(run_process({"nm", "-D", "--defined-only", library}, {}).out);
  for (std::string address, kind, name; text >> address >> kind >> name;) exported.insert(name);
  REQUIRE(exported == expected);
}

TEST_CASE("the report counts launches, whatever the route and however the process was started", "[A14][report]") {
  for (const bool by_exec : {false, true}) {
    const std::string file = temporary_file(by_exec ? "exec.jsonl" : "plain.jsonl");
    const Environment environment = over_fake({{"TESSERA_REPORT", file}, {"TESSERA_POLICY", "1"}});
    const auto command = by_exec ? std::vector<std::string>{"sh", "-c", "exec " TESSERA_LAUNCHER " 5"} : launching("5");
    const Outcome outcome = run_process(command, environment);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    REQUIRE(outcome.err.empty());
    const auto lines = lines_of(file);
    REQUIRE(lines.front()["type"] == "start");
    REQUIRE(lines.front()["policy"] == "1");
    REQUIRE(lines.front()["simulated"] == false);
    REQUIRE(lines.front()["schema_version"] == 1);
    REQUIRE(lines.back()["type"] == "end");
    REQUIRE(lines.back()["launches"] == 5);
    REQUIRE(lines.back()["redirected"] == 5);
    unsigned blocks = 0;
    for (const auto& line : lines) {
      blocks += line["type"] == "start" ? 1 : 0;
      if (line["type"] == "kernel") REQUIRE(line["launches"]["1"] == 5);
      if (line["type"] == "moved" && line["from"] == 0) REQUIRE(line["bytes"] == 4096);
    }
    REQUIRE(blocks == 1);
  }
}

TEST_CASE("at home launches are counted, and nothing else happens", "[report]") {
  const std::string file = temporary_file("home.jsonl");
  REQUIRE(run_process(launching("3"), over_fake({{"TESSERA_REPORT", file}})).status == 0);
  const auto lines = lines_of(file);
  REQUIRE(lines.front()["home_only"] == "the policy is home");
  REQUIRE(lines.back()["launches"] == 3);
  REQUIRE(lines.back()["redirected"] == 0);
}

TEST_CASE("a bad setting costs one line, and the program runs as without Tessera", "[settings]") {
  for (const Environment& bad : {Environment{{"TESSERA_POLICY", "sideways"}}, Environment{{"TESSERA_POLICY", "9"}},
                                 Environment{{"TESSERA_POLICY", "fastest"}, {"TESSERA_PROFILE", "/nonexistent.json"}}}) {
    const std::string file = temporary_file("bad.jsonl");
    std::remove(file.c_str());
    Environment environment = over_fake(bad);
    environment["TESSERA_REPORT"] = file;
    const Outcome outcome = run_process(launching("2"), environment);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(lines_of(file).back()["redirected"] == 0);
  }
}

TEST_CASE("the toolkit's stub is called by its name", "[A12]") {
  const Outcome outcome = run_process(launching("1"), over_fake({{"FAKE_STUB", "1"}}));
  REQUIRE(outcome.status == 34);
  REQUIRE(outcome.err.find("stub") != std::string::npos);
  REQUIRE(outcome.err.find(TESSERA_FAKE_FOLDER) != std::string::npos);
}

TEST_CASE("a forked child gets the driver's own answers", "[G2]") {
  const std::string file = temporary_file("fork.jsonl");
  const Outcome outcome = run_process({TESSERA_LAUNCHER, "2", "fork"}, over_fake({{"TESSERA_REPORT", file}, {"TESSERA_POLICY", "1"}}));
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  REQUIRE(outcome.out == "child at home\n");
  REQUIRE(lines_of(file).back()["launches"] == 2);  // the parent's alone
}

TEST_CASE("where launches block, redirected ones do", "[E16]") {
  const std::vector<std::string> command = {TESSERA_LAUNCHER, "3", "finished"};
  REQUIRE(run_process(command, over_fake({{"TESSERA_POLICY", "1"}})).out == "0\n");
  REQUIRE(run_process(command, over_fake({{"TESSERA_POLICY", "1"}, {"CUDA_LAUNCH_BLOCKING", "1"}})).out == "3\n");
}

TEST_CASE("libraries of a program are found where its own search path says", "[A8]") {
  const Outcome outcome = run_process({TESSERA_LAUNCHER, "0", "plugin"}, over_fake());
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  REQUIRE(outcome.out == "inner\n");
}
