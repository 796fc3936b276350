// Counts for the report: launches of each kernel by GPU, and why they stayed home.
//
// Kernels are counted by name, since a name outlives its handles and modules. Invariant: counters only grow; a KernelStats is never
// destroyed. Threads: any; counting is one relaxed atomic addition, the table of names has its own lock.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/launch/reason.h"

namespace tessera::interpose {

inline constexpr std::size_t counted_devices = 32;  // ordinals above share the last counter

// Threads are spread over this many slots, so that those that launch the same kernel seldom meet at a counter or a lock.
inline constexpr std::size_t thread_slots = 8;
[[nodiscard]] inline std::size_t thread_slot() noexcept {
  static std::atomic<std::size_t> next{0};
  static thread_local const std::size_t slot = next.fetch_add(1, std::memory_order_relaxed) % thread_slots;
  return slot;
}

struct KernelStats {
  struct alignas(64) Counters {
    std::array<std::atomic<std::uint64_t>, counted_devices> launches{};
  };

  std::string name;
  std::array<Counters, thread_slots> counters{};
  std::array<std::atomic<std::uint64_t>, reason_count> reasons{};
  std::atomic<std::uint64_t> redirected{0};

  void launched(int device, bool elsewhere) noexcept {
    const auto slot = static_cast<std::size_t>(device) < counted_devices ? static_cast<std::size_t>(device) : counted_devices - 1;
    counters[thread_slot()].launches[slot].fetch_add(1, std::memory_order_relaxed);
    if (elsewhere) redirected.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t launches_on(std::size_t device) const noexcept {
    std::uint64_t sum = 0;
    for (const Counters& some : counters) sum += some.launches[device].load(std::memory_order_relaxed);
    return sum;
  }
  void stayed(Reason reason) noexcept {
    if (reason != Reason::none) reasons[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
};

class Stats {
 public:
  [[nodiscard]] KernelStats& of(std::string_view kernel);
  [[nodiscard]] std::vector<const KernelStats*> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KernelStats>, std::less<>> kernels_;
};

}  // namespace tessera::interpose
