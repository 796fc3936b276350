#include "interpose/launch/placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "placement/estimate/work_estimate.h"
#include "profiles/database_json.h"

namespace tessera::interpose {
namespace {

constexpr std::size_t most_candidates = 64;

// The simulated driver marks its GPUs in their names.
std::string catalogue_name(const std::string& name) {
  const auto mark = name.find(" (");
  return name.substr(0, mark);
}

// The error of what a variable holds, told by its name.
Error about(const char* variable, const std::string& value, Error error) {
  error.what = fmt::format("{}={}: {}", variable, value, error.what);
  return error;
}

}  // namespace

Placer& Placer::operator=(Placer&& other) noexcept {
  policy_ = other.policy_;
  database_ = std::move(other.database_);
  models_ = std::move(other.models_);
  return *this;
}

Result<Placer> Placer::make(const Settings& settings) {
  Placer placer;
  const auto parsed = policy::parse_policy(settings.policy);
  if (!parsed) return about("TESSERA_POLICY", settings.policy, parsed.error());
  placer.policy_ = *parsed;
  if (placer.policy_.kind == policy::PolicyKind::fastest && !settings.profile.empty()) {
    auto database = load_database(settings.profile);
    if (!database) return about("TESSERA_PROFILE", settings.profile, database.error());
    placer.database_ = std::make_unique<Database>(std::move(database).value());
  }
  return placer;
}

Status Placer::devices(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto model = find_device(catalogue_name(name));
    models_.push_back(model.ok() ? model.value() : nullptr);
  }
  if (policy_.kind == policy::PolicyKind::device && policy_.device >= names.size()) {
    return Error{ErrorCode::not_found,
                 fmt::format("TESSERA_POLICY={}: the program sees {} GPUs", policy_.device, names.size()),
                 {},
                 "running as without Tessera"};
  }
  return {};
}

bool Placer::may_use(int device) const {
  return !is_home() && (policy_.kind != policy::PolicyKind::device || static_cast<unsigned>(device) == policy_.device);
}

std::optional<int> Placer::wanted() const {
  return policy_.kind == policy::PolicyKind::device ? std::optional(static_cast<int>(policy_.device)) : std::nullopt;
}

int Placer::choose(KernelKeyView kernel, const LaunchShape& shape, const WorkEstimate* thread_work, int home,
                   const std::vector<int>& feasible) noexcept {
  std::array<policy::Candidate, most_candidates> candidates;
  const std::size_t count = std::min(feasible.size(), most_candidates);
  for (std::size_t i = 0; i < count; ++i) {
    candidates[i] = {static_cast<unsigned>(feasible[i]), models_[static_cast<std::size_t>(feasible[i])]};
  }
  policy::LaunchQuestion question{kernel, shape, nullptr, launch_number_.fetch_add(1, std::memory_order_relaxed),
                                  static_cast<unsigned>(home)};
  WorkEstimate work;
  if (thread_work != nullptr) {
    work = estimate::scale(*thread_work, shape);
    question.work = &work;
  }
  return static_cast<int>(policy::choose(policy_, question, std::span(candidates.data(), count), database_.get()).ordinal);
}

}  // namespace tessera::interpose
