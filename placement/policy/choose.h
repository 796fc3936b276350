// Where one launch goes: the policy as the user writes it, and its answer for a launch.
//
//   home         the GPU that the program chose
//   fastest      the GPU with the least kernel time: the database's median for exactly this launch where it has one, else the prediction.
//                The cost of moving data is not counted; the planner does that.
//   random:SEED  any GPU, by a hash of the seed and the number of the launch: the same launches go to the same places in every run
//   GPU-INDEX    always that GPU, by its ordinal among the visible ones
// Units: seconds. Ownership: a Policy is a value. Threads: pure functions that allocate nothing (choose).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "profiles/base/result.h"
#include "profiles/database.h"
#include "profiles/predict.h"

namespace tessera::policy {

enum class PolicyKind : std::uint8_t { home, fastest, random, device };

struct Policy {
  PolicyKind kind = PolicyKind::home;
  std::uint64_t seed = 0;  // random
  unsigned device = 0;     // device: ordinal
  bool operator==(const Policy&) const = default;
};

[[nodiscard]] Result<Policy> parse_policy(std::string_view text);

// A GPU that the launch could run on.
struct Candidate {
  unsigned ordinal = 0;
  const DeviceModel* model = nullptr;  // nullptr: not in the catalogue, so never the fastest unless it's all there is
};

struct LaunchQuestion {
  KernelKeyView kernel;
  LaunchShape shape;
  const WorkEstimate* work = nullptr;  // nullptr: nothing to predict from
  std::uint64_t launch_number = 0;     // of this process, for `random`
  unsigned home = 0;                   // ordinal
};

struct Choice {
  unsigned ordinal = 0;
  bool predicted = false;  // fastest: at least one time that decided was predicted
};

// `candidates` holds the GPUs where the launch can run, home among them. Ties, and GPUs without a figure, stay home.
[[nodiscard]] Choice choose(const Policy& policy, const LaunchQuestion& question, std::span<const Candidate> candidates,
                            const Database* database) noexcept;

}  // namespace tessera::policy
