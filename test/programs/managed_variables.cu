// Managed variables: the host and kernels of every device read and write the same bytes, by name.
#include "runtime_check.h"

__managed__ unsigned weights[256] = {3, 5, 7, 11};
__managed__ unsigned long long total;

__global__ void weigh(unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  values[i] *= weights[i & 255];
  atomicAdd(&total, values[i]);
}

__global__ void double_weights() { weights[threadIdx.x] = weights[threadIdx.x] * 2 + 1; }

int main(int argc, char** argv) {
  program::Run run(argc, argv, "managed_variables", 10'000);
  const std::size_t count = run.size();
  if (weights[0] != 3 || weights[3] != 11 || weights[4] != 0 || total != 0) {
    std::fprintf(stderr, "managed_variables: wrong first values\n");
    return 1;
  }
  program::Numbers numbers(12);
  std::vector<unsigned> values(count), expected(256);
  for (unsigned& value : values) value = static_cast<unsigned>(numbers.bits());
  const program::DeviceArray<unsigned> device(values);
  unsigned long long sum = 0;
  for (unsigned i = 0; i < 256; ++i) expected[i] = weights[i] = i * 2654435761U | 1U;
  for (int round = 0; round < 3; ++round) {
    weigh<<<program::blocks_for(count, 128), 128>>>(device.get(), static_cast<int>(count));
    CHECK_LAUNCH();
    double_weights<<<1, 256>>>();
    CHECK_LAUNCH();
    CHECK(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < count; ++i) sum += values[i] *= expected[i & 255];
    for (unsigned& w : expected) w = w * 2 + 1;
    weights[round] += 10;  // the host's turn
    expected[static_cast<std::size_t>(round)] += 10;
  }
  run.expect_equal("values", device.download(), values);
  run.expect_equal("weights", std::vector<unsigned>(weights, weights + 256), expected);
  run.expect_equal("total", std::vector<unsigned long long>{total}, std::vector<unsigned long long>{sum});
  unsigned by_symbol[4];
  CHECK(cudaMemcpyFromSymbol(by_symbol, weights, sizeof by_symbol));
  run.expect_equal("weights by symbol", std::vector<unsigned>(by_symbol, by_symbol + 4),
                   std::vector<unsigned>(expected.begin(), expected.begin() + 4));
  return run.finish();
}
