#include "profiles/predict.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tessera;

namespace {

constexpr double WorkEstimate::*amounts[] = {
    &WorkEstimate::fp32,        &WorkEstimate::fp64,           &WorkEstimate::fp16,        &WorkEstimate::integer,
    &WorkEstimate::special,     &WorkEstimate::tensor_fp16,    &WorkEstimate::tensor_bf16, &WorkEstimate::tensor_tf32,
    &WorkEstimate::tensor_fp8,  &WorkEstimate::tensor_fp4,     &WorkEstimate::tensor_int8, &WorkEstimate::tensor_fp64,
    &WorkEstimate::global_read, &WorkEstimate::global_written,
};
constexpr double DeviceModel::*rates[] = {
    &DeviceModel::fp32_flop_per_s,      &DeviceModel::fp64_flop_per_s,        &DeviceModel::int32_op_per_s,
    &DeviceModel::special_op_per_s,     &DeviceModel::fp16_tensor_flop_per_s, &DeviceModel::bf16_tensor_flop_per_s,
    &DeviceModel::int8_tensor_op_per_s, &DeviceModel::memory_byte_per_s,
};

LaunchShape random_shape(std::mt19937_64& random) {
  return {{1 + static_cast<std::uint32_t>(random() % 5000), 1, 1},
          {1 + static_cast<std::uint32_t>(random() % 1024), 1, 1},
          static_cast<std::uint32_t>(random() % 65536)};
}

WorkEstimate random_work(std::mt19937_64& random) {
  WorkEstimate work;
  for (const auto amount : amounts) work.*amount = random() % 3 == 0 ? std::pow(10.0, static_cast<double>(random() % 13)) : 0;
  work.registers = static_cast<std::uint32_t>(random() % 256);
  return work;
}

}  // namespace

TEST_CASE("predictions are finite, positive, and grow with the work on every GPU") {
  std::mt19937_64 random(1);
  for (const DeviceModel& device : all_devices()) {
    for (int round = 0; round < 200; ++round) {
      WorkEstimate work = random_work(random);
      const LaunchShape shape = random_shape(random);
      const Prediction p = predict(work, shape, device);
      INFO(device.name);
      REQUIRE(std::isfinite(p.seconds));
      REQUIRE(p.seconds > 0);
      REQUIRE(p.filled > 0);
      REQUIRE(p.filled <= 1);
      work.*amounts[random() % std::size(amounts)] += 1e9;
      REQUIRE(predict(work, shape, device).seconds >= p.seconds);
    }
  }
}

TEST_CASE("a faster GPU is never predicted slower") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto models = all_devices();
    DeviceModel device = models[random() % models.size()];
    const WorkEstimate work = random_work(random);
    const LaunchShape shape = random_shape(random);
    const double before = predict(work, shape, device).seconds;
    device.*rates[random() % std::size(rates)] *= 1.5;
    CHECK(predict(work, shape, device).seconds <= before * (1 + 1e-12));
  }
}

TEST_CASE("a large grid reaches the roof that limits it") {
  const DeviceModel& device = *find_device("A100-SXM4-80GB").value();
  const LaunchShape shape{{device.sm_count * 1000, 1, 1}, {256, 1, 1}, 0};
  WorkEstimate copy;
  copy.global_read = copy.global_written = 1e10;
  const Prediction moved = predict(copy, shape, device);
  CHECK(moved.limit == Limit::memory);
  CHECK(moved.seconds == Approx(2e10 / device.memory_byte_per_s).epsilon(0.01));
  WorkEstimate multiply;
  multiply.fp32 = 1e14;
  multiply.global_read = 1e9;
  const Prediction computed = predict(multiply, shape, device);
  CHECK(computed.limit == Limit::fp32);
  CHECK(computed.seconds == Approx(1e14 / device.fp32_flop_per_s).epsilon(0.01));
  CHECK(predict({}, shape, device).limit == Limit::fixed);
}

TEST_CASE("one block more than the SMs takes a second round") {
  const DeviceModel& device = *find_device("L40S").value();
  const auto seconds = [&](std::uint32_t blocks) {
    WorkEstimate work;
    work.fp32 = 1e10 * blocks;  // the same for each block
    return predict(work, {{blocks, 1, 1}, {1024, 1, 1}, 0}, device).seconds - device.kernel_fixed_s;
  };
  CHECK(seconds(device.sm_count) == Approx(seconds(1)));
  CHECK(seconds(device.sm_count + 1) == Approx(2 * seconds(device.sm_count)));
  CHECK(seconds(2 * device.sm_count) == Approx(2 * seconds(device.sm_count)));
}

TEST_CASE("occupancy keeps the limits of threads, blocks, registers and shared memory") {
  const DeviceModel& a100 = *find_device("A100-SXM4-80GB").value();
  const auto fit = [&](std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
    WorkEstimate work;
    work.registers = registers;
    return predict(work, {{1, 1, 1}, {threads, 1, 1}, shared}, a100).blocks_per_sm;
  };
  CHECK(fit(1024, 32, 0) == 2);
  CHECK(fit(256, 32, 0) == 8);
  CHECK(fit(32, 32, 0) == 32);  // blocks
  CHECK(fit(256, 64, 0) == 4);  // registers
  CHECK(fit(1024, 64, 0) == 1);
  CHECK(fit(1024, 255, 0) == 0);  // too many registers for one block
  CHECK(fit(64, 32, 81 * 1024) == 2);
  CHECK(fit(64, 32, 163 * 1024) == 1);
  CHECK(fit(64, 32, 164 * 1024) == 0);
  CHECK(fit(1025, 0, 0) == 0);
  CHECK(predict({}, {{1, 1, 1}, {2000, 1, 1}, 0}, a100).blocks_per_sm == 0);
}

TEST_CASE("guessed work and missing units make a prediction rough") {
  const DeviceModel &t4 = *find_device("t4").value(), &h100 = *find_device("h100").value();
  WorkEstimate work;
  work.tensor_bf16 = 1e12;
  CHECK(predict(work, {}, t4).rough);  // has no BF16 unit
  CHECK_FALSE(predict(work, {}, h100).rough);
  CHECK(predict(work, {}, t4).seconds > predict(work, {}, h100).seconds);
  work.complete = false;
  CHECK(predict(work, {}, h100).rough);
}
