// What `tessera run` checks before it starts a program, and the environment that it makes.
#include "tools/cli/run_plan.h"

#include <catch2/catch.hpp>

namespace tessera::cli {
namespace {

const Libraries libraries{"/lib/libtessera.so", "/lib/simgpu"};

Environment planned(const RunOptions& options, const Environment& environment = {}, int gpus = -1) {
  auto result = plan_run(options, libraries, environment, gpus);
  REQUIRE(result.ok());
  return *result;
}

std::string refusal(const RunOptions& options, const Environment& environment = {}, int gpus = -1) {
  auto result = plan_run(options, libraries, environment, gpus);
  REQUIRE_FALSE(result.ok());
  return result.error().message();
}

RunOptions with_home(int home, const std::string& sim = "") {
  RunOptions options;
  options.sim = sim;
  options.home = home;
  return options;
}

}  // namespace

TEST_CASE("run: the library goes before what is preloaded already, once") {
  CHECK(planned({}).at("LD_PRELOAD") == "/lib/libtessera.so");
  CHECK(planned({}, {{"LD_PRELOAD", "/a.so:/b.so"}}).at("LD_PRELOAD") == "/lib/libtessera.so:/a.so:/b.so");
  CHECK(planned({}, {{"LD_PRELOAD", "/a.so /lib/libtessera.so  /b.so"}}).at("LD_PRELOAD") == "/lib/libtessera.so:/a.so:/b.so");
}

TEST_CASE("run: simulated GPUs replace the driver's folder only when asked for") {
  CHECK(planned({}).count("LD_LIBRARY_PATH") == 0);
  RunOptions options;
  options.sim = "a100,l40s";
  const Environment environment = planned(options, {{"LD_LIBRARY_PATH", "/x:/lib/simgpu"}});
  CHECK(environment.at("LD_LIBRARY_PATH") == "/lib/simgpu:/x");
  CHECK(environment.at("TESSERA_SIM") == "a100,l40s");
  options.sim = "a100,nonesuch";
  CHECK(refusal(options).find("nonesuch") != std::string::npos);
}

TEST_CASE("run: --home puts one GPU first and keeps the order of the others") {
  for (const auto& [home, list] : {std::pair{0, "0,1,2"}, {1, "1,0,2"}, {2, "2,0,1"}}) {
    CHECK(planned(with_home(home, "a100,l40s,h100")).at("CUDA_VISIBLE_DEVICES") == list);
    CHECK(planned(with_home(home), {}, 3).at("CUDA_VISIBLE_DEVICES") == list);
  }
  CHECK(planned(with_home(1), {{"CUDA_VISIBLE_DEVICES", "GPU-aa,GPU-bb,0"}}).at("CUDA_VISIBLE_DEVICES") == "GPU-bb,GPU-aa,0");
}

TEST_CASE("run: a GPU that isn't there is refused with the range") {
  CHECK(refusal(with_home(9, "a100,l40s")).find("0 to 1") != std::string::npos);
  CHECK(refusal(with_home(-1, "a100,l40s")).find("0 to 1") != std::string::npos);
  CHECK(refusal(with_home(0)).find("--sim") != std::string::npos);  // nobody knows the GPUs
  RunOptions options;
  options.sim = "a100,l40s";
  options.policy = "2";
  CHECK(refusal(options).find("0 to 1") != std::string::npos);
  options.policy = "1";
  CHECK(planned(options).at("TESSERA_POLICY") == "1");
  options.policy = "quickest";
  CHECK(refusal(options).find("quickest") != std::string::npos);
}

TEST_CASE("run: a database that isn't there is refused before the program starts") {
  RunOptions options;
  options.profile = "/nonexistent/profile.json";
  CHECK(refusal(options).find("/nonexistent/profile.json") != std::string::npos);
}

}  // namespace tessera::cli
