#include "profiles/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr std::uint64_t most_count = std::uint64_t{1} << 53;  // what a JSON number holds exactly
constexpr double rounding = 1e-9;                             // relative; files may come from other tools

struct Point {
  double value, share;
};
using Points = std::array<Point, 4>;

Points points_of(const Distribution& d) { return {{{d.min, 0.0}, {d.p50, 0.5}, {d.p90, 0.9}, {d.max, 1.0}}}; }

// The share of durations below `value`, or up to it (`inclusive`: the two differ where several points lie on one value).
double share_at(const Distribution& d, double value, bool inclusive) {
  const Points points = points_of(d);
  if (inclusive ? value >= d.max : value > d.max) return 1;
  if (inclusive ? value < d.min : value <= d.min) return 0;
  for (std::size_t i = points.size() - 1; i > 0; --i) {
    const Point &low = points[i - 1], &high = points[i];
    if (inclusive && value >= high.value) return high.share;
    if (value > low.value || (inclusive && value >= low.value)) {
      return value >= high.value ? high.share : low.share + (high.share - low.share) * ((value - low.value) / (high.value - low.value));
    }
  }
  return 0;
}

class Mixture {
 public:
  explicit Mixture(std::span<const Distribution> parts) : parts_(parts) {
    for (const Distribution& d : parts) {
      total_ += static_cast<double>(d.count);
      for (const Point& p : points_of(d)) breaks_.push_back(p.value);
    }
    std::sort(breaks_.begin(), breaks_.end());
    breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
  }

  // The least value that at least the share `wanted` doesn't exceed.
  [[nodiscard]] double percentile(double wanted) const {
    const auto reached =
        std::partition_point(breaks_.begin(), breaks_.end(), [&](double value) { return share(value, true) < wanted - tolerance; });
    if (reached == breaks_.begin()) return breaks_.front();
    if (reached == breaks_.end()) return breaks_.back();
    const double below = *(reached - 1), above = *reached;
    const double share_below = share(below, true), share_above = share(above, false);
    if (share_above <= wanted + tolerance) return above;
    return std::clamp(below + (above - below) * ((wanted - share_below) / (share_above - share_below)), below, above);
  }

 private:
  static constexpr double tolerance = 1e-12;

  [[nodiscard]] double share(double value, bool inclusive) const {
    double sum = 0;
    for (const Distribution& d : parts_) sum += static_cast<double>(d.count) / total_ * share_at(d, value, inclusive);
    return sum;
  }

  std::span<const Distribution> parts_;
  std::vector<double> breaks_;
  double total_ = 0;
};

// Rounding must not carry a moment out of what the durations allow.
void keep_in_bounds(Distribution& d) {
  d.mean = std::clamp(d.mean, d.min, d.max);
  d.variance = std::clamp(d.variance, 0.0, (d.max - d.min) * (d.max - d.min) / 4);
}

}  // namespace

std::string Distribution::violation() const {
  if (count == 0) return "count is 0";
  if (count > most_count) return "count is above 2^53";
  for (const double value : {min, p50, p90, max, mean, variance}) {
    if (!std::isfinite(value) || value < 0) return "a figure is negative or not finite";
  }
  if (!(min <= p50 && p50 <= p90 && p90 <= max)) return "min <= p50 <= p90 <= max doesn't hold";
  const double slack = rounding * max;
  if (mean < min - slack || mean > max + slack) return "mean isn't between min and max";
  const double most = (max - min) * (max - min) / 4;
  if (variance > most + slack * max) return "variance is larger than min and max allow";
  return "";
}

Result<Distribution> distribution_of(std::span<const double> seconds) {
  if (seconds.empty()) return Error{ErrorCode::bad_data, "no durations", "", ""};
  std::vector<double> sorted(seconds.begin(), seconds.end());
  for (const double s : sorted) {
    if (!std::isfinite(s) || s < 0) return Error{ErrorCode::bad_data, "a duration is negative or not finite", "", ""};
  }
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const auto rank = [&](double share) { return sorted[static_cast<std::size_t>(std::max(1.0, std::ceil(share * n - rounding))) - 1]; };
  Distribution d{sorted.size(), sorted.front(), rank(0.5), rank(0.9), sorted.back(), 0, 0};
  for (const double s : sorted) d.mean += s / n;
  for (const double s : sorted) d.variance += (s - d.mean) * (s - d.mean) / n;
  keep_in_bounds(d);
  return d;
}

Distribution combined(std::span<const Distribution> parts) {
  if (parts.empty()) return {};
  Distribution all = parts.front();
  if (parts.size() == 1) return all;
  double total = 0;
  for (const Distribution& d : parts) total += static_cast<double>(d.count);
  all.count = 0;
  all.mean = all.variance = 0;
  for (const Distribution& d : parts) {
    all.count = std::min(most_count, all.count + d.count);
    all.min = std::min(all.min, d.min);
    all.max = std::max(all.max, d.max);
    all.mean += d.mean * (static_cast<double>(d.count) / total);
  }
  for (const Distribution& d : parts) {
    all.variance += (d.variance + (d.mean - all.mean) * (d.mean - all.mean)) * (static_cast<double>(d.count) / total);
  }
  const Mixture mixture(parts);
  all.p50 = mixture.percentile(0.5);
  all.p90 = std::max(all.p50, mixture.percentile(0.9));
  keep_in_bounds(all);
  return all;
}

}  // namespace tessera
