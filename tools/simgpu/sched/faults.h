// Faults on order: what TESSERA_SIM_FAULTS asks to go wrong on the simulated GPUs, and when.
//
// Counting is by device and from 1; times are virtual. Invariant: without a file nothing ever goes wrong; the same file, program and order
// give the same faults. Codes are the driver's error numbers. The file's format is in docs/simulator.md.
// Units: seconds in the file, nanoseconds here. Threads: guarded by the driver's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/base/result.h"
#include "tools/simgpu/sched/cost.h"

namespace tessera::simgpu {

enum class FaultSource : std::uint8_t { allocation, kernel, copy };

class Faults {
 public:
  // Error bad_data names the entry and what is wrong with it.
  static Result<Faults> parse(std::string_view text, std::string_view where);
  static Result<Faults> load(const std::string& path);

  // Counts one more of these on the device; the code with which it fails, if it is to fail.
  [[nodiscard]] std::optional<int> next(FaultSource source, int device);
  // The code of a device that is lost at `time`.
  [[nodiscard]] std::optional<int> lost(int device, Nanoseconds time) const;
  [[nodiscard]] bool refuses_peer(int from, int to) const;
  // How many times longer a copy over the device's link, or a kernel on it, takes at `time`.
  [[nodiscard]] double link_slowdown(int device, Nanoseconds time) const;
  [[nodiscard]] double clock_slowdown(int device, Nanoseconds time) const;

 private:
  struct Counted {
    FaultSource source;
    int device;  // -1 = any
    std::uint64_t first, count;
    int code;
  };
  struct Lost {
    int device;
    Nanoseconds from;
    int code;
  };
  struct Slow {
    bool link;
    int device;
    double factor;
    Nanoseconds from, to;
  };
  struct Peer {
    int from, to;  // -1 = any
  };
  [[nodiscard]] double slowdown(bool link, int device, Nanoseconds time) const;
  friend struct FaultReader;

  std::vector<Counted> counted_;
  std::vector<Lost> lost_;
  std::vector<Slow> slow_;
  std::vector<Peer> peers_;
  std::map<std::pair<FaultSource, int>, std::uint64_t> seen_;
};

}  // namespace tessera::simgpu
