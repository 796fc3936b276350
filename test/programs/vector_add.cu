// c = a + b, then d = c * c: two dependent launches over whole arrays.
#include "runtime_check.h"

__global__ void add(const float* a, const float* b, float* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

__global__ void square(const float* c, float* d, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) d[i] = c[i] * c[i];
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "vector_add", 100'000);
  const std::size_t count = run.size();
  program::Numbers numbers(1);
  const std::vector<float> a = numbers.units(count);
  const std::vector<float> b = numbers.units(count);
  std::vector<float> sum(count);
  std::vector<float> squared(count);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = a[i] + b[i];
    squared[i] = sum[i] * sum[i];
  }

  const program::DeviceArray<float> device_a(a);
  const program::DeviceArray<float> device_b(b);
  const program::DeviceArray<float> device_c(count);
  const program::DeviceArray<float> device_d(count);
  const unsigned blocks = program::blocks_for(count, 256);
  add<<<blocks, 256>>>(device_a.get(), device_b.get(), device_c.get(), static_cast<int>(count));
  CHECK_LAUNCH();
  square<<<blocks, 256>>>(device_c.get(), device_d.get(), static_cast<int>(count));
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  run.expect_equal("sum", device_c.download(), sum);
  run.expect_equal("square", device_d.download(), squared);
  return run.finish();
}
