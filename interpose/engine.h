// Everything that the library knows about this process, made at first contact and never destroyed (the program may launch while it exits).
//
// The engine's lock guards streams, helpers' contexts and coherence. It is held while a redirected launch is queued (fork, copies,
// launch, join: calls that queue and return) and while bytes are brought home, so that what is queued follows what was decided. It is
// never held while the program's own call runs, while a module is loaded, or while anything waits for a device.
// Threads: any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interpose/coherence/coherence.h"
#include "interpose/device/cuda_mover.h"
#include "interpose/device/helpers.h"
#include "interpose/device/streams.h"
#include "interpose/launch/placer.h"
#include "interpose/launch/stats.h"
#include "interpose/registry/registry.h"
#include "interpose/start.h"
#include "profiles/base/settings.h"

namespace tessera::interpose {

class Engine {
 public:
  // At first contact.
  static void make();
  [[nodiscard]] static Engine& get();
  // The engine when launches are counted (or moved), else null: one load.
  [[nodiscard]] static Engine* counting() noexcept { return start::mode() >= start::Mode::counting ? &get() : nullptr; }
  // The engine when launches may move, else null.
  [[nodiscard]] static Engine* moving() noexcept { return start::mode() == start::Mode::moving ? &get() : nullptr; }

  // The driver is up: can anything move in this process?
  [[nodiscard]] bool find_devices();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] bool policy_is_home() const { return placer_.is_home(); }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const std::string& home_only_because() const { return home_only_; }
  [[nodiscard]] int driver_version() const { return driver_version_; }
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  [[nodiscard]] bool launches_block() const { return launches_block_; }

  [[nodiscard]] std::mutex& lock() { return lock_; }
  // Under the lock:
  [[nodiscard]] Streams& streams() { return streams_; }
  [[nodiscard]] Helpers& helpers() { return helpers_; }
  [[nodiscard]] CudaMover& mover() { return mover_; }
  [[nodiscard]] coherence::Coherence& coherence() { return coherence_; }
  // With locks of their own:
  [[nodiscard]] Registry& registry() { return registry_; }
  [[nodiscard]] Stats& stats() { return stats_; }
  [[nodiscard]] Placer& placer() { return placer_; }

 private:
  Engine();

  Settings settings_;
  std::vector<std::string> problems_;
  std::string home_only_;
  bool launches_block_ = false;
  int driver_version_ = 0;
  bool is_simulated_ = false;
  Placer placer_;
  std::mutex lock_;
  Streams streams_;
  Helpers helpers_;
  CudaMover mover_{streams_, helpers_};
  coherence::Coherence coherence_{mover_};
  Registry registry_;
  Stats stats_;
};

// The device of the current context; -1 without one.
[[nodiscard]] int current_device() noexcept;
[[nodiscard]] CUcontext current_context() noexcept;

}  // namespace tessera::interpose
