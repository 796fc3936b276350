// A small program for process_test.cpp: launcher COUNT [fork | plugin | finished].
// finished: whether the driver was asked to wait for what was launched.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/interpose/driver_world.h"

using namespace tessera::test;

namespace {

int launch_all(int count, int expected_device) {
  CUdeviceptr pointer = World::memory(4096);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  reset();
  for (int i = 0; i < count; ++i) {
    if (World::launch(function, params) != CUDA_SUCCESS) return 3;
  }
  for (const FakeLaunch& made : launches()) {
    if (expected_device >= 0 && made.device != expected_device) return 4;
  }
  return 0;
}

int fork_and_launch() {
  const pid_t child = fork();
  if (child == 0) {
    const int result = launch_all(2, 0);
    if (result == 0) std::puts("child at home");
    std::fflush(stdout);
    std::exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

// A library that finds its neighbour by its own run path.
int use_plugin() {
  void* outer = dlopen(TESSERA_PLUGIN, RTLD_NOW);
  if (outer == nullptr) return 6;
  const auto name = reinterpret_cast<const char* (*)()>(dlsym(outer, "name_of_inner"));
  std::puts(name == nullptr ? "nothing" : name());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[2], "plugin") == 0) return use_plugin();
  const CUresult initialised = TESSERA_DRIVER(cuInit)(0);
  if (initialised != CUDA_SUCCESS) return static_cast<int>(initialised);
  const World world;
  const int result = launch_all(std::atoi(argv[1]), -1);
  if (argc > 2 && std::strcmp(argv[2], "finished") == 0) {
    std::printf("%u\n", calls("cuEventSynchronize"));
    return result;
  }
  return result == 0 && argc > 2 ? fork_and_launch() : result;
}
