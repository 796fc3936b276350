#include "profiles/predict.h"

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

// FP16 operations outside tensor units for each FP32 one (CUDA C++ Programming Guide, arithmetic throughput).
double fp16_per_fp32(const DeviceModel& device) {
  switch (device.sm()) {
    case 80:
      return 4;
    case 75:
    case 90:
    case 100:
      return 2;
    default:
      return 1;
  }
}

struct Demand {
  Limit limit;
  double amount;
  double rate;      // 0: the GPU has no such unit
  double fallback;  // rate to assume then
};

double share(double have, double need) { return std::min(1.0, have / need); }

}  // namespace

const char* name_of(Limit limit) {
  switch (limit) {
    case Limit::fixed:
      return "fixed time";
    case Limit::memory:
      return "memory";
    case Limit::fp32:
      return "fp32";
    case Limit::fp64:
      return "fp64";
    case Limit::fp16:
      return "fp16";
    case Limit::integer:
      return "integer";
    case Limit::special:
      return "special functions";
    case Limit::tensor:
      return "tensor";
  }
  return "";
}

std::uint32_t blocks_per_sm(const WorkEstimate& work, const LaunchShape& shape, const DeviceModel& device) noexcept {
  const std::uint64_t threads = shape.threads_per_block();
  const std::uint64_t shared = std::uint64_t{work.static_shared} + shape.dynamic_shared;
  if (threads == 0 || threads > most_threads_per_block || shared > device.shared_per_block_optin) return 0;
  const std::uint64_t warps = (threads + warp - 1) / warp;
  std::uint64_t fit = std::min<std::uint64_t>(device.max_blocks_per_sm, device.max_threads_per_sm / (warps * warp));
  if (work.registers > 0) {
    if (work.registers > device.max_registers_per_thread) return 0;
    const std::uint64_t per_warp = (std::uint64_t{work.registers} * warp + register_unit - 1) / register_unit * register_unit;
    fit = std::min(fit, device.registers_per_sm / (per_warp * warps));
  }
  if (shared > 0) {
    const std::uint64_t taken = shared + (device.cc_major >= 8 ? system_shared : 0);
    fit = std::min(fit, device.shared_per_sm / taken);
  }
  return static_cast<std::uint32_t>(fit);
}

Fill fill_of(const LaunchShape& shape, std::uint32_t resident, const DeviceModel& device) noexcept {
  const double blocks = std::max(1.0, static_cast<double>(shape.blocks()));
  const double sms = std::max(1u, device.sm_count);
  const double rounds = std::ceil(blocks / sms);
  const double warps_per_block = std::max(1.0, std::ceil(static_cast<double>(shape.threads_per_block()) / warp));
  const double warps = std::min<double>(std::max(1u, resident), rounds) * warps_per_block;
  const double sm_time = blocks / (rounds * sms);
  return {sm_time * share(warps, warps_for_full_compute),
          share(std::min(blocks, sms) / sms, sm_share_for_full_memory) * share(warps, warps_for_full_memory), sm_time};
}

Prediction predict(const WorkEstimate& work, const LaunchShape& shape, const DeviceModel& device) noexcept {
  Prediction p;
  p.blocks_per_sm = blocks_per_sm(work, shape, device);
  p.rough = !work.complete;
  p.launch_seconds = device.launch_latency_s;
  const Fill fill = fill_of(shape, p.blocks_per_sm, device);
  p.filled = fill.sm_time;

  const double fp32 = device.fp32_flop_per_s, half = std::max(fp32, device.fp16_tensor_flop_per_s);
  // Tensor types share one unit: their times add up. TF32 runs at half the FP16 rate on every GPU that has it.
  const Demand tensor[] = {
      {Limit::tensor, work.tensor_fp16, device.fp16_tensor_flop_per_s, 2 * fp32},
      {Limit::tensor, work.tensor_bf16, device.bf16_tensor_flop_per_s, fp32},
      {Limit::tensor, work.tensor_tf32, device.bf16_tensor_flop_per_s / 2, fp32},
      {Limit::tensor, work.tensor_fp8, device.fp8_tensor_flop_per_s, half},
      {Limit::tensor, work.tensor_fp4, device.fp4_tensor_flop_per_s, half},
      {Limit::tensor, work.tensor_int8, device.int8_tensor_op_per_s, half},
      {Limit::tensor, work.tensor_fp64, device.fp64_flop_per_s, fp32 / 64},
  };
  const Demand plain[] = {
      {Limit::fp32, work.fp32, fp32, fp32},
      {Limit::fp64, work.fp64, device.fp64_flop_per_s, fp32 / 64},
      {Limit::fp16, work.fp16, fp16_per_fp32(device) * fp32, fp32},
      {Limit::integer, work.integer, device.int32_op_per_s, fp32 / 4},
      {Limit::special, work.special, device.special_op_per_s, fp32 / 16},
  };
  const auto seconds_of = [&](const Demand& d) {
    if (d.amount <= 0) return 0.0;
    p.rough = p.rough || d.rate <= 0;
    return d.amount / ((d.rate > 0 ? d.rate : d.fallback) * fill.compute);
  };

  double longest = 0;
  const auto consider = [&](Limit limit, double seconds) {
    if (seconds > longest) longest = seconds;
    if (seconds > device.kernel_fixed_s && seconds >= longest) p.limit = limit;
  };
  consider(Limit::memory, std::max(0.0, work.global_read + work.global_written) / (device.memory_byte_per_s * fill.memory));
  for (const Demand& d : plain) consider(d.limit, seconds_of(d));
  double tensor_seconds = 0;
  for (const Demand& d : tensor) tensor_seconds += seconds_of(d);
  consider(Limit::tensor, tensor_seconds);
  p.seconds = device.kernel_fixed_s + longest;
  return p;
}

}  // namespace tessera
