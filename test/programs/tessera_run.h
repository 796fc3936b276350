// One program on simulated GPUs: alone, preloaded by hand, or under `tessera run`.
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
  std::string output;                     // what the program wrote to its file; empty when it wrote none
  std::uint64_t launches = 0;             // kernel launches that the report counts …
  std::uint64_t redirected_launches = 0;  // … and those of them on a GPU other than home
};

// Where something of the build lies: "lib/libtessera.so".
std::string built(const std::string& path);

// The environment that replaces the driver and the runtime by the simulated ones, with these GPUs.
Environment simulated(const std::string& gpus);

// The program on simulated GPUs with no Tessera.
ProgramRun run_alone(const std::string& program, const Environment& environment);

// The program under `tessera run OPTIONS… --report json`.
ProgramRun run_under_tessera(const std::string& program, std::vector<std::string> options);

}  // namespace tessera::test
