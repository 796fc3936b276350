// What the preloaded library adds to a cuLaunchKernel, over a driver that does nothing.
//
// The program starts itself once for each way in which the library may be set, with the library preloaded, and each of these processes
// times the driver's own function and the wrapper in turns: what is added is the difference of the medians. That is the "time" of the
// benchmark; the counters are nanoseconds, of the parts and of a launch while one and two threads launch.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "test/interpose/driver_world.h"

using namespace tessera::test;

namespace {

struct Setting {
  const char *label, *policy, *report;
};
const Setting settings[] = {
    {"launch/home_no_report", "home", nullptr},
    {"launch/home_with_report", "home", "/dev/null"},
    {"launch/may_move_stays_home", "0", "/dev/null"},
    {"launch/redirected_moves_nothing", "1", "/dev/null"},
};
constexpr const char* child_argument = "measure";
constexpr int rounds = 101, launches_a_round = 5000;

using Launch = decltype(&::cuLaunchKernel);

double nanoseconds(Launch launch, CUfunction function, void** params, int count) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / count;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// What a child says of itself on its standard output, in nanoseconds.
struct Measured {
  double driver = 0, wrapped = 0, one_thread = 0, two_threads = 0;
};

void measure(Measured& result) {
  const World world;
  const auto wrapper = TESSERA_DRIVER(cuLaunchKernel);
  const auto driver = reinterpret_cast<Launch>(by_name<decltype(&fake_address)>("fake_address")("cuLaunchKernel"));
  CUdeviceptr pointer = World::memory(4096);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  by_name<decltype(&fake_quiet)>("fake_quiet")();
  std::vector<double> plain, wrapped;
  for (int round = 0; round < rounds; ++round) {
    plain.push_back(nanoseconds(driver, function, params, launches_a_round));
    wrapped.push_back(nanoseconds(wrapper, function, params, launches_a_round));
  }
  result.driver = median(plain);
  result.wrapped = median(wrapped);
}

void scale(Measured& result) {
  const World world;
  CUcontext context = nullptr;
  TESSERA_DRIVER(cuCtxGetCurrent)(&context);
  const auto wrapper = TESSERA_DRIVER(cuLaunchKernel);
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  by_name<decltype(&fake_quiet)>("fake_quiet")();
  for (const int count : {1, 2}) {
    std::vector<std::thread> threads;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        TESSERA_DRIVER(cuCtxSetCurrent)(context);
        void* params[] = {nullptr};
        CUdeviceptr nothing = 0;
        params[0] = &nothing;
        nanoseconds(wrapper, function, params, 500'000);
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double spent = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    (count == 1 ? result.one_thread : result.two_threads) = spent / 500'000;
  }
}

// False when the child failed.
bool run_child(const Setting& setting, Measured& result) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", TESSERA_LIBRARY, 1);
    setenv("LD_LIBRARY_PATH", TESSERA_FAKE_FOLDER, 1);
    setenv("TESSERA_POLICY", setting.policy, 1);
    if (setting.report != nullptr) setenv("TESSERA_REPORT", setting.report, 1);
    dup2(ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "bench_interpose", child_argument, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  const bool whole = read(ends[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int be_child() {
  Measured result;
  measure(result);
  scale(result);
  return write(STDOUT_FILENO, &result, sizeof result) == static_cast<ssize_t>(sizeof result) ? 0 : 1;
}

void added_by_launch(benchmark::State& state, const Setting& setting) {
  Measured result;
  for (auto _ : state) {
    if (!run_child(setting, result)) {
      state.SkipWithError("the measuring process failed");
      break;
    }
    state.SetIterationTime(std::max(0.0, result.wrapped - result.driver) * 1e-9);
  }
  state.counters["driver_ns"] = result.driver;
  state.counters["wrapped_ns"] = result.wrapped;
  state.counters["one_thread_ns"] = result.one_thread;
  state.counters["two_threads_ns"] = result.two_threads;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == child_argument) return be_child();
  for (const Setting& setting : settings) {
    benchmark::RegisterBenchmark(setting.label, [&setting](benchmark::State& state) { added_by_launch(state, setting); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
