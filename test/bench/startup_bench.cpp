// What the preloaded library costs a process that doesn't use CUDA: start to end of a small command, with and without it.
//
// The counters are minor page faults of the child (pages) and, for the preloaded runs, nothing else: compare the rows.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace {

struct Command {
  std::vector<const char*> arguments;
  bool preload;
};

pid_t start(const Command& command) {
  static const std::string preload = "LD_PRELOAD=" TESSERA_LIBRARY;
  std::vector<char*> arguments;
  for (const char* argument : command.arguments) arguments.push_back(const_cast<char*>(argument));
  arguments.push_back(nullptr);
  std::string path = "PATH=" + std::string(::getenv("PATH"));
  std::string added = preload;
  char* variables[] = {path.data(), command.preload ? added.data() : nullptr, nullptr};
  pid_t child = -1;
  return ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), variables) == 0 ? child : -1;
}

void run_process(benchmark::State& state, const Command& command) {
  double pages = 0;
  for ([[maybe_unused]] const auto& iteration : state) {
    const pid_t child = start(command);
    int status = 0;
    rusage usage{};
    if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) {
      state.SkipWithError("the command failed");
      break;
    }
    pages += static_cast<double>(usage.ru_minflt);
  }
  state.counters["pages"] = benchmark::Counter(pages, benchmark::Counter::kAvgIterations);
}

const Command true_alone{{"/bin/true"}, false};
const Command true_preloaded{{"/bin/true"}, true};
const Command python_alone{{"python3", "-S", "-c", "pass"}, false};
const Command python_preloaded{{"python3", "-S", "-c", "pass"}, true};

BENCHMARK_CAPTURE(run_process, true_alone, true_alone)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(run_process, true_preloaded, true_preloaded)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(run_process, python_alone, python_alone)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(run_process, python_preloaded, python_preloaded)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
