#include "tools/simgpu/exec/launch.h"

#include <fmt/core.h>
#include <sched.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <thread>
#include <utility>

#include "profiles/base/settings.h"
#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/cta.h"
#include "tools/simgpu/exec/residents.h"

namespace tessera::simgpu {
namespace {

constexpr Turns usual_turns{};
constexpr Turns cooperative_turns{1024, 1, true};
constexpr Turns short_turns{512, 2, false};             // in an arbitrary order blocks are likelier to wait for one that hasn't begun
constexpr std::uint64_t threads_worth_a_worker = 2048;  // below, starting a thread costs more than it gives
constexpr std::uint64_t shuffled_blocks = 1u << 20;     // more aren't shuffled, only begun at an arbitrary place

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

}  // namespace

std::optional<Error> refusal(const ExecKernel& kernel, const LaunchConfig& config) {
  const auto program = kernel.program();
  return program.ok() ? refuse(kernel, config, **program) : program.error();
}

struct Launch::State {
  LaunchConfig config;
  LaunchState shared;
  BlockOutputs outputs;
  Counters counters;
  Sectors sectors;
  // In parts: the order of the blocks, and who runs them.
  std::vector<std::uint32_t> order;
  std::uint64_t begun = 0, first = 0;
  std::unique_ptr<Residents> residents;

  std::optional<std::uint64_t> next_in_order() {
    if (begun == shared.block_count || shared.fault_block.load(std::memory_order_relaxed) != ~std::uint64_t{0}) return std::nullopt;
    const std::uint64_t n = begun++;
    return order.empty() ? (first + n) % shared.block_count : order[n];
  }
  void shuffle(Random& random) {
    const std::uint64_t count = shared.block_count;
    first = random.below(count);
    if (count > shuffled_blocks) return;
    order.resize(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
};

namespace {

// Gives the launch the workspace of its grid, and its kernel the right to touch it.
void lend_workspace(LaunchState& shared) {
  shared.grid_workspace = std::make_unique<GridWorkspace>();
  const auto base = reinterpret_cast<std::uint64_t>(shared.grid_workspace.get());
  auto table = std::make_shared<AllocationTable>(*shared.memory);
  const auto behind = std::find_if(table->rows.begin(), table->rows.end(), [base](const Allocation& a) { return a.base > base; });
  table->rows.insert(behind, Allocation{base, sizeof(GridWorkspace), AllocationKind::external, 0, "grid workspace"});
  shared.memory = std::move(table);
}

}  // namespace

Launch::Launch(const ExecKernel& kernel, const LaunchConfig& config) : state_(std::make_unique<State>()) {
  state_->config = config;
  LaunchState& shared = state_->shared;
  shared.kernel = &kernel;
  shared.program = *kernel.program();
  shared.config = &state_->config;
  shared.memory = config.memory != nullptr ? config.memory : kernel.module().device().memory->snapshot();
  shared.block_count = volume(config.grid);
  if (config.cooperative) lend_workspace(shared);
}

Launch::~Launch() = default;

void Launch::run_all() {
  State& s = *state_;
  // Blocks in their order, taken by whoever is free.
  std::atomic<std::uint64_t> next{0};
  const auto take = [&]() -> std::optional<std::uint64_t> {
    const std::uint64_t block = next.fetch_add(1, std::memory_order_relaxed);
    if (block >= s.shared.block_count || block > s.shared.fault_block.load(std::memory_order_relaxed)) return std::nullopt;
    return block;
  };
  std::mutex merging;
  const auto work = [&] {
    const FloatScope scope;
    Residents residents(s.shared, s.outputs, s.config.cooperative ? cooperative_turns : usual_turns, take);
    while (residents.step()) {
    }
    const std::lock_guard lock(merging);
    s.counters += residents.counters();
    s.sectors.merge(residents.sectors());
  };
  const std::uint64_t threads = s.shared.block_count * volume(s.config.block);
  const bool alone = s.config.cooperative || s.shared.program->ordered || s.config.touched != nullptr;
  const std::uint64_t useful = alone ? 1 : std::min(s.shared.block_count, threads / threads_worth_a_worker);
  const auto workers = static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, wanted_threads(s.config)));
  std::vector<std::thread> extra;
  for (unsigned i = 1; i < workers; ++i) extra.emplace_back(work);
  work();
  for (std::thread& t : extra) t.join();
}

bool Launch::run_some(Random& random) {
  State& s = *state_;
  if (s.residents == nullptr) {
    s.shuffle(random);
    s.residents = std::make_unique<Residents>(s.shared, s.outputs, s.config.cooperative ? cooperative_turns : short_turns,
                                              [&s] { return s.next_in_order(); });
  }
  const FloatScope scope;
  for (std::uint64_t steps = 1 + random.below(s.shared.block_count); steps > 0; --steps) {
    if (s.residents->step()) continue;
    s.counters = s.residents->counters();
    s.sectors.merge(s.residents->sectors());
    return true;
  }
  return false;
}

LaunchOutcome Launch::finish() {
  State& s = *state_;
  LaunchOutcome outcome;
  outcome.counters = s.counters;
  s.sectors.count(*s.shared.memory, outcome.counters);
  const std::uint64_t threads = volume(s.config.block);
  outcome.counters.blocks = s.shared.block_count;
  outcome.counters.threads = s.shared.block_count * threads;
  outcome.counters.warps = s.shared.block_count * ((threads + warp_size - 1) / warp_size);
  outcome.fault = std::move(s.shared.fault);
  std::string text = s.outputs.join();
  if (s.config.capture_output) {
    outcome.output = std::move(text);
  } else if (!text.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return outcome;
}

LaunchOutcome run(const ExecKernel& kernel, const LaunchConfig& config) {
  if (auto refused = refusal(kernel, config)) {
    LaunchOutcome outcome;
    outcome.refused = std::move(refused);
    return outcome;
  }
  Launch launch(kernel, config);
  launch.run_all();
  return launch.finish();
}

}  // namespace tessera::simgpu
