// What the preloaded library adds to a cuLaunchKernel, over a driver that does nothing.
//
// The program starts itself once for each way in which the library may be set, with the library preloaded, and each of these processes
// times the driver's own function and the wrapper in turns: what is added is the difference of the medians.
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
    {"home, no report", "home", nullptr},
    {"home, with a report", "home", "/dev/null"},
    {"GPU 0: may move, stays home", "0", "/dev/null"},
    {"GPU 1: redirected, moves nothing", "1", "/dev/null"},
};
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

void measure(const char* label) {
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
  std::printf("%-34s driver %6.1f ns, wrapped %7.1f ns, added %7.1f ns\n", label, median(plain), median(wrapped),
              median(wrapped) - median(plain));
}

void scale(const char* label) {
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
    std::printf("%-34s %d threads: %6.1f ns a launch in each\n", label, count, spent / 500'000);
  }
}

int run_child(const char* self, const Setting& setting) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", TESSERA_LIBRARY, 1);
    setenv("LD_LIBRARY_PATH", TESSERA_FAKE_FOLDER, 1);
    setenv("TESSERA_POLICY", setting.policy, 1);
    if (setting.report != nullptr) setenv("TESSERA_REPORT", setting.report, 1);
    execl(self, self, setting.label, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') {
    measure(argv[1]);
    scale(argv[1]);
    return 0;
  }
  for (const Setting& setting : settings) {
    if (const int status = run_child("/proc/self/exe", setting); status != 0) return status;
  }
  return 0;
}
