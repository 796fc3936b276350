// Running one kernel on its simulated GPU, to completion.
//
// A Launch runs when it is told to: all of it, or a part at a time with its blocks in an arbitrary order. run() is the first in one call.
// It is synchronous, and virtual time is the caller's business. Blocks are spread over worker threads unless their order could show
// (kernels with atomics whose results depend on it, volatile or acquire loads): those run in block order on one thread. So bytes, counters
// and faults don't depend on the number of threads. A cooperative launch keeps all blocks resident and takes turns, so that a grid barrier
// makes progress. A block that waits for another one doesn't keep it from beginning. Invariant: no worker thread is running kernel code
// after run() has returned. Units: bytes; grid, block and cluster in blocks and threads. Ownership: nothing is kept. Threads: any, also at
// the same time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tools/simgpu/exec/counters.h"
#include "tools/simgpu/exec/fault.h"
#include "tools/simgpu/exec/module.h"
#include "tools/simgpu/machine/random.h"
#include "tools/simgpu/machine/touched.h"

namespace tessera::simgpu {

struct LaunchConfig {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  std::span<const std::byte> params;  // laid out as KernelAttributes::params says; at least param_bytes
  bool cooperative = false;
  std::shared_ptr<const AllocationTable> memory;  // what it may touch; null = what its device has
  unsigned threads = 0;                           // worker threads; 0 = TESSERA_SIM_THREADS, and where that is 0, the cores that we may use
  Touched* touched = nullptr;                     // where given, every byte of global memory that it touches is recorded, on one thread
  bool capture_output = false;                    // printf text goes to LaunchOutcome::output instead of stdout
};

struct LaunchOutcome {
  std::optional<Error> refused;  // never started: unsupported instruction, too many threads, too little shared memory …
  std::optional<Fault> fault;    // started and died
  Counters counters;             // up to the fault, if there was one
  std::string output;            // printf text, when captured
  [[nodiscard]] bool ok() const { return !refused && !fault; }
};

// Why this launch would be refused, without running it.
[[nodiscard]] std::optional<Error> refusal(const ExecKernel& kernel, const LaunchConfig& config);

// One launch that refusal() doesn't refuse. `kernel` and the bytes of config.params must live as long.
class Launch {
 public:
  Launch(const ExecKernel& kernel, const LaunchConfig& config);
  ~Launch();
  // Everything, over several threads where the order can't show.
  void run_all();
  // A part that chance decides, its blocks in an arbitrary order, on this thread; true when all have ended.
  bool run_some(Random& random);
  // What came of it, and its output printed; once, when all have ended.
  LaunchOutcome finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] LaunchOutcome run(const ExecKernel& kernel, const LaunchConfig& config);

}  // namespace tessera::simgpu
