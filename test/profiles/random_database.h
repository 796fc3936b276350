// Databases made from a seed, so small in their choices that two of them share records, runs and names.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "profiles/database.h"

namespace tessera::testing {

class RandomDatabase {
 public:
  explicit RandomDatabase(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  Distribution distribution() {
    std::vector<double> seconds(1 + below(9));
    for (double& s : seconds) s = static_cast<double>(1 + below(1000)) * 1e-6;
    return distribution_of(seconds).value();
  }

  Run run(std::uint64_t id) { return {id, 1'700'000'000 + below(2), "0.1", below(2) == 0 ? "580.1" : "quote \" and \\", below(2) == 0}; }

  Database make(std::uint64_t most_samples = 20) {
    DatabaseBuilder builder;
    for (std::uint64_t id = 1; id <= runs; ++id) {
      if (!builder.add_run(run(id)).ok()) return {};
    }
    for (std::uint64_t n = below(most_samples); n > 0; --n) {
      if (!builder.add(kernel(), shape(), device(), sample()).ok()) return {};
    }
    return builder.build().value();
  }

 private:
  static constexpr std::uint64_t runs = 3;

  KernelKey kernel() {
    const std::string name = std::string("_Z6kernel") + static_cast<char>('a' + below(3));
    return {name, content_hash(std::string(1, static_cast<char>('0' + below(2))))};
  }
  LaunchShape shape() {
    return {{1 + static_cast<std::uint32_t>(below(2)), 1, 1}, {128, 1, 1}, static_cast<std::uint32_t>(below(2) * 1024)};
  }
  DeviceIdentity device() {
    const DeviceIdentity choices[] = {{"A100-SXM4-80GB", 8, 0, 108}, {"A100-SXM4-80GB", 8, 0, 98}, {"L40S", 8, 9, 142}};
    return choices[below(3)];
  }
  Sample sample() {
    return {1 + below(runs),
            distribution(),
            {static_cast<std::uint32_t>(below(3) * 32), static_cast<std::uint32_t>(below(2) * 16), below(2) * 4096, below(2)}};
  }

  std::mt19937_64 random_;
};

}  // namespace tessera::testing
