#include "tools/simgpu/exec/launch.h"

#include <fmt/core.h>
#include <sched.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "profiles/base/settings.h"
#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/cta.h"

namespace tessera::simgpu {
namespace {

constexpr std::uint64_t turn_blocks = 16384;            // basic blocks a warp runs before the next one has its turn
constexpr std::uint64_t cooperative_turn = 1024;        // the same, where blocks wait for each other
constexpr std::uint64_t threads_worth_a_worker = 2048;  // below, starting a thread costs more than it gives

// Default rounding, no flushing, no traps, whatever the program that called us has set.
class FloatScope {
 public:
#if defined(__SSE2__)
  FloatScope() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatScope() { _mm_setcsr(saved_); }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  unsigned saved_;
#endif
};

unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

unsigned wanted_threads(const LaunchConfig& config) {
  if (config.threads != 0) return config.threads;
  static const unsigned from_setting = static_cast<unsigned>(std::min<std::uint64_t>(Settings::from_environment().sim_threads, 256));
  return from_setting != 0 ? from_setting : cores();
}

std::uint64_t volume(const std::array<std::uint32_t, 3>& v) { return std::uint64_t{v[0]} * v[1] * v[2]; }

std::optional<Error> refuse(const ExecKernel& kernel, const LaunchConfig& config, const Program& program) {
  const KernelAttributes& a = kernel.attributes();
  const DeviceTraits& traits = kernel.module().device().traits;
  const auto error = [&](ErrorCode code, std::string what) {
    return Error{code, std::move(what), fmt::format("kernel {}", kernel.name()), ""};
  };
  const std::uint64_t threads = volume(config.block);
  if (threads == 0 || volume(config.grid) == 0 || volume(config.cluster) == 0)
    return error(ErrorCode::usage, "a dimension of the launch is zero");
  if (config.grid[1] > 65535 || config.grid[2] > 65535 || config.grid[0] > 0x7fffffffu)
    return error(ErrorCode::usage, "the grid is too large");
  if (threads > a.max_threads || config.block[0] > 1024 || config.block[1] > 1024 || config.block[2] > 64) {
    return error(ErrorCode::usage, fmt::format("{} threads a block, at most {} are allowed", threads, a.max_threads));
  }
  for (unsigned i = 0; i < 3; ++i) {
    if (config.grid[i] % config.cluster[i] != 0) return error(ErrorCode::usage, "the grid isn't a multiple of the cluster");
  }
  const std::uint64_t shared = std::uint64_t{program.static_shared} + config.dynamic_shared;
  if (shared > traits.shared_per_block_max) {
    return error(ErrorCode::usage,
                 fmt::format("{} bytes of shared memory a block, {} has {}", shared, traits.model, traits.shared_per_block_max));
  }
  if (config.params.size() < a.param_bytes) {
    return error(ErrorCode::usage, fmt::format("{} bytes of parameters, the kernel has {}", config.params.size(), a.param_bytes));
  }
  if (program.local_bytes > window_bytes) return error(ErrorCode::unsupported, "more than 16 MiB of local memory a thread");
  return std::nullopt;
}

// The output of blocks, put together in their order.
class Outputs {
 public:
  void add(std::uint64_t block, std::string text) {
    if (text.empty()) return;
    const std::lock_guard lock(mutex_);
    texts_.emplace(block, std::move(text));
  }
  std::string join() {
    std::string all;
    for (auto& [block, text] : texts_) all += text;
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> texts_;
};

// Blocks in their order, taken by whoever is free.
void work(LaunchState& state, std::atomic<std::uint64_t>& next, Outputs& outputs, Counters& counters) {
  const FloatScope scope;
  Cta cta(state);
  for (;;) {
    const std::uint64_t block = next.fetch_add(1, std::memory_order_relaxed);
    if (block >= state.block_count || block > state.fault_block.load(std::memory_order_relaxed)) break;
    cta.begin(block);
    while (cta.run_once(turn_blocks) == Cta::Progress::running) {
    }
    outputs.add(block, std::exchange(cta.output, {}));
  }
  counters = cta.counters();
}

// All blocks resident, in turns: for grids whose blocks wait for each other.
void work_together(LaunchState& state, Outputs& outputs, Counters& counters) {
  const FloatScope scope;
  std::vector<std::unique_ptr<Cta>> all;
  for (std::uint64_t block = 0; block < state.block_count; ++block) {
    all.push_back(std::make_unique<Cta>(state));
    all.back()->begin(block);
  }
  std::vector<bool> done(all.size());
  for (std::size_t left = all.size(); left > 0;) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (done[i] || all[i]->run_once(cooperative_turn) == Cta::Progress::running) continue;
      done[i] = true;
      --left;
    }
  }
  for (auto& cta : all) {
    outputs.add(cta->number, std::move(cta->output));
    counters += cta->counters();
  }
}

}  // namespace

std::optional<Error> refusal(const ExecKernel& kernel, const LaunchConfig& config) {
  const auto program = kernel.program();
  return program.ok() ? refuse(kernel, config, **program) : program.error();
}

LaunchOutcome run(const ExecKernel& kernel, const LaunchConfig& config) {
  LaunchOutcome outcome;
  outcome.refused = refusal(kernel, config);
  if (outcome.refused) return outcome;

  const auto program = kernel.program();
  LaunchState state;
  state.kernel = &kernel;
  state.program = *program;
  state.config = &config;
  state.memory = kernel.module().device().memory->snapshot();
  state.block_count = volume(config.grid);
  Outputs outputs;
  const std::uint64_t threads = volume(config.block);
  if (config.cooperative) {
    work_together(state, outputs, outcome.counters);
  } else {
    const std::uint64_t useful =
        (*program)->ordered ? 1 : std::min(state.block_count, state.block_count * threads / threads_worth_a_worker);
    const auto workers = static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, wanted_threads(config)));
    std::atomic<std::uint64_t> next{0};
    std::vector<Counters> counters(workers);
    std::vector<std::thread> extra;
    for (unsigned i = 1; i < workers; ++i) extra.emplace_back([&, i] { work(state, next, outputs, counters[i]); });
    work(state, next, outputs, counters[0]);
    for (std::thread& t : extra) t.join();
    for (const Counters& c : counters) outcome.counters += c;
  }
  outcome.counters.blocks = state.block_count;
  outcome.counters.threads = state.block_count * threads;
  outcome.counters.warps = state.block_count * ((threads + warp_size - 1) / warp_size);
  outcome.fault = std::move(state.fault);
  std::string text = outputs.join();
  if (config.capture_output) {
    outcome.output = std::move(text);
  } else if (!text.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return outcome;
}

}  // namespace tessera::simgpu
