// One simulated GPU as the interpreter sees it: its memory and the few facts that a program can read.
//
// Ownership: the driver owns Devices; modules and launches refer to them. Threads: traits are constant, memory has its own rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/simgpu/machine/memory.h"

namespace tessera::simgpu {

struct DeviceTraits {
  unsigned ordinal = 0;
  std::string model;  // "A100-SXM4-40GB", for messages
  unsigned compute_major = 8, compute_minor = 0;
  unsigned sm_count = 108;  // %nsmid
  std::uint64_t memory_bytes = std::uint64_t{16} << 30;
  std::uint32_t shared_per_block_max = 227 * 1024;  // with opt-in
  std::uint32_t max_threads_per_block = 1024;
};

struct Device {
  DeviceTraits traits;
  std::unique_ptr<DeviceMemory> memory;
  static Result<std::unique_ptr<Device>> create(DeviceTraits traits);
};

}  // namespace tessera::simgpu
