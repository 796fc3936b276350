#include "tools/simgpu/sched/cost.h"

#include <algorithm>
#include <cmath>

namespace tessera::simgpu {
namespace {

constexpr double special_lanes_per_sm = 16, memory_lanes_per_sm = 32, warp_issues_per_sm = 4;

Nanoseconds round_up(double seconds) { return static_cast<Nanoseconds>(std::ceil(seconds * 1e9)); }

double seconds_for(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

double compute_seconds(const Counters& c, const DeviceModel& m) {
  const double sm_hz = m.sm_count * m.boost_clock_hz;
  const auto ops = [&](Unit unit) { return static_cast<double>(c.ops(unit)); };
  const auto tensor = [&](TensorType type) { return 2.0 * static_cast<double>(c.tensor_ops(type)); };
  const double times[] = {
      seconds_for(ops(Unit::fp32), m.fp32_flop_per_s / 2),  // the peak counts an fma as two
      seconds_for(ops(Unit::fp16), m.fp32_flop_per_s),
      seconds_for(ops(Unit::fp64), m.fp64_flop_per_s / 2),
      seconds_for(ops(Unit::integer), m.int32_op_per_s),
      seconds_for(ops(Unit::special) + ops(Unit::convert), special_lanes_per_sm * sm_hz),
      seconds_for(ops(Unit::memory), memory_lanes_per_sm * sm_hz),
      seconds_for(static_cast<double>(c.warp_instructions), warp_issues_per_sm * sm_hz),
      seconds_for(tensor(TensorType::f16), m.fp16_tensor_flop_per_s),
      seconds_for(tensor(TensorType::bf16), m.bf16_tensor_flop_per_s),
      seconds_for(tensor(TensorType::tf32), m.fp16_tensor_flop_per_s / 2),
      seconds_for(tensor(TensorType::f64), m.fp64_flop_per_s),
      seconds_for(tensor(TensorType::i8), m.int8_tensor_op_per_s),
  };
  return *std::max_element(std::begin(times), std::end(times));
}

}  // namespace

Nanoseconds kernel_time(const Counters& c, std::uint64_t ctas, const DeviceModel& m) {
  const std::uint64_t sms = std::max(1u, m.sm_count), waves = std::max<std::uint64_t>(1, (ctas + sms - 1) / sms);
  const double efficiency = ctas == 0 ? 1 : static_cast<double>(ctas) / static_cast<double>(waves * sms);
  const double bytes = 32.0 * static_cast<double>(c.global_read_sectors + c.global_written_sectors);
  return round_up(m.kernel_fixed_s + std::max(compute_seconds(c, m) / efficiency, seconds_for(bytes, m.memory_byte_per_s)));
}

Nanoseconds local_copy_time(std::uint64_t bytes, const DeviceModel& m) {
  return round_up(m.kernel_fixed_s + seconds_for(2.0 * static_cast<double>(bytes), m.memory_byte_per_s));
}

Nanoseconds fill_time(std::uint64_t bytes, const DeviceModel& m) {
  return round_up(m.kernel_fixed_s + seconds_for(static_cast<double>(bytes), m.memory_byte_per_s));
}

Nanoseconds host_copy_time(std::uint64_t bytes, const DeviceModel& m) {
  return round_up(m.link_latency_s + seconds_for(static_cast<double>(bytes), m.pcie_byte_per_s));
}

Nanoseconds peer_copy_time(std::uint64_t bytes, const DeviceModel& from, const DeviceModel& to) {
  return round_up(std::max(from.link_latency_s, to.link_latency_s) +
                  seconds_for(static_cast<double>(bytes), std::min(from.pcie_byte_per_s, to.pcie_byte_per_s)));
}

}  // namespace tessera::simgpu
