// One program on simulated GPUs: alone, with the library preloaded, or under `tessera run`.
//
// Paths lead into the build tree. Every run writes its output file anew. Threads: call from one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/programs/process.h"

namespace tessera::test {

struct ProgramRun {
  Outcome process;
  std::string output;            // what the program wrote to its file; empty when it wrote none
  std::uint64_t launches = 0;    // kernel launches that the library's report counts …
  std::uint64_t redirected = 0;  // … and those of them on another GPU than home
};

// Where something of the build lies: "lib/libtessera.so".
std::string built(const std::string& path);

// The environment that replaces the driver and the runtime by the simulated ones, with these GPUs.
Environment simulated(const std::string& gpus);

// The same with libtessera.so preloaded.
Environment preloaded(Environment environment);

// The program as the environment has it.
ProgramRun run_program(const std::string& program, const Environment& environment);

// The program with libtessera.so preloaded, this policy, and the report's counts read afterwards.
ProgramRun run_with_policy(const std::string& program, Environment environment, const std::string& policy);

// The program under `tessera run OPTIONS…`; nothing of the report is read.
ProgramRun run_under_tessera(const std::string& program, const std::vector<std::string>& options);

}  // namespace tessera::test
