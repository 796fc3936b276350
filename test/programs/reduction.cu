// Sums by warp shuffles and shared memory, a maximum by atomics, and a histogram in dynamic shared memory.
#include <algorithm>
#include <climits>

#include "runtime_check.h"

constexpr int block_size = 256;
constexpr int bins = 64;

__global__ void partial_sums(const int* values, long long* sums, int count) {
  __shared__ long long warps[block_size / 32];
  long long sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += values[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffU, sum, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < block_size / 32; ++warp) sum += warps[warp];
    sums[blockIdx.x] = sum;
  }
}

__global__ void sum_of_sums(const long long* sums, long long* total, int count) {
  long long sum = 0;
  for (int i = threadIdx.x; i < count; i += 32) sum += sums[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, offset);
  if (threadIdx.x == 0) *total = sum;
}

__global__ void maximum(const int* values, int* largest, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicMax(largest, values[i]);
}

__global__ void histogram(const int* values, unsigned* counts, int count) {
  extern __shared__ unsigned local[];
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&local[static_cast<unsigned>(values[i]) % bins], 1U);
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    if (local[bin] != 0) atomicAdd(&counts[bin], local[bin]);
  }
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "reduction", 60'000);
  const std::size_t count = run.size();
  const int n = static_cast<int>(count);
  program::Numbers numbers(3);
  std::vector<int> values(count);
  for (int& value : values) value = static_cast<int>(numbers.bits());
  long long total = 0;
  int largest = INT_MIN;
  std::vector<unsigned> counts(bins);
  for (const int value : values) {
    total += value;
    largest = std::max(largest, value);
    ++counts[static_cast<unsigned>(value) % bins];
  }

  constexpr unsigned sum_blocks = 24;
  const program::DeviceArray<int> device_values(values);
  const program::DeviceArray<long long> device_sums(sum_blocks);
  const program::DeviceArray<long long> device_total(1);
  const program::DeviceArray<int> device_largest(std::vector<int>{INT_MIN});
  const program::DeviceArray<unsigned> device_counts(bins);
  CHECK(cudaMemset(device_counts.get(), 0, bins * sizeof(unsigned)));
  const unsigned blocks = program::blocks_for(count, block_size);
  partial_sums<<<sum_blocks, block_size>>>(device_values.get(), device_sums.get(), n);
  CHECK_LAUNCH();
  sum_of_sums<<<1, 32>>>(device_sums.get(), device_total.get(), sum_blocks);
  CHECK_LAUNCH();
  maximum<<<blocks, block_size>>>(device_values.get(), device_largest.get(), n);
  CHECK_LAUNCH();
  histogram<<<blocks, block_size, bins * sizeof(unsigned)>>>(device_values.get(), device_counts.get(), n);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  run.expect_equal("sum", device_total.download(), {total});
  run.expect_equal("maximum", device_largest.download(), {largest});
  run.expect_equal("histogram", device_counts.download(), counts);
  return run.finish();
}
