// How long something takes: the figures that are kept of many durations.
//
// Invariant (violation() says which sentence is broken): count ≥ 1; all finite and not negative; min ≤ p50 ≤ p90 ≤ max;
// min ≤ mean ≤ max; variance ≤ (max − min)²/4, the most that a population between min and max can have.
// Units: seconds, seconds². Variance is the population's (divided by count). Percentiles are nearest-rank. Threads: values, pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "profiles/base/result.h"

namespace tessera {

struct Distribution {
  std::uint64_t count = 0;
  double min = 0, p50 = 0, p90 = 0, max = 0;
  double mean = 0, variance = 0;
  auto operator<=>(const Distribution&) const = default;

  // "" when the invariant holds.
  [[nodiscard]] std::string violation() const;
};

// Of single durations, in any order. Error bad_data for none, or one that isn't finite or is negative (a lost or inverted record).
[[nodiscard]] Result<Distribution> distribution_of(std::span<const double> seconds);

// Of all durations of several distributions together, none of them empty. Count, min, max, mean and variance are exact but for rounding;
// p50 and p90 are read off the mixture of the parts' piecewise-linear distribution functions, so that parts that agree keep their
// percentiles. The result depends on the order of the parts at most by rounding.
[[nodiscard]] Distribution combined(std::span<const Distribution> parts);

}  // namespace tessera
