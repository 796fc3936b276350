// What `tessera run` says about a run when the program has ended: text for people, or one JSON document.
//
// Ownership: none. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/report_read.h"

namespace tessera::cli {

struct RunReport {
  std::vector<report::Block> processes;
  std::optional<SimulatedRun> simulated;
  int exit_status = 0;
};

// Several lines, each ended.
std::string text_of(const RunReport& run);
std::string json_of(const RunReport& run);

}  // namespace tessera::cli
