// The memory of one simulated GPU: allocations in a private range of this process's addresses.
//
// A device address *is* a host address: each device reserves its own range (PROT_NONE, costs no memory), so that the driver copies with
// memcpy and the interpreter loads with a plain load. Whether an access is allowed is decided by the table of allocations, never by the
// page protection: bounds are exact to the byte, and gaps of at least `guard_bytes` lie between allocations.
// Invariant: check() names the first violated sentence. Live allocations don't overlap, lie in the range, and add up to used(), with what
// is charged. Contents never survive a free: small blocks are overwritten with `poison_byte`, the whole pages of large ones are given back
// (they read as zero when they come into use again). Addresses are reused eagerly, lowest first; they are the same in every run. Units:
// bytes. Ownership: the range goes with the object. Threads: any; kernels that run use a snapshot, which is immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "profiles/base/result.h"

namespace tessera::simgpu {

inline constexpr std::uint64_t allocation_alignment = 512;
inline constexpr std::uint64_t guard_bytes = 512;
inline constexpr unsigned char poison_byte = 0xA5;

enum class AllocationKind : std::uint8_t {
  device,    // made by allocate()
  external,  // mapped by map_external(): pinned or managed host memory, a peer's allocation
};

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  AllocationKind kind = AllocationKind::device;
  std::uint64_t id = 0;  // grows with every allocation of the device; tells apart two that had the same address
  std::string label;     // "module global lut", or empty; for messages
  [[nodiscard]] std::uint64_t end() const { return base + size; }
  [[nodiscard]] bool holds(std::uint64_t address) const { return address - base < size; }
};

// What a running kernel sees: the allocations as they were when it began, sorted by base.
struct AllocationTable {
  std::vector<Allocation> rows;
  // The row that holds `address`, else nullptr.
  [[nodiscard]] const Allocation* find(std::uint64_t address) const;
  // "12 bytes behind [0x…, 0x…) of 4096 bytes (allocation 7)" or "no allocation on this device".
  [[nodiscard]] std::string describe_nearest(std::uint64_t address) const;
};

class DeviceMemory {
 public:
  // Reserves the range. `capacity` is what allocate() may hand out in all.
  static Result<std::unique_ptr<DeviceMemory>> create(unsigned ordinal, std::uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Errors: usage (size 0, alignment not a power of two), environment (out of memory).
  Result<std::uint64_t> allocate(std::uint64_t size, std::uint64_t alignment = allocation_alignment, std::string label = {});
  // `address` must be the base of a live allocation made by allocate(); else not_found.
  Status free(std::uint64_t address);

  // Counts bytes that lie elsewhere as this device's (mapped physical memory). Error environment: out of memory.
  Status charge(std::uint64_t bytes);
  void discharge(std::uint64_t bytes);

  // Lets kernels of this device touch memory that isn't in its range. Fails (usage) when it overlaps what is mapped.
  Status map_external(std::uint64_t address, std::uint64_t size, std::string label);
  Status unmap_external(std::uint64_t address);

  // The live allocation (of either kind) that holds `address`.
  [[nodiscard]] std::optional<Allocation> find(std::uint64_t address) const;
  // Whether [address, address + size) lies in one live allocation, or in external ones that follow each other without a gap.
  [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t size) const;
  // Whether the address is in this device's reserved range, allocated or not.
  [[nodiscard]] bool owns(std::uint64_t address) const { return address - base_ < reserved_; }
  [[nodiscard]] std::shared_ptr<const AllocationTable> snapshot() const;

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t used() const;        // requested bytes of live device allocations, rounded as charged
  [[nodiscard]] std::uint64_t high_water() const;  // largest used() so far
  [[nodiscard]] std::string check() const;

 private:
  DeviceMemory(std::uint64_t base, std::uint64_t reserved, std::uint64_t capacity);
  void scrub(std::uint64_t base, std::uint64_t size);
  void release_span(std::uint64_t base, std::uint64_t size);

  const std::uint64_t base_, reserved_, capacity_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Allocation> live_;
  std::map<std::uint64_t, std::uint64_t> free_;  // base → size of free spans, coalesced
  std::map<std::uint64_t, std::uint64_t> span_;  // base → size of the span that the allocation at base took
  std::uint64_t charged_ = 0;                    // part of used_ that lies elsewhere
  std::uint64_t used_ = 0, high_water_ = 0, next_id_ = 1;
  mutable std::shared_ptr<const AllocationTable> table_;  // made on demand, dropped on change
};

}  // namespace tessera::simgpu
