// C = A * B with tiles in shared memory, then D = C * A: a compute-bound kernel with barriers.
#include "runtime_check.h"

constexpr int tile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[tile][tile];
  __shared__ float tile_b[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0F;
  for (int start = 0; start < n; start += tile) {
    const int inner_a = start + threadIdx.x;
    const int inner_b = start + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < n && inner_a < n ? a[row * n + inner_a] : 0.0F;
    tile_b[threadIdx.y][threadIdx.x] = inner_b < n && column < n ? b[inner_b * n + column] : 0.0F;
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

static std::vector<double> reference(const std::vector<double>& a, const std::vector<double>& b, std::size_t n) {
  std::vector<double> c(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
    }
  }
  return c;
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "tiled_matmul", 100);
  const std::size_t n = run.size();
  program::Numbers numbers(2);
  const std::vector<float> a = numbers.units(n * n);
  const std::vector<float> b = numbers.units(n * n);
  const std::vector<double> wide_a(a.begin(), a.end());
  const std::vector<double> c = reference(wide_a, {b.begin(), b.end()}, n);

  const program::DeviceArray<float> device_a(a);
  const program::DeviceArray<float> device_b(b);
  const program::DeviceArray<float> device_c(n * n);
  const program::DeviceArray<float> device_d(n * n);
  const unsigned blocks = program::blocks_for(n, tile);
  matmul<<<dim3(blocks, blocks), dim3(tile, tile)>>>(device_a.get(), device_b.get(), device_c.get(), static_cast<int>(n));
  CHECK_LAUNCH();
  matmul<<<dim3(blocks, blocks), dim3(tile, tile)>>>(device_c.get(), device_a.get(), device_d.get(), static_cast<int>(n));
  CHECK_LAUNCH();
  run.expect_close("A*B", device_c.download(), c, 1e-4);
  run.expect_close("(A*B)*A", device_d.download(), reference(c, wide_a, n), 1e-4);
  return run.finish();
}
