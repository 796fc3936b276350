// Row-wise softmax, one block a row: block-wide maximum and sum, expf.
#include <algorithm>

#include "runtime_check.h"

constexpr int block_size = 128;

template <class Combine>
__device__ float across_block(float value, float* warps, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffU, value, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int warp = 1; warp < block_size / 32; ++warp) value = combine(value, warps[warp]);
  __syncthreads();
  return value;
}

__global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float warps[block_size / 32];
  const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
  float* result = out + static_cast<size_t>(blockIdx.x) * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += block_size) largest = fmaxf(largest, row[i]);
  largest = across_block(largest, warps, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0F;
  for (int i = threadIdx.x; i < columns; i += block_size) sum += expf(row[i] - largest);
  sum = across_block(sum, warps, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += block_size) result[i] = expf(row[i] - largest) / sum;
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "softmax", 96);
  const std::size_t rows = run.size();
  constexpr std::size_t columns = 300;
  program::Numbers numbers(4);
  const std::vector<float> in = numbers.units(rows * columns, 8.0F);
  std::vector<double> want(in.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(row * columns);
    const double largest = *std::max_element(begin, begin + columns);
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += std::exp(in[row * columns + i] - largest);
    for (std::size_t i = 0; i < columns; ++i) want[row * columns + i] = std::exp(in[row * columns + i] - largest) / sum;
  }

  const program::DeviceArray<float> device_in(in);
  const program::DeviceArray<float> device_out(in.size());
  softmax<<<static_cast<unsigned>(rows), block_size>>>(device_in.get(), device_out.get(), columns);
  CHECK_LAUNCH();
  run.expect_close("softmax", device_out.download(), want, 1e-6);
  return run.finish();
}
