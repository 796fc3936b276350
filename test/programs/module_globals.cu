// Module variables: constants set by the host, a table and a counter in global memory that kernels read and write.
#include "runtime_check.h"

constexpr int degree = 4;
__constant__ float coefficients[degree];
__device__ unsigned table[256];
__device__ unsigned long long counter = 40;

__global__ void polynomial(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = 0.0F;
  for (int power = degree - 1; power >= 0; --power) value = value * in[i] + coefficients[power];
  out[i] = value;
}

__global__ void fill_table(unsigned seed) {
  table[threadIdx.x] = seed * (threadIdx.x + 1);
  if (threadIdx.x == 0) counter += 2;
}

__global__ void look_up(const unsigned char* keys, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = table[keys[i]];
  atomicAdd(&counter, 1ULL);
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "module_globals", 20'000);
  const std::size_t count = run.size();
  const int n = static_cast<int>(count);
  const unsigned blocks = program::blocks_for(count, 128);
  program::Numbers numbers(11);
  const std::vector<float> in = numbers.units(count);
  std::vector<unsigned char> keys(count);
  for (unsigned char& key : keys) key = static_cast<unsigned char>(numbers.bits());

  const program::DeviceArray<float> device_in(in);
  const program::DeviceArray<float> device_out(count);
  for (const float lead : {0.5F, -1.25F}) {
    const float host_coefficients[degree] = {1.0F, lead, 0.25F, -2.0F};
    CHECK(cudaMemcpyToSymbol(coefficients, host_coefficients, sizeof host_coefficients));
    polynomial<<<blocks, 128>>>(device_in.get(), device_out.get(), n);
    CHECK_LAUNCH();
    std::vector<double> want(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (int power = degree - 1; power >= 0; --power) want[i] = want[i] * in[i] + host_coefficients[power];
    }
    run.expect_close("polynomial", device_out.download(), want, 1e-5);
  }

  const program::DeviceArray<unsigned char> device_keys(keys);
  const program::DeviceArray<unsigned> device_found(count);
  fill_table<<<1, 256>>>(2654435761U);
  CHECK_LAUNCH();
  look_up<<<blocks, 128>>>(device_keys.get(), device_found.get(), n);
  CHECK_LAUNCH();
  std::vector<unsigned> want(count);
  for (std::size_t i = 0; i < count; ++i) want[i] = 2654435761U * (keys[i] + 1U);
  run.expect_equal("found", device_found.download(), want);
  unsigned long long host_counter = 0;
  CHECK(cudaMemcpyFromSymbol(&host_counter, counter, sizeof host_counter));
  run.expect_equal("counter", std::vector<unsigned long long>{host_counter}, {42 + count});
  return run.finish();
}
