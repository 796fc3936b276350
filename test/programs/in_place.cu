// One array through several parameters: in place, the same array twice, interior pointers, and two halves of one
// allocation as input and output.
#include "runtime_check.h"

__global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

__global__ void add(const float* a, const float* b, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] + b[i];
}

// Reads before and behind the pointer that it gets.
__global__ void neighbours(const float* middle, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = middle[i - 1] + middle[i + 1];
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "in_place", 30'000);
  const std::size_t half = run.size();
  const int n = static_cast<int>(half);
  const unsigned blocks = program::blocks_for(half, 128);
  program::Numbers numbers(9);
  std::vector<float> want = numbers.units(2 * half);
  const program::DeviceArray<float> both(want);
  const program::DeviceArray<float> inner(half - 2);
  float* lower = both.get();
  float* upper = both.get() + half;

  scale<<<blocks, 128>>>(lower, 3.0F, n);
  CHECK_LAUNCH();
  add<<<blocks, 128>>>(lower, lower, upper, n);  // one half into the other, the same input twice
  CHECK_LAUNCH();
  add<<<blocks, 128>>>(upper, lower, lower, n);  // an output that is also an input
  CHECK_LAUNCH();
  scale<<<program::blocks_for(half, 128), 128>>>(lower + half / 2, 0.25F, n);  // across the border of the halves
  CHECK_LAUNCH();
  neighbours<<<blocks, 128>>>(lower + 1, inner.get(), n - 2);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  for (std::size_t i = 0; i < half; ++i) want[i] *= 3.0F;
  for (std::size_t i = 0; i < half; ++i) want[half + i] = want[i] + want[i];
  for (std::size_t i = 0; i < half; ++i) want[i] += want[half + i];
  for (std::size_t i = 0; i < half; ++i) want[half / 2 + i] *= 0.25F;
  std::vector<float> want_inner(half - 2);
  for (std::size_t i = 0; i < half - 2; ++i) want_inner[i] = want[i] + want[i + 2];
  run.expect_equal("both halves", both.download(), want);
  run.expect_equal("neighbours", inner.download(), want_inner);
  return run.finish();
}
