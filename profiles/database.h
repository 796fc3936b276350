// The kernel-profile database in memory: how long each (kernel, launch shape, GPU) took, in which runs.
//
// A record holds one sample per profiling run. That makes merge() a union: associative, commutative, and merging the same file twice
// counts nothing twice. When two databases have different samples of one run (it was saved before it ended), the one with more durations
// stays. Invariant (violation()): records and runs are sorted by their keys without repeats; every record has a sample; every sample's run
// is known; a record's time is the combination of its samples. So two databases with the same content are equal, and are written as the
// same bytes. Units: seconds, bytes, operations. Ownership: the database owns its records; find()'s result lives until the next change.
// Threads: const functions from any number of threads; changes exclude everything else. find() allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiles/base/result.h"
#include "profiles/distribution.h"
#include "profiles/kernel_key.h"

namespace tessera {

// What is known about a launch besides its time; 0 = not known.
struct KernelFigures {
  std::uint32_t registers = 0;      // a thread
  std::uint32_t static_shared = 0;  // bytes a block
  std::uint64_t global_bytes = 0;   // read and written in global memory, a launch
  std::uint64_t operations = 0;     // arithmetic, a launch; a fused multiply-add is two
  auto operator<=>(const KernelFigures&) const = default;
};

struct Sample {
  std::uint64_t run = 0;
  Distribution time;
  KernelFigures figures;
  auto operator<=>(const Sample&) const = default;
};

// One profiling run.
struct Run {
  std::uint64_t id = 0;  // random
  std::uint64_t started_unix_s = 0;
  std::string tool_version, driver_version;
  bool simulated = false;
  auto operator<=>(const Run&) const = default;
};

struct Record {
  KernelKey kernel;
  LaunchShape shape;
  DeviceIdentity device;
  std::vector<Sample> samples;  // by run
  Distribution time;            // of all samples
  // Of the sample with the most durations.
  [[nodiscard]] const KernelFigures& figures() const;
  bool operator==(const Record&) const = default;
};

class Database {
 public:
  // Makes a run known. The same id again with other content: the greater one stays, whichever came first.
  Status add_run(const Run& run);
  // Adds a sample of a run that is known. Error bad_data when name, shape or distribution can't be.
  Status add(const KernelKey& kernel, const LaunchShape& shape, const DeviceIdentity& device, const Sample& sample);
  // All runs and samples of both.
  void merge(const Database& other);

  // nullptr when nothing was measured for exactly this.
  [[nodiscard]] const Record* find(KernelKeyView kernel, const LaunchShape& shape, DeviceIdentityView device) const noexcept;
  [[nodiscard]] std::span<const Record> records() const { return records_; }
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  // How many records are of a GPU: 0 says that a database has nothing to offer on this machine.
  [[nodiscard]] std::size_t count_for(DeviceIdentityView device) const noexcept;

  // "" when the invariant holds, else the sentence that is broken.
  [[nodiscard]] std::string violation() const;
  bool operator==(const Database& other) const { return runs_ == other.runs_ && records_ == other.records_; }

 private:
  friend class DatabaseBuilder;
  void reindex();

  std::vector<Run> runs_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> slots_;  // open addressing over records_, index + 1; a power of two, at most half full
};

// Fills a database with many samples at once, in any order: add() to a Database keeps it sorted at every step, this sorts once.
class DatabaseBuilder {
 public:
  Status add_run(const Run& run);
  Status add(KernelKey kernel, const LaunchShape& shape, DeviceIdentity device, const Sample& sample);
  // Error bad_data when a sample names a run that was never added. The builder is empty afterwards.
  Result<Database> build();

 private:
  std::vector<Run> runs_;
  std::vector<Record> records_;  // one sample each
};

}  // namespace tessera
