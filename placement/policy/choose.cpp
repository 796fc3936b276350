#include "placement/policy/choose.h"

#include <fmt/core.h>

#include <charconv>

namespace tessera::policy {
namespace {

constexpr std::string_view random_prefix = "random:";

template <typename T>
bool read_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// SplitMix64: every seed gives an independent-looking sequence. Source: Steele, Lea, Flood, OOPSLA 2014.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct Time {
  double seconds;
  bool predicted;
};
std::optional<Time> time_on(const Candidate& c, const LaunchQuestion& q, const Database* database) noexcept {
  if (c.model == nullptr) return std::nullopt;
  if (database != nullptr) {
    if (const Record* record = database->find(q.kernel, q.shape, *c.model)) return Time{record->time.p50, false};
  }
  if (q.work == nullptr) return std::nullopt;
  const Prediction p = predict(*q.work, q.shape, *c.model);
  if (p.blocks_per_sm == 0) return std::nullopt;
  return Time{p.seconds, true};
}

Choice fastest(const LaunchQuestion& q, std::span<const Candidate> candidates, const Database* database) noexcept {
  Choice choice{q.home, false};
  std::optional<Time> best;
  for (const Candidate& c : candidates) {
    if (c.ordinal == q.home) best = time_on(c, q, database);
  }
  if (!best) return choice;
  choice.predicted = best->predicted;
  for (const Candidate& c : candidates) {
    const auto time = c.ordinal == q.home ? std::nullopt : time_on(c, q, database);
    if (!time || time->seconds >= best->seconds) continue;
    choice = {c.ordinal, choice.predicted || time->predicted};
    best = time;
  }
  return choice;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  Policy p;
  if (text == "home") return p;
  if (text == "fastest") {
    p.kind = PolicyKind::fastest;
    return p;
  }
  if (text.rfind(random_prefix, 0) == 0 && read_whole(text.substr(random_prefix.size()), p.seed)) {
    p.kind = PolicyKind::random;
    return p;
  }
  if (read_whole(text, p.device)) {
    p.kind = PolicyKind::device;
    return p;
  }
  return Error{ErrorCode::usage, fmt::format("unknown policy '{}'", text), "", "use home, fastest, random:SEED, or a GPU's index"};
}

Choice choose(const Policy& policy, const LaunchQuestion& q, std::span<const Candidate> candidates, const Database* database) noexcept {
  switch (policy.kind) {
    case PolicyKind::home:
      break;
    case PolicyKind::fastest:
      return fastest(q, candidates, database);
    case PolicyKind::random:
      if (!candidates.empty()) return {candidates[scramble(policy.seed ^ scramble(q.launch_number)) % candidates.size()].ordinal, false};
      break;
    case PolicyKind::device:
      for (const Candidate& c : candidates) {
        if (c.ordinal == policy.device) return {c.ordinal, false};
      }
      break;
  }
  return {q.home, false};
}

}  // namespace tessera::policy
