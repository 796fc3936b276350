#include "profiles/distribution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "test/profiles/random_database.h"

using namespace tessera;
using tessera::testing::RandomDatabase;

TEST_CASE("figures of single durations are what their definitions say") {
  const double seconds[] = {4, 1, 3, 2};
  const Distribution d = distribution_of(seconds).value();
  CHECK(d.count == 4);
  CHECK(d.min == 1);
  CHECK(d.max == 4);
  CHECK(d.p50 == 2);  // the second of four
  CHECK(d.p90 == 4);
  CHECK(d.mean == Approx(2.5));
  CHECK(d.variance == Approx(1.25));
  std::vector<double> ten(10);
  for (std::size_t i = 0; i < ten.size(); ++i) ten[i] = static_cast<double>(i + 1);
  CHECK(distribution_of(ten)->p90 == 9);
  CHECK(distribution_of(ten)->p50 == 5);
}

TEST_CASE("lost and inverted records are refused, not averaged") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_FALSE(distribution_of({}).ok());
  for (const double bad : {-1e-9, infinity, std::nan("")}) {
    const double seconds[] = {1, bad, 2};
    CHECK_FALSE(distribution_of(seconds).ok());
  }
}

TEST_CASE("any durations give a distribution that keeps its invariant, and so does any combination") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<Distribution> parts(1 + random() % 6);
    std::vector<double> all;
    for (Distribution& part : parts) {
      std::vector<double> seconds(1 + random() % 30);
      // Magnitudes from nanoseconds to hours, and many equal values.
      const double scale = std::pow(10.0, static_cast<double>(random() % 13) - 9);
      for (double& s : seconds) s = static_cast<double>(random() % 4) * scale;
      part = distribution_of(seconds).value();
      REQUIRE(part.violation().empty());
      all.insert(all.end(), seconds.begin(), seconds.end());
    }
    const Distribution whole = combined(parts), truth = distribution_of(all).value();
    REQUIRE(whole.violation().empty());
    CHECK(whole.count == truth.count);
    CHECK(whole.min == truth.min);
    CHECK(whole.max == truth.max);
    CHECK(whole.mean == Approx(truth.mean).epsilon(1e-9));
    CHECK(whole.variance == Approx(truth.variance).epsilon(1e-6).margin(1e-15 * truth.max * truth.max));
    const auto least = std::min_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.p50 < b.p50; });
    const auto most = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.p50 < b.p50; });
    CHECK(whole.p50 >= least->p50 * (1 - 1e-9));
    CHECK(whole.p50 <= most->p50 * (1 + 1e-9));
  }
}

TEST_CASE("parts that agree keep their percentiles") {
  RandomDatabase random(5);
  for (int round = 0; round < 200; ++round) {
    const Distribution one = random.distribution();
    const std::vector<Distribution> parts(1 + random.below(7), one);
    const Distribution all = combined(parts);
    CHECK(all.p50 == Approx(one.p50).epsilon(1e-9));
    CHECK(all.p90 == Approx(one.p90).epsilon(1e-9));
    CHECK(all.count == parts.size() * one.count);
  }
}

TEST_CASE("percentiles of a mixture lie where its durations lie") {
  const Distribution fast{90, 1, 1, 1, 1, 1, 0}, slow{10, 5, 5, 5, 5, 5, 0};
  const Distribution parts[] = {slow, fast};
  CHECK(combined(parts).p50 == 1);
  CHECK(combined(parts).p90 == 1);  // exactly nine tenths are fast
  const Distribution slower{20, 5, 5, 5, 5, 5, 0};
  const Distribution other[] = {slower, fast};
  CHECK(combined(other).p90 == 5);
}

TEST_CASE("each broken sentence of the invariant is seen") {
  const Distribution sound{10, 1, 2, 3, 4, 2.5, 1};
  REQUIRE(sound.violation().empty());
  const auto broken = [&](auto change) {
    Distribution d = sound;
    change(d);
    return !d.violation().empty();
  };
  CHECK(broken([](Distribution& d) { d.count = 0; }));
  CHECK(broken([](Distribution& d) { d.count = (std::uint64_t{1} << 53) + 1; }));
  CHECK(broken([](Distribution& d) { d.min = -1; }));
  CHECK(broken([](Distribution& d) { d.p50 = 3.5; }));
  CHECK(broken([](Distribution& d) { d.p90 = 5; }));
  CHECK(broken([](Distribution& d) { d.mean = 4.1; }));
  CHECK(broken([](Distribution& d) { d.variance = 2.3; }));
  CHECK(broken([](Distribution& d) { d.max = std::numeric_limits<double>::infinity(); }));
  CHECK(broken([](Distribution& d) { d.variance = std::nan(""); }));
}
