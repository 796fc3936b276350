// The time model: what grows with what, and where each limit shows.
#include "tools/simgpu/sched/cost.h"

#include <catch2/catch.hpp>
#include <random>

namespace tessera::simgpu {
namespace {

const DeviceModel& model(std::string_view name) {
  const auto found = find_device(name);
  REQUIRE(found.ok());
  return **found;
}

KernelShape shape_of(std::uint64_t blocks, std::uint64_t threads, std::uint32_t registers = 32, std::uint64_t shared = 0) {
  return {blocks, {threads, registers, shared}};
}

std::uint64_t& ops(Counters& c, Unit unit) { return c.lane_ops[static_cast<unsigned>(unit)]; }

Counters streaming(std::uint64_t sectors) {
  Counters c;
  c.global_read_sectors = c.unique_read_sectors = sectors;
  return c;
}

double without_fixed(Nanoseconds time, const DeviceModel& m) { return static_cast<double>(time) - m.kernel_fixed_s * 1e9; }

bool near(double a, double b, double tolerance = 0.01) { return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)) + 1; }

TEST_CASE("a kernel that streams takes its bytes by the memory's bandwidth") {
  for (const DeviceModel& m : all_devices()) {
    const double expected = 32e9 * (1 << 24) / m.memory_byte_per_s;
    CHECK(near(without_fixed(kernel_time(streaming(1 << 24), shape_of(1 << 16, 256), m), m), expected));
  }
}

TEST_CASE("repeated reads cost DRAM nothing while the footprint fits L2, and nearly all of it far beyond") {
  const DeviceModel& m = model("a100");
  Counters small = streaming(m.l2_bytes / 32);
  small.global_read_sectors *= 50;
  CHECK(dram_bytes(small, m) == 32.0 * static_cast<double>(small.unique_read_sectors));
  Counters large = streaming(100 * m.l2_bytes / 32);
  large.global_read_sectors *= 50;
  CHECK(near(dram_bytes(large, m), 32.0 * static_cast<double>(large.global_read_sectors), 0.02));
  CHECK(kernel_time(small, shape_of(1 << 16, 256), m) < kernel_time(large, shape_of(1 << 16, 256), m) / 100);
  // What hits L2 is as long as L2 takes.
  const double l2 = 32e9 * static_cast<double>(small.global_read_sectors) / m.l2_byte_per_s;
  CHECK(near(without_fixed(kernel_time(small, shape_of(1 << 16, 256), m), m), l2));
}

TEST_CASE("one block more than the SMs costs a whole wave") {
  const DeviceModel& m = model("a100");
  const auto time = [&](std::uint32_t blocks) {
    Counters c;
    ops(c, Unit::fp32) = std::uint64_t{blocks} << 24;
    return without_fixed(kernel_time(c, shape_of(blocks, 256), m), m);
  };
  CHECK(near(time(m.sm_count + 1), 2 * time(m.sm_count)));
  CHECK(near(time(2 * m.sm_count), 2 * time(m.sm_count)));
}

TEST_CASE("blocks that don't fit side by side hide less latency") {
  const DeviceModel& m = model("a100");
  Counters c = streaming(1 << 22);
  const std::uint32_t blocks = 64 * m.sm_count;
  CHECK(kernel_time(c, shape_of(blocks, 64, 32, 100 << 10), m) > kernel_time(c, shape_of(blocks, 64), m));
  ops(c, Unit::fp32) = std::uint64_t{1} << 34;
  CHECK(kernel_time(c, shape_of(blocks, 64, 32, 100 << 10), m) > kernel_time(c, shape_of(blocks, 64), m));
}

TEST_CASE("host memory is read at the link's speed") {
  const DeviceModel& m = model("l40s");
  Counters c = streaming(1 << 20);
  c.external_sectors = c.unique_read_sectors;
  CHECK(dram_bytes(c, m) == 0);
  CHECK(near(without_fixed(kernel_time(c, shape_of(1 << 12, 256), m), m), 32e9 * (1 << 20) / m.pcie_byte_per_s));
}

TEST_CASE("tensor types share their unit") {
  const DeviceModel& m = model("a100");
  Counters half, both;
  half.tensor[static_cast<unsigned>(TensorType::f16)] = both.tensor[static_cast<unsigned>(TensorType::f16)] = std::uint64_t{1} << 40;
  both.tensor[static_cast<unsigned>(TensorType::bf16)] = std::uint64_t{1} << 40;
  const KernelShape shape = shape_of(16 * m.sm_count, 256);
  CHECK(near(without_fixed(kernel_time(both, shape, m), m), 2 * without_fixed(kernel_time(half, shape, m), m)));
}

TEST_CASE("more work never takes less time, on any GPU") {
  std::mt19937_64 random(7);
  std::uint64_t Counters::*const plain[] = {&Counters::warp_instructions, &Counters::global_read_sectors, &Counters::global_atomics,
                                            &Counters::shared_read_bytes};
  for (int round = 0; round < 2000; ++round) {
    const DeviceModel& m = all_devices()[random() % all_devices().size()];
    const KernelShape shape = shape_of(1 + random() % 5000, 1 + random() % 1024, random() % 256, random() % 48000);
    const auto amount = [&] { return random() % (std::uint64_t{1} << (random() % 40)); };
    Counters c;
    for (auto& n : c.lane_ops) n = amount();
    for (auto& n : c.tensor) n = amount();
    for (const auto field : plain) c.*field = amount();
    c.unique_read_sectors = c.global_read_sectors / (1 + random() % 9);
    Counters more = c;
    more.lane_ops[random() % more.lane_ops.size()] += amount();
    more.tensor[random() % more.tensor.size()] += amount();
    more.*plain[random() % std::size(plain)] += amount();
    const Nanoseconds before = kernel_time(c, shape, m);
    REQUIRE(kernel_time(more, shape, m) >= before);
    REQUIRE(before == kernel_time(c, shape, m));
    more = c;
    const std::uint64_t fresh = amount();
    more.global_read_sectors += fresh, more.unique_read_sectors += fresh;
    REQUIRE(kernel_time(more, shape, m) >= before);
  }
}

}  // namespace
}  // namespace tessera::simgpu
