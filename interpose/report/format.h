// The report that libtessera.so writes to TESSERA_REPORT when a process ends: JSON lines, one object a line.
//
// Each line has "type" (one of line_types) and "pid". A process appends its whole block with one write(2), so a file may hold the
// blocks of several processes (fork + exec, shells, workers); a block begins with a `start` line and ends with an `end` line. A
// process that never called the driver writes nothing. Readers ignore keys and types that they don't know; a `start` line whose
// schema_version is above theirs is from a newer Tessera.
// Invariant: for each kernel, the sum of launches over the devices is the number of its launches; the reasons' counts add up to the
// launches that stayed home although the policy could have moved them. Units: bytes, counts; device = CUDA ordinal in the process.
// This header is the whole contract: the tools include it and never link the library. docs/report-format.md describes it for people.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::report {

inline constexpr int schema_version = 1;

// Values of "type", in the order in which they appear in a block.
namespace line_type {
inline constexpr const char* start =
    "start";  // pid, schema_version, tessera_version, command, policy, profile, simulated, driver_version, home_only
inline constexpr const char* device = "device";    // ordinal, name, used
inline constexpr const char* problem = "problem";  // text: a setting that was ignored, a helper that could not be used
inline constexpr const char* kernel = "kernel";    // name, launches {"0": n}, redirected, reasons {"id": n}
inline constexpr const char* reason = "reason";    // id, sentence, advice: one line for each id that a kernel line names
inline constexpr const char* moved = "moved";      // from, to, bytes, copies
inline constexpr const char* end = "end";          // launches, redirected, bytes_moved
}  // namespace line_type

struct Start {
  int version = schema_version;
  std::string tessera_version;
  std::string command;     // the program, as the kernel names it
  std::string policy;      // as understood: "home" when the setting was bad
  std::string profile;     // database file, or empty
  bool simulated = false;  // the driver is Tessera's simulated one: times are virtual
  int driver_version = 0;  // 13000
  std::string home_only;   // why nothing can move in this process (one device, policy home…), or empty
};

struct Device {
  int ordinal = 0;
  std::string name;
  bool used = false;  // something was launched there
};

struct Kernel {
  std::string name;  // as in the image (mangled)
  std::map<int, std::uint64_t> launches;
  std::uint64_t redirected = 0;
  std::map<std::string, std::uint64_t> reasons;  // id -> launches that stayed home because of it
};

struct Reason {
  std::string id, sentence, advice;
};

struct Moved {
  int from = 0, to = 0;
  std::uint64_t bytes = 0, copies = 0;
};

// One process.
struct Block {
  std::uint64_t pid = 0;
  Start start;
  std::vector<Device> devices;
  std::vector<std::string> problems;
  std::vector<Kernel> kernels;
  std::vector<Reason> reasons;
  std::vector<Moved> moved;
  std::uint64_t launches = 0, redirected = 0, bytes_moved = 0;
};

}  // namespace tessera::report
