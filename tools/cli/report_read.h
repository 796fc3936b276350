// Reads what the library and the simulated driver wrote about a run.
//
// Formats: interpose/report/format.h and docs/report-format.md; docs/simulator.md for the simulated driver's. Unknown keys and line types
// are passed over. Ownership: values. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/report/format.h"
#include "profiles/base/result.h"

namespace tessera::cli {

// One block a process, in the order in which they ended. Error bad_data names the line.
Result<std::vector<report::Block>> parse_report(std::string_view text, std::string_view where);

struct SimulatedDevice {
  int ordinal = 0;
  std::string model;
  std::map<std::string, double> busy_s;  // by engine
  std::uint64_t kernels = 0;
  std::uint64_t memory_peak_bytes = 0;
};

struct SimulatedRun {
  double makespan_s = 0;
  std::uint64_t launches = 0;
  std::optional<std::uint64_t> races;  // pairs of operations, where they were looked for
  std::vector<SimulatedDevice> devices;
};

Result<SimulatedRun> parse_simulated(std::string_view text, std::string_view where);

}  // namespace tessera::cli
