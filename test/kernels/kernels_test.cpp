// Each theme is right on the simulated GPUs, and prints the same whatever the number of the simulator's threads.
#include <catch2/catch.hpp>
#include <string>

#include "test/programs/process.h"

namespace tessera::test {
namespace {

Outcome run_theme(const std::string& theme, const std::string& threads) {
  return run_process({TESSERA_KERNELS_DIR "/" + theme},
                     {{"LD_LIBRARY_PATH", TESSERA_BUILD_DIR "/lib/simgpu"}, {"TESSERA_SIM", "h100"}, {"TESSERA_SIM_THREADS", threads}});
}

void check_theme(const std::string& theme) {
  const Outcome one = run_theme(theme, "1");
  INFO(one.out << one.err);
  REQUIRE(one.status == 0);
  CHECK(one.err.empty());
  const Outcome two = run_theme(theme, "2");
  INFO(two.err);
  CHECK(two.status == 0);
  CHECK(two.out == one.out);
}

}  // namespace

#define TESSERA_KERNELS(name) \
  TEST_CASE("kernels: " #name) { check_theme(#name); }
#include "kernels.def"
#undef TESSERA_KERNELS

}  // namespace tessera::test
