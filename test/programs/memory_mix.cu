// Copies, memsets and kernels that take turns on the same bytes; frees with address reuse; asynchronous allocation.
#include "runtime_check.h"

__global__ void accumulate(const unsigned* in, unsigned* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = out[i] * 31U + in[i];
}

static void host_accumulate(const std::vector<unsigned>& in, std::vector<unsigned>& out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = out[i] * 31U + in[i];
}

static void launch(const unsigned* in, unsigned* out, std::size_t count, cudaStream_t stream = nullptr) {
  accumulate<<<program::blocks_for(count, 128), 128, 0, stream>>>(in, out, static_cast<int>(count));
  CHECK_LAUNCH();
}

// Kernels between partial copies of every direction.
static void partial_writes(program::Run& run, program::Numbers& numbers) {
  const std::size_t count = run.size();
  std::vector<unsigned> a(count);
  for (unsigned& value : a) value = static_cast<unsigned>(numbers.bits());
  std::vector<unsigned> b(count, 0x01010101U);
  const program::DeviceArray<unsigned> device_a(a);
  const program::DeviceArray<unsigned> device_b(count);
  CHECK(cudaMemset(device_b.get(), 1, count * sizeof(unsigned)));
  launch(device_a.get(), device_b.get(), count);
  host_accumulate(a, b);

  const std::size_t quarter = count / 4;
  CHECK(cudaMemset(device_b.get() + quarter, 0xff, quarter * sizeof(unsigned)));  // in the middle of what a kernel wrote
  for (std::size_t i = 0; i < quarter; ++i) b[quarter + i] = 0xffffffffU;
  launch(device_b.get(), device_a.get(), count);
  host_accumulate(b, a);
  CHECK(cudaMemcpy(device_b.get(), device_a.get() + quarter, quarter * sizeof(unsigned), cudaMemcpyDeviceToDevice));
  for (std::size_t i = 0; i < quarter; ++i) b[i] = a[quarter + i];
  CHECK(cudaMemcpy(device_a.get() + 2 * quarter, b.data(), quarter * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (std::size_t i = 0; i < quarter; ++i) a[2 * quarter + i] = b[i];
  launch(device_a.get(), device_b.get(), count);
  host_accumulate(a, b);

  unsigned middle = 0;
  CHECK(cudaMemcpy(&middle, device_b.get() + count / 2, sizeof middle, cudaMemcpyDeviceToHost));
  run.expect_equal("one value", std::vector<unsigned>{middle}, {b[count / 2]});
  run.expect_equal("a", device_a.download(), a);
  run.expect_equal("b", device_b.download(), b);
}

// The same address comes back for an array of another size: nothing of the old one may show.
static void reused_addresses(program::Run& run, program::Numbers& numbers) {
  for (std::size_t round = 1; round <= 6; ++round) {
    const std::size_t count = run.size() / round;
    std::vector<unsigned> in(count);
    for (unsigned& value : in) value = static_cast<unsigned>(numbers.bits());
    std::vector<unsigned> out(count, 0U);
    const program::DeviceArray<unsigned> device_in(in);
    const program::DeviceArray<unsigned> device_out(count);
    CHECK(cudaMemset(device_out.get(), 0, count * sizeof(unsigned)));
    launch(device_in.get(), device_out.get(), count);
    launch(device_in.get(), device_out.get(), count);
    host_accumulate(in, out);
    host_accumulate(in, out);
    run.expect_equal("reused", device_out.download(), out);
  }
}

// Freed right after the launch that uses it, without waiting.
static void freed_behind_a_launch(program::Run& run, program::Numbers& numbers) {
  const std::size_t count = run.size();
  std::vector<unsigned> in(count);
  for (unsigned& value : in) value = static_cast<unsigned>(numbers.bits());
  std::vector<unsigned> out(count, 0U);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  const program::DeviceArray<unsigned> device_out(out);
  for (int round = 0; round < 3; ++round) {
    unsigned* device_in = nullptr;
    CHECK(cudaMallocAsync(&device_in, count * sizeof(unsigned), stream));
    CHECK(cudaMemcpyAsync(device_in, in.data(), count * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
    launch(device_in, device_out.get(), count, stream);
    CHECK(cudaMemsetAsync(device_in, 0, count * sizeof(unsigned), stream));
    CHECK(cudaFreeAsync(device_in, stream));
    host_accumulate(in, out);
  }
  CHECK(cudaStreamSynchronize(stream));
  run.expect_equal("freed behind a launch", device_out.download(), out);
  CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "memory_mix", 20'000);
  program::Numbers numbers(10);
  partial_writes(run, numbers);
  reused_addresses(run, numbers);
  freed_behind_a_launch(run, numbers);
  return run.finish();
}
