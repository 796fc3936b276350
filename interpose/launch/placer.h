// The policy of this process: settings, profile database and the catalogue's models of the GPUs that are there.
//
// Invariant: fixed after devices(); choosing takes no lock. Threads: any after that.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/policy/choose.h"
#include "profiles/base/settings.h"
#include "profiles/database.h"

namespace tessera::interpose {

class Placer {
 public:
  Placer() = default;  // home
  Placer(Placer&& other) noexcept : policy_(other.policy_), database_(std::move(other.database_)), models_(std::move(other.models_)) {}
  Placer& operator=(Placer&& other) noexcept;

  // Error: the policy or the database can't be read.
  [[nodiscard]] static Result<Placer> make(const Settings& settings);
  // The GPUs' names by ordinal, as the driver gives them. Error: the policy names a GPU that isn't there.
  [[nodiscard]] Status devices(const std::vector<std::string>& names);

  [[nodiscard]] bool is_home() const { return policy_.kind == policy::PolicyKind::home; }
  // Might anything be launched there because of us?
  [[nodiscard]] bool may_use(int device) const;
  // Must it be exactly this GPU? Then a launch that can't go there has a reason.
  [[nodiscard]] std::optional<int> wanted() const;

  // `feasible`: ordinals where the launch can run, home among them.
  [[nodiscard]] int choose(KernelKeyView kernel, const LaunchShape& shape, const WorkEstimate* thread_work, int home,
                           const std::vector<int>& feasible) noexcept;

 private:
  policy::Policy policy_;
  std::unique_ptr<Database> database_;
  std::vector<const DeviceModel*> models_;
  std::atomic<std::uint64_t> launch_number_{0};
};

}  // namespace tessera::interpose
