#include "tools/simgpu/sched/cost.h"

#include <algorithm>
#include <cmath>

namespace tessera::simgpu {
namespace {

constexpr double sector_bytes = 32;
// A clock and SM.
constexpr double special_lanes = 16, memory_lanes = 32, warp_issues = 4, shared_bytes = 128, atomic_lanes = 1;

Nanoseconds round_up(double seconds) { return static_cast<Nanoseconds>(std::ceil(seconds * 1e9)); }

double seconds_for(double amount, double rate) { return rate > 0 ? amount / rate : 0; }
double real(std::uint64_t value) { return static_cast<double>(value); }

double tensor_seconds(const Counters& c, const DeviceModel& m) {
  const auto part = [&](TensorType type, double rate) { return seconds_for(2.0 * real(c.tensor_ops(type)), rate); };
  return part(TensorType::f16, m.fp16_tensor_flop_per_s) + part(TensorType::bf16, m.bf16_tensor_flop_per_s) +
         part(TensorType::tf32, m.fp16_tensor_flop_per_s / 2) + part(TensorType::f64, m.fp64_flop_per_s) +
         part(TensorType::i8, m.int8_tensor_op_per_s);
}

// On a GPU that is filled.
double compute_seconds(const Counters& c, const DeviceModel& m) {
  const double sm_hz = m.sm_count * m.boost_clock_hz;
  const auto ops = [&](Unit unit) { return real(c.ops(unit)); };
  return std::max({
      seconds_for(ops(Unit::fp32), m.fp32_flop_per_s / 2),  // the peak counts an fma as two
      seconds_for(ops(Unit::fp16), m.fp32_flop_per_s),
      seconds_for(ops(Unit::fp64), m.fp64_flop_per_s / 2),
      seconds_for(ops(Unit::integer), m.int32_op_per_s),
      seconds_for(ops(Unit::special) + ops(Unit::convert), special_lanes * sm_hz),
      seconds_for(ops(Unit::memory), memory_lanes * sm_hz),
      seconds_for(real(c.warp_instructions), warp_issues * sm_hz),
      seconds_for(real(c.shared_read_bytes + c.shared_written_bytes), shared_bytes * sm_hz),
      seconds_for(real(c.global_atomics), atomic_lanes * sm_hz),
      tensor_seconds(c, m),
  });
}

double local_sectors(const Counters& c) { return real(c.unique_read_sectors + c.unique_written_sectors - c.external_sectors); }

}  // namespace

double dram_bytes(const Counters& c, const DeviceModel& m) {
  const double once = local_sectors(c);
  const double repeated = std::max(0.0, real(c.global_read_sectors + c.global_written_sectors) - once - real(c.external_sectors));
  const double footprint = sector_bytes * once;
  const double missed = footprint > real(m.l2_bytes) ? 1 - real(m.l2_bytes) / footprint : 0;
  return sector_bytes * (once + repeated * missed);
}

Nanoseconds kernel_time(const Counters& c, const KernelShape& shape, const DeviceModel& m) {
  const Fill fill = fill_of(shape.blocks, shape.block, blocks_per_sm(shape.block, m), m);
  const double l2 = sector_bytes * real(c.global_read_sectors + c.global_written_sectors);
  return round_up(m.kernel_fixed_s + std::max({
                                         compute_seconds(c, m) / fill.compute,
                                         seconds_for(l2, m.l2_byte_per_s * fill.memory),
                                         seconds_for(dram_bytes(c, m), m.memory_byte_per_s * fill.memory),
                                         seconds_for(sector_bytes * real(c.external_sectors), m.pcie_byte_per_s),
                                     }));
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
