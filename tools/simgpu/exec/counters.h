// What a launch did, in numbers: the input of the time model and of the benchmarks.
//
// Lane figures count active lanes; a lane that a guard predicate switches off still counts, as it occupies its place in the warp.
// Floating operations count instructions, not flops: an fma is one; packed (x2) forms count two. tensor counts multiply-adds.
// Invariant: the same launch gives the same counters, whatever the number of worker threads.
// Units: instructions, multiply-adds, bytes, 32-byte sectors. Threads: a plain value.
#pragma once

#include <array>
#include <cstdint>

namespace tessera::simgpu {

enum class Unit : std::uint8_t { integer, fp16, fp32, fp64, special, convert, memory, control, count_ };
enum class TensorType : std::uint8_t { f16, bf16, tf32, f64, i8, count_ };

struct Counters {
  std::uint64_t threads = 0, blocks = 0, warps = 0;
  std::uint64_t warp_instructions = 0, lane_instructions = 0;
  std::array<std::uint64_t, static_cast<unsigned>(Unit::count_)> lane_ops{};      // by unit
  std::array<std::uint64_t, static_cast<unsigned>(TensorType::count_)> tensor{};  // multiply-adds by input type
  std::uint64_t global_read_bytes = 0, global_written_bytes = 0;                  // asked for by lanes
  std::uint64_t global_read_sectors = 0, global_written_sectors = 0;              // distinct 32-byte sectors per warp access
  std::uint64_t unique_read_sectors = 0, unique_written_sectors = 0;              // distinct 32-byte sectors of the whole launch
  std::uint64_t external_sectors = 0;                                             // of those, in host memory or another GPU's
  std::uint64_t global_atomics = 0;                                               // lanes
  std::uint64_t shared_read_bytes = 0, shared_written_bytes = 0;
  std::uint64_t barriers = 0;                          // arrivals of warps
  std::uint64_t branches = 0, divergent_branches = 0;  // by warp

  [[nodiscard]] std::uint64_t ops(Unit unit) const { return lane_ops[static_cast<unsigned>(unit)]; }
  [[nodiscard]] std::uint64_t tensor_ops(TensorType type) const { return tensor[static_cast<unsigned>(type)]; }
  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

}  // namespace tessera::simgpu
