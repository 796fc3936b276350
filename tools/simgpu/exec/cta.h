// A block that runs: its warps, shared and local memory, barriers, and what its launch shares.
//
// Ownership: a worker thread owns one Cta and reuses it, buffers and all, for block after block; a LaunchState belongs to run().
// Invariant: a warp's `alive` lanes are those that exist and haven't exited; barrier arrivals are a subset of them.
// Threads: a Cta belongs to its worker; LaunchState's constant part is shared, its fault is guarded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/simgpu/exec/code.h"
#include "tools/simgpu/exec/counters.h"
#include "tools/simgpu/exec/launch.h"
#include "tools/simgpu/exec/sectors.h"
#include "tools/simgpu/exec/warp.h"
#include "tools/simgpu/machine/memory.h"

namespace tessera::simgpu {

// What a cooperative launch lends its blocks for the barrier of the grid; %envreg1 (high) and %envreg2 (low) are its address.
// The layout is that of cooperative_groups::details::grid_workspace in the toolkit's cooperative_groups/details/driver_abi.h.
struct GridWorkspace {
  std::uint32_t size = 2 * sizeof(std::uint32_t);
  std::uint32_t barrier = 0;
};

struct LaunchState {
  const ExecKernel* kernel = nullptr;
  const Program* program = nullptr;
  const LaunchConfig* config = nullptr;
  std::shared_ptr<const AllocationTable> memory;
  std::unique_ptr<GridWorkspace> grid_workspace;  // of a cooperative launch; a row of `memory`
  std::uint64_t block_count = 0;
  std::mutex fault_mutex;
  std::optional<Fault> fault;                                 // of the faulting block with the smallest number
  std::atomic<std::uint64_t> fault_block{~std::uint64_t{0}};  // blocks behind it needn't go on
};

// Bounds of the allocation that a memory op found last.
struct Reach {
  std::uint64_t lo = 1, hi = 0;
};

// Traffic that is counted as it happens; the rest is counted by basic block.
struct Traffic {
  std::uint64_t global_read_bytes = 0, global_written_bytes = 0, global_read_sectors = 0, global_written_sectors = 0;
  std::uint64_t global_atomics = 0, shared_read_bytes = 0, shared_written_bytes = 0;
};

struct BlockCount {
  std::uint64_t warps = 0, lanes = 0;
};

// One call of one function by some lanes of a warp.
struct Activation {
  const Code* code = nullptr;
  std::unique_ptr<std::byte[]> storage;
  std::byte* registers = nullptr;  // aligned
  std::size_t capacity = 0;
  std::uint32_t parent = 0;
  std::uint32_t return_pc = 0;
  std::uint32_t depth = 0;
  std::uint32_t local_base = 0;
  std::uint32_t lanes = 0;  // still inside; 0 = free
  const CallSite* site = nullptr;
};

struct Barrier {
  std::array<std::uint32_t, warp_size> arrived{};  // lanes, by warp
  std::uint32_t expected = 0;                      // threads; 0 = all
  bool used = false;
  std::uint32_t population = 0;    // bar.red: lanes whose predicate held
  std::uint32_t participants = 0;  // bar.red: lanes that came
};

class Cta {
 public:
  Cta(LaunchState& state, Sectors& worker_sectors);
  // Prepares the block of that number.
  void begin(std::uint64_t block_number);
  enum class Progress : std::uint8_t { finished, running, stopped };
  // Lets each warp that can run do so for at most `turn` basic blocks.
  Progress run_once(std::uint64_t turn);

  LaunchState& launch;
  std::uint64_t number = 0;
  std::array<std::uint32_t, 3> index{};
  std::byte* shared = nullptr;
  std::uint32_t shared_bytes = 0;
  std::byte* local = nullptr;  // of thread 0; one thread's part is local_bytes
  std::uint32_t local_bytes = 0;
  std::string output;  // printf text of this block
  Traffic traffic;
  Sectors* sectors = nullptr;      // of the worker
  std::vector<Reach> reaches;      // by Op::extra of global memory ops
  std::vector<BlockCount> blocks;  // by basic block of the program
  std::uint64_t barriers = 0, branches = 0, divergent_branches = 0;
  std::uint64_t clock = 0;  // basic blocks that its warps have run: what %clock shows

  // Counts since construction.
  [[nodiscard]] Counters counters() const;
  // Where the memory of a lane's local space begins.
  [[nodiscard]] std::byte* local_of(const Warp& w, unsigned lane) const {
    return local + static_cast<std::size_t>(w.index * warp_size + lane) * local_bytes;
  }
  [[nodiscard]] std::array<std::uint32_t, 3> thread_of(const Warp& w, unsigned lane) const;
  [[nodiscard]] const Op& op_at(const Warp& w, std::uint32_t pc) const;
  void record(Warp& w, const Op& op, unsigned lane, Fault fault);

 private:
  friend class WarpLoop;
  struct WarpState {
    Warp warp;
    std::vector<Activation> activations;
    std::vector<std::byte> special_storage;
    [[nodiscard]] bool finished() const { return warp.splits.size() == 0; }
  };
  void fill_special(WarpState& state, bool following_block);
  std::uint32_t enter(WarpState& state, const Code& code, std::uint32_t lanes);
  void arrive(WarpState& state, unsigned id, std::uint32_t lanes, std::uint32_t expected);
  bool barrier_complete(const Barrier& barrier) const;
  void release_barrier(unsigned id);
  bool settle_barriers();  // true if any was released
  void deadlock();

  std::vector<std::unique_ptr<WarpState>> warps_;
  std::array<Barrier, 16> barriers_{};
  bool barriers_used_ = false;
  std::vector<std::byte> shared_storage_, local_storage_;
};

// Calls of functions that the simulator provides itself; false when the warp must stop.
bool run_builtin(Cta& cta, Warp& w, const Op& op, const CallSite& site);

}  // namespace tessera::simgpu
