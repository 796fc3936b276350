// The profile database at the size that a large program fills: 100,000 records.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <string>

#include "profiles/database_json.h"
#include "profiles/device_catalog.h"
#include "profiles/predict.h"

namespace {

using namespace tessera;

constexpr std::uint32_t records = 100'000;

KernelKey kernel_of(std::uint32_t i) {
  const std::string name =
      fmt::format("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_{}", i % 1000);
  return {name, content_hash(name)};
}
LaunchShape shape_of(std::uint32_t i) { return {{1 + i / 1000, 1, 1}, {128, 1, 1}, 0}; }

Database filled() {
  DatabaseBuilder builder;
  if (!builder.add_run({1, 1'700'000'000, "0.1.0", "580.95.05", true}).ok()) std::abort();
  const DeviceIdentity device = identity_of(*find_device("l40s").value());
  for (std::uint32_t i = 0; i < records; ++i) {
    const double s = 1e-6 + 1.37e-9 * i;
    const Sample sample{1, {100, s, s * 1.01, s * 1.11, s * 1.57, s * 1.03, s * s * 0.001}, {32, 0, 4096, 1024}};
    if (!builder.add(kernel_of(i), shape_of(i), device, sample).ok()) std::abort();
  }
  return builder.build().value();
}

void load(benchmark::State& state) {
  const std::string text = write_database(filled());
  for (auto _ : state) benchmark::DoNotOptimize(parse_database(text, "bench"));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

void write(benchmark::State& state) {
  const Database database = filled();
  for (auto _ : state) benchmark::DoNotOptimize(write_database(database));
}
BENCHMARK(write)->Unit(benchmark::kMillisecond);

void merge(benchmark::State& state) {
  const Database database = filled();
  for (auto _ : state) {
    Database copy = database;
    copy.merge(filled());
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(merge)->Unit(benchmark::kMillisecond);

void find(benchmark::State& state) {
  const Database database = filled();
  const DeviceModel& device = *find_device("l40s").value();
  std::uint32_t i = 0;
  for (auto _ : state) {
    i = (i * 1'664'525U + 1'013'904'223U);
    const Record& r = database.records()[i % records];
    benchmark::DoNotOptimize(database.find(r.kernel, r.shape, device));
  }
}
BENCHMARK(find);

void find_again(benchmark::State& state) {
  const Database database = filled();
  const DeviceModel& device = *find_device("l40s").value();
  const KernelKey kernel = kernel_of(77);
  for (auto _ : state) benchmark::DoNotOptimize(database.find(kernel, shape_of(77), device));
}
BENCHMARK(find_again);

void predict_one(benchmark::State& state) {
  const DeviceModel& device = *find_device("l40s").value();
  WorkEstimate work;
  work.fp32 = 1e9;
  work.global_read = 1e8;
  for (auto _ : state) benchmark::DoNotOptimize(predict(work, shape_of(7), device));
}
BENCHMARK(predict_one);

}  // namespace
