// Layer norm, one warp a row, vector loads (float4), mean and variance kept for a second kernel.
#include "runtime_check.h"

__device__ float across_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

__global__ void layer_norm(const float4* in, const float4* gain, const float4* bias, float4* out, float2* moments, int rows, int quads) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float4* values = in + static_cast<size_t>(row) * quads;
  float sum = 0.0F;
  float squares = 0.0F;
  for (int i = threadIdx.x; i < quads; i += 32) {
    const float4 v = values[i];
    sum += v.x + v.y + v.z + v.w;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  const float mean = across_warp(sum) / (4 * quads);
  const float variance = across_warp(squares) / (4 * quads) - mean * mean;
  const float scale = rsqrtf(variance + 1e-5F);
  for (int i = threadIdx.x; i < quads; i += 32) {
    const float4 v = values[i];
    const float4 g = gain[i];
    const float4 b = bias[i];
    out[static_cast<size_t>(row) * quads + i] = make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y,
                                                            (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w);
  }
  if (threadIdx.x == 0) moments[row] = make_float2(mean, variance);
}

__global__ void means_of(const float2* moments, float* means, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) means[row] = moments[row].x;
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "layer_norm", 150);
  const std::size_t rows = run.size();
  constexpr std::size_t columns = 256;
  program::Numbers numbers(5);
  const std::vector<float> in = numbers.units(rows * columns, 3.0F);
  const std::vector<float> gain = numbers.units(columns);
  const std::vector<float> bias = numbers.units(columns);
  std::vector<double> want(in.size());
  std::vector<double> want_means(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* values = in.data() + row * columns;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += values[i];
    const double mean = sum / columns;
    for (std::size_t i = 0; i < columns; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const double scale = 1.0 / std::sqrt(squares / columns + 1e-5);
    for (std::size_t i = 0; i < columns; ++i) want[row * columns + i] = (values[i] - mean) * scale * gain[i] + bias[i];
    want_means[row] = mean;
  }

  const program::DeviceArray<float> device_in(in);
  const program::DeviceArray<float> device_gain(gain);
  const program::DeviceArray<float> device_bias(bias);
  const program::DeviceArray<float> device_out(in.size());
  const program::DeviceArray<float2> device_moments(rows);
  const program::DeviceArray<float> device_means(rows);
  const auto quads = [](const program::DeviceArray<float>& array) { return reinterpret_cast<float4*>(array.get()); };
  layer_norm<<<program::blocks_for(rows, 4), dim3(32, 4)>>>(quads(device_in), quads(device_gain), quads(device_bias), quads(device_out),
                                                            device_moments.get(), static_cast<int>(rows), columns / 4);
  CHECK_LAUNCH();
  means_of<<<program::blocks_for(rows, 64), 64>>>(device_moments.get(), device_means.get(), static_cast<int>(rows));
  CHECK_LAUNCH();
  run.expect_close("layer norm", device_out.download(), want, 1e-4);
  run.expect_close("means", device_means.download(), want_means, 1e-5);
  return run.finish();
}
