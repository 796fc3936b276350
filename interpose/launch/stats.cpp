#include "interpose/launch/stats.h"

namespace tessera::interpose {

KernelStats& Stats::of(std::string_view kernel) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end()) return *found->second;
  auto made = std::make_unique<KernelStats>();
  made->name = kernel;
  return *kernels_.emplace(made->name, std::move(made)).first->second;
}

std::vector<const KernelStats*> Stats::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<const KernelStats*> found;
  found.reserve(kernels_.size());
  for (const auto& [name, stats] : kernels_) found.push_back(stats.get());
  return found;
}

}  // namespace tessera::interpose
