// What `tessera run` is asked to do, checked, and the environment that it makes for the program.
//
// Invariant: plan_run() changes nothing; everything that can be found wrong before the program starts is found there.
// Ownership: values. Threads: any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiles/base/result.h"

namespace tessera::cli {

using Environment = std::map<std::string, std::string>;

struct RunOptions {
  std::string sim;          // device list, empty = the machine's own GPUs
  std::string order;        // of simulated GPUs: program or a seed; empty = as TESSERA_SIM_ORDER says
  bool races = false;       // look for races on simulated GPUs
  std::optional<int> home;  // which of the visible GPUs becomes the program's device 0
  std::string profile;      // database file, or empty
  std::string policy;       // empty = as TESSERA_POLICY says
  std::vector<std::string> command;
};

// Where our libraries lie.
struct Libraries {
  std::string interposer;  // …/libtessera.so
  std::string simulated;   // the folder of the simulated driver and runtime
};

// Beside the executable: ../lib/ (build tree) or ../lib/tessera/ (installed). Error environment when they aren't there.
Result<Libraries> find_libraries(const std::string& executable, bool with_simulator);

// The variables to set for the program, over `environment` (the present one). `machine_gpus`: how many GPUs the machine has, -1 = unknown.
Result<Environment> plan_run(const RunOptions& options, const Libraries& libraries, const Environment& environment, int machine_gpus);

}  // namespace tessera::cli
