#include "profiles/predict.h"

#include <algorithm>

#include "profiles/occupancy.h"

namespace tessera {
namespace {

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

Prediction predict(const WorkEstimate& work, const LaunchShape& shape, const DeviceModel& device) noexcept {
  Prediction p;
  const BlockNeeds block{shape.threads_per_block(), work.registers, std::uint64_t{work.static_shared} + shape.dynamic_shared};
  p.blocks_per_sm = blocks_per_sm(block, device);
  p.rough = !work.complete;
  p.launch_seconds = device.launch_latency_s;
  const Fill fill = fill_of(shape.blocks(), block, p.blocks_per_sm, device);
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
