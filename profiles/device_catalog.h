// The GPUs that Tessera knows by name: the figures that placement, prediction and the simulated GPUs calculate with.
//
// One JSON file a GPU (profiles/devices/*.json) is built into the library, so nothing is read at run time; a folder named by
// TESSERA_DEVICE_CATALOG adds or replaces models. Every figure is verified against a source that the file names, or marked
// estimated. Units: SI (bytes, seconds, Hz, operations per second, W), USD per hour; an unknown figure is 0. Tensor rates are dense.
// Ownership: models are values; the built-in ones live for ever. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/base/result.h"

namespace tessera {

struct DeviceModel {
  std::string name;       // "A100-SXM4-80GB"
  std::string cuda_name;  // as cuDeviceGetName prints it
  std::vector<std::string> aliases;
  std::string architecture;  // "Ampere"
  unsigned cc_major = 0, cc_minor = 0;
  unsigned sm_count = 0;
  double boost_clock_hz = 0;
  double fp32_flop_per_s = 0, fp64_flop_per_s = 0;
  double int32_op_per_s = 0, special_op_per_s = 0;
  double fp16_tensor_flop_per_s = 0, bf16_tensor_flop_per_s = 0, fp8_tensor_flop_per_s = 0, fp4_tensor_flop_per_s = 0;
  double int8_tensor_op_per_s = 0;
  std::uint64_t memory_bytes = 0;
  double memory_byte_per_s = 0;
  std::uint64_t l2_bytes = 0;
  double l2_byte_per_s = 0;  // reads that hit, all SMs together
  std::uint32_t shared_per_sm = 0, shared_per_block = 0, shared_per_block_optin = 0;
  std::uint32_t registers_per_sm = 0, max_registers_per_thread = 0;
  std::uint32_t max_threads_per_sm = 0, max_blocks_per_sm = 0;
  unsigned pcie_generation = 0, pcie_lanes = 0;
  double pcie_byte_per_s = 0;    // one direction
  double nvlink_byte_per_s = 0;  // both directions together; 0 = no NVLink
  double tdp_w = 0;
  double price_usd_per_h = 0;          // cloud
  double paper_price_usd_per_h = 0;    // as the paper's authors count
  double launch_latency_s = 0;         // from the call until the kernel may start on an idle GPU
  double kernel_fixed_s = 0;           // start and drain of an empty kernel
  double link_latency_s = 0;           // of one copy to or from the host
  std::vector<std::string> estimated;  // keys of the JSON file's figures that aren't verified
  std::vector<std::string> sources;
  std::string notes;

  [[nodiscard]] unsigned sm() const { return cc_major * 10 + cc_minor; }
  [[nodiscard]] bool is_estimated(std::string_view figure) const;
};

// Every model, built-in ones first, by name within.
[[nodiscard]] std::span<const DeviceModel> all_devices();

// By name, CUDA name or alias; case and punctuation don't count ("a100", "A100-SXM4-80GB", "rtx pro 6000"). Error not_found
// names the nearest models.
[[nodiscard]] Result<const DeviceModel*> find_device(std::string_view name);

// "a100,l40s" -> models in that order. Error as find_device, or usage for an empty list or element.
[[nodiscard]] Result<std::vector<const DeviceModel*>> parse_device_list(std::string_view list);

// One device file. `where` names it in errors.
[[nodiscard]] Result<DeviceModel> parse_device_model(std::string_view json, std::string_view where);

}  // namespace tessera
