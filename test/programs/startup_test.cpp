// What the preloaded library does to processes that don't use CUDA (nothing), and to those that do when its settings are bad
// (one line).
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "test/programs/tessera_run.h"

namespace tessera::test {
namespace {

// A process that has our library, and could find the simulated driver, but never asks for it.
void check_untouched(const std::vector<std::string>& command) {
  const Environment plain = simulated("a100,l40s");
  const Outcome without = run_process(command, plain);
  const Outcome with = run_process(command, preloaded(plain));
  CHECK(with.status == without.status);
  CHECK(with.out == without.out);
  CHECK(with.err == without.err);
}

std::string libraries_of(const std::vector<std::string>& command) {
  Environment environment = preloaded(simulated("a100,l40s"));
  environment["LD_DEBUG"] = "files";
  const Outcome outcome = run_process(command, environment);
  CHECK(outcome.err.find("libtessera.so") != std::string::npos);  // it was there
  return outcome.err;
}

}  // namespace

TEST_CASE("start-up: a process without CUDA is untouched") {
  check_untouched({"/bin/true"});
  check_untouched({"/bin/false"});
  check_untouched({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  check_untouched({"python3", "-c", R"(
import os, sys, threading, subprocess
child = os.fork()
if child:
    os.waitpid(child, 0)  # what the two print must not mix
print(child == 0)
sys.exit(3))"});
}

TEST_CASE("start-up: a process without CUDA loads no driver") {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"/bin/true"}, std::vector<std::string>{"python3", "-c", "import ctypes; ctypes.CDLL(None)"}}) {
    const std::string libraries = libraries_of(command);
    CHECK(libraries.find("libcuda.so") == std::string::npos);
    CHECK(libraries.find("libcudart") == std::string::npos);
  }
}

TEST_CASE("start-up: preloaded by hand with no settings, a program runs at home and nothing is said") {
  const ProgramRun alone = run_program("vector_add", simulated("a100,l40s"));
  const ProgramRun run = run_program("vector_add", preloaded(simulated("a100,l40s")));
  REQUIRE(alone.process.status == 0);
  CHECK(run.process.status == 0);
  CHECK(run.process.out == alone.process.out);
  CHECK(run.process.err.empty());
  CHECK((run.output == alone.output));
}

TEST_CASE("start-up: a bad setting costs one line and changes nothing") {
  const ProgramRun alone = run_program("vector_add", simulated("a100,l40s"));
  REQUIRE(alone.process.status == 0);
  const std::pair<std::string, std::string> bad[] = {{"TESSERA_POLICY", "quickest"},
                                                     {"TESSERA_POLICY", "random:"},
                                                     {"TESSERA_POLICY", "9"},
                                                     {"TESSERA_PROFILE", "/nonexistent/profile.json"},
                                                     {"TESSERA_REPORT", "/nonexistent/folder/report"}};
  for (const auto& [variable, value] : bad) {
    INFO(variable << "=" << value);
    Environment environment = preloaded(simulated("a100,l40s"));
    environment[variable] = value;
    if (variable == "TESSERA_PROFILE") environment["TESSERA_POLICY"] = "fastest";
    const ProgramRun run = run_program("vector_add", environment);
    INFO(run.process.err);
    CHECK(run.process.status == 0);
    CHECK(run.process.out == alone.process.out);
    CHECK((run.output == alone.output));
    CHECK(std::count(run.process.err.begin(), run.process.err.end(), '\n') == 1);
    CHECK(run.process.err.find(variable) != std::string::npos);
    CHECK(run.process.err.find(value) != std::string::npos);
  }
}

TEST_CASE("start-up: a bad setting is no matter for a process without CUDA") {
  Environment environment = preloaded(simulated("a100,l40s"));
  environment["TESSERA_POLICY"] = "quickest";
  const Outcome outcome = run_process({"/bin/true"}, environment);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
}

}  // namespace tessera::test
