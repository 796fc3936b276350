// Several streams ordered by events, pinned memory with asynchronous copies, and the legacy default stream's implicit
// order. Each step is an integer map that doesn't commute with the others, so that a wrong order shows as wrong bytes.
#include "runtime_check.h"

__global__ void affine(unsigned* values, unsigned factor, unsigned offset, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor + offset;
}

__global__ void mix(const unsigned* other, unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = (values[i] ^ (other[i] >> 7)) + other[count - 1 - i];
}

static void host_affine(std::vector<unsigned>& values, unsigned factor, unsigned offset) {
  for (unsigned& value : values) value = value * factor + offset;
}

static void host_mix(const std::vector<unsigned>& other, std::vector<unsigned>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (values[i] ^ (other[i] >> 7)) + other[values.size() - 1 - i];
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "multi_stream", 20'000);
  const std::size_t count = run.size();
  const std::size_t bytes = count * sizeof(unsigned);
  const int n = static_cast<int>(count);
  const unsigned blocks = program::blocks_for(count, 128);
  program::Numbers numbers(8);
  std::vector<unsigned> a(count);
  std::vector<unsigned> b(count);
  for (unsigned& value : a) value = static_cast<unsigned>(numbers.bits());
  for (unsigned& value : b) value = static_cast<unsigned>(numbers.bits());

  unsigned* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, 2 * bytes));
  std::memcpy(pinned, a.data(), bytes);
  std::memcpy(pinned + count, b.data(), bytes);
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaStream_t blocking = nullptr;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&blocking));
  cudaEvent_t a_ready = nullptr;
  cudaEvent_t b_ready = nullptr;
  CHECK(cudaEventCreateWithFlags(&a_ready, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&b_ready));
  const program::DeviceArray<unsigned> device_a(count);
  const program::DeviceArray<unsigned> device_b(count);

  // a on one stream, b on another; each then needs what the other one made.
  CHECK(cudaMemcpyAsync(device_a.get(), pinned, bytes, cudaMemcpyHostToDevice, first));
  CHECK(cudaMemcpyAsync(device_b.get(), pinned + count, bytes, cudaMemcpyHostToDevice, second));
  for (int round = 0; round < 3; ++round) {
    affine<<<blocks, 128, 0, first>>>(device_a.get(), 1664525U, 1013904223U, n);
    CHECK_LAUNCH();
    CHECK(cudaEventRecord(a_ready, first));
    affine<<<blocks, 128, 0, second>>>(device_b.get(), 22695477U, 1U, n);
    CHECK_LAUNCH();
    CHECK(cudaStreamWaitEvent(second, a_ready, 0));
    mix<<<blocks, 128, 0, second>>>(device_a.get(), device_b.get(), n);
    CHECK_LAUNCH();
    CHECK(cudaEventRecord(b_ready, second));
    CHECK(cudaStreamWaitEvent(first, b_ready, 0));
    mix<<<blocks, 128, 0, first>>>(device_b.get(), device_a.get(), n);
    CHECK_LAUNCH();
    CHECK(cudaEventRecord(a_ready, first));  // the next round writes b again
    CHECK(cudaStreamWaitEvent(second, a_ready, 0));
    host_affine(a, 1664525U, 1013904223U);
    host_affine(b, 22695477U, 1U);
    host_mix(a, b);
    host_mix(b, a);
  }
  CHECK(cudaStreamSynchronize(first));
  CHECK(cudaEventSynchronize(b_ready));
  if (cudaEventQuery(b_ready) != cudaSuccess || cudaStreamQuery(second) != cudaSuccess) {
    std::fprintf(stderr, "multi_stream: an event or a stream isn't done after it was waited for\n");
    return 1;
  }

  // The legacy default stream waits for the blocking stream and the other way round.
  affine<<<blocks, 128, 0, blocking>>>(device_a.get(), 5U, 3U, n);
  CHECK_LAUNCH();
  mix<<<blocks, 128>>>(device_a.get(), device_b.get(), n);
  CHECK_LAUNCH();
  affine<<<blocks, 128, 0, blocking>>>(device_b.get(), 7U, 11U, n);
  CHECK_LAUNCH();
  CHECK(cudaMemcpyAsync(pinned, device_a.get(), bytes, cudaMemcpyDeviceToHost, blocking));
  CHECK(cudaMemcpyAsync(pinned + count, device_b.get(), bytes, cudaMemcpyDeviceToHost, blocking));
  CHECK(cudaStreamSynchronize(blocking));
  host_affine(a, 5U, 3U);
  host_mix(a, b);
  host_affine(b, 7U, 11U);
  run.expect_equal("a", std::vector<unsigned>(pinned, pinned + count), a);
  run.expect_equal("b", std::vector<unsigned>(pinned + count, pinned + 2 * count), b);

  CHECK(cudaEventDestroy(a_ready));
  CHECK(cudaEventDestroy(b_ready));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaStreamDestroy(blocking));
  CHECK(cudaFreeHost(pinned));
  return run.finish();
}
