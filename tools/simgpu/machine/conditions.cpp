#include "tools/simgpu/machine/conditions.h"

#include <mutex>
#include <unordered_map>

namespace tessera::simgpu {
namespace {

struct Conditions {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, unsigned> values;
};
Conditions& conditions() {
  static Conditions* const instance = new Conditions;  // outlives exit handlers that still call the driver
  return *instance;
}

}  // namespace

void make_condition(std::uint64_t handle, unsigned value) {
  const std::lock_guard held(conditions().mutex);
  conditions().values[handle] = value;
}

void forget_condition(std::uint64_t handle) {
  const std::lock_guard held(conditions().mutex);
  conditions().values.erase(handle);
}

bool set_condition(std::uint64_t handle, unsigned value) {
  const std::lock_guard held(conditions().mutex);
  const auto found = conditions().values.find(handle);
  if (found == conditions().values.end()) return false;
  found->second = value;
  return true;
}

unsigned condition(std::uint64_t handle) {
  const std::lock_guard held(conditions().mutex);
  const auto found = conditions().values.find(handle);
  return found == conditions().values.end() ? 0 : found->second;
}

}  // namespace tessera::simgpu
