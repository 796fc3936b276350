// Each program gives the same bytes on the simulated GPUs alone and under every policy, and random policies do redirect.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "test/programs/tessera_run.h"

namespace tessera::test {
namespace {

struct Machine {
  std::string gpus;  // as for --sim
  int count;
  int seeds;
};

// TESSERA_TEST_SEEDS asks for more random placements on the first machine.
int seeds() {
  const char* more = std::getenv("TESSERA_TEST_SEEDS");
  return more == nullptr ? 10 : std::atoi(more);
}

const Machine machines[] = {{"a100,l40s", 2, seeds()}, {"h100,l40s,a100", 3, 4}};

std::vector<std::string> policies_on(const Machine& machine) {
  std::vector<std::string> policies{"home", "fastest"};
  for (int seed = 1; seed <= machine.seeds; ++seed) policies.push_back("random:" + std::to_string(seed));
  for (int gpu = 0; gpu < machine.count; ++gpu) policies.push_back(std::to_string(gpu));
  return policies;
}

// Every second random placement also runs in a random order of what streams and events leave unordered, and races are looked for:
// the simulator reports them on stderr, which must stay empty.
Environment environment_of(const Machine& machine, const std::string& policy) {
  Environment environment = simulated(machine.gpus);
  if (policy.starts_with("random:") && (policy.back() - '0') % 2 == 0) {
    environment["TESSERA_SIM_ORDER"] = policy.substr(7);
    environment["TESSERA_SIM_RACES"] = "1";
  }
  return environment;
}

void require_same(const ProgramRun& run, const ProgramRun& alone) {
  INFO(run.process.err);
  REQUIRE(run.process.status == alone.process.status);
  CHECK(run.process.out == alone.process.out);
  CHECK((run.output == alone.output));  // bytes: not worth printing
}

// Home is the GPU that the program sees as its device 0.
void check_policies(const std::string& program, const Machine& machine, bool redirects) {
  INFO(program << " on " << machine.gpus);
  const ProgramRun alone = run_program(program, simulated(machine.gpus));
  {
    INFO(alone.process.err);
    REQUIRE(alone.process.status == 0);
    REQUIRE(!alone.output.empty());
    CHECK(alone.process.err.empty());
  }
  std::uint64_t redirected = 0;
  for (const std::string& policy : policies_on(machine)) {
    INFO("policy " << policy);
    const ProgramRun run = run_with_policy(program, environment_of(machine, policy), policy);
    require_same(run, alone);
    CHECK(run.process.err.empty());
    CHECK(run.launches > 0);
    if (policy == "home" || policy == "0") CHECK(run.redirected == 0);
    if (policy == std::to_string(machine.count - 1)) CHECK((run.redirected > 0) == redirects);
    if (policy.starts_with("random:")) redirected += run.redirected;
  }
  CHECK((redirected > 0) == redirects);
}

// Another GPU as home: the program's devices are in another order; compare with that order, alone.
void check_other_home(const std::string& program, const Machine& machine) {
  Environment environment = simulated(machine.gpus);
  environment["CUDA_VISIBLE_DEVICES"] = machine.count == 2 ? "1,0" : "1,0,2";
  const ProgramRun alone = run_program(program, environment);
  REQUIRE(alone.process.status == 0);
  for (const std::string policy : {"home", "random:1"}) {
    INFO(program << " under tessera run on " << machine.gpus << ", home 1, policy " << policy);
    require_same(run_under_tessera(program, {"--sim", machine.gpus, "--home", "1", "--policy", policy}), alone);
  }
}

void check_program(const std::string& program, bool redirects) {
  for (const Machine& machine : machines) {
    check_policies(program, machine, redirects);
    check_other_home(program, machine);
  }
}

}  // namespace

#define TESSERA_PROGRAM(name, redirects) \
  TEST_CASE("end to end: " #name) { check_program(#name, redirects); }
#include "programs.def"
#undef TESSERA_PROGRAM

}  // namespace tessera::test
