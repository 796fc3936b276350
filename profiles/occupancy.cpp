#include "profiles/occupancy.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::uint32_t warp = 32;
constexpr std::uint32_t most_threads_per_block = 1024;
constexpr std::uint32_t register_unit = 256;      // registers are given to a warp in these
constexpr std::uint32_t system_shared = 1024;     // that the driver keeps of every block's shared memory, from compute capability 8.0 on
constexpr double warps_for_full_compute = 8;      // an SM: two for each of its four schedulers hide the arithmetic latency of straight code
constexpr double warps_for_full_memory = 16;      // an SM: enough loads in flight
constexpr double sm_share_for_full_memory = 0.5;  // half of the SMs can draw the whole bandwidth

std::uint64_t warps_of(const BlockNeeds& block) { return std::max<std::uint64_t>(1, (block.threads + warp - 1) / warp); }

double share(double have, double need) { return std::min(1.0, have / need); }

}  // namespace

std::uint32_t blocks_per_sm(const BlockNeeds& block, const DeviceModel& device) noexcept {
  if (block.threads == 0 || block.threads > most_threads_per_block || block.shared > device.shared_per_block_optin) return 0;
  const std::uint64_t warps = warps_of(block);
  std::uint64_t fit = std::min<std::uint64_t>(device.max_blocks_per_sm, device.max_threads_per_sm / (warps * warp));
  if (block.registers > 0) {
    if (block.registers > device.max_registers_per_thread) return 0;
    const std::uint64_t per_warp = (std::uint64_t{block.registers} * warp + register_unit - 1) / register_unit * register_unit;
    fit = std::min(fit, device.registers_per_sm / (per_warp * warps));
  }
  if (block.shared > 0) {
    const std::uint64_t taken = block.shared + (device.cc_major >= 8 ? system_shared : 0);
    fit = std::min(fit, device.shared_per_sm / taken);
  }
  return static_cast<std::uint32_t>(fit);
}

Fill fill_of(std::uint64_t blocks, const BlockNeeds& block, std::uint32_t resident, const DeviceModel& device) noexcept {
  const double count = std::max(1.0, static_cast<double>(blocks));
  const double sms = std::max(1u, device.sm_count);
  const double rounds = std::ceil(count / sms);
  const double warps = std::min<double>(std::max(1u, resident), rounds) * static_cast<double>(warps_of(block));
  const double sm_time = count / (rounds * sms);
  return {sm_time * share(warps, warps_for_full_compute),
          share(std::min(count, sms) / sms, sm_share_for_full_memory) * share(warps, warps_for_full_memory), sm_time};
}

}  // namespace tessera
