// CUDA graphs: captured from several streams, built by hand, updated, with memory of their own; replayed with inputs that change.
// Each step is an integer map that doesn't commute with the others, so that a wrong order or a lost replay shows as wrong bytes.
#include "runtime_check.h"

__constant__ unsigned table[4];

__global__ void affine(unsigned* values, unsigned factor, unsigned offset, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor + offset;
}

__global__ void mix(const unsigned* other, unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = (values[i] ^ (other[i] >> 7)) + other[count - 1 - i];
}

__global__ void look_up(unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += table[values[i] & 3];
}

namespace {

using Values = std::vector<unsigned>;

void host_affine(Values& values, unsigned factor, unsigned offset) {
  for (unsigned& value : values) value = value * factor + offset;
}
void host_mix(const Values& other, Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (values[i] ^ (other[i] >> 7)) + other[values.size() - 1 - i];
}
void host_look_up(Values& values, const unsigned (&entries)[4]) {
  for (unsigned& value : values) value += entries[value & 3];
}

struct Work {
  unsigned *a, *b;
  int count;
  unsigned blocks;
  cudaStream_t first, second;
  cudaEvent_t fork, join;
};

// a and b at the same time, then each into the other one; the scratch memory belongs to the graph.
cudaGraph_t captured(const Work& w, unsigned factor) {
  const std::size_t bytes = static_cast<std::size_t>(w.count) * sizeof(unsigned);
  cudaGraph_t graph = nullptr;
  unsigned* scratch = nullptr;
  CHECK(cudaStreamBeginCapture(w.first, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(w.fork, w.first));
  CHECK(cudaStreamWaitEvent(w.second, w.fork, 0));
  affine<<<w.blocks, 128, 0, w.first>>>(w.a, factor, 1013904223U, w.count);
  affine<<<w.blocks, 128, 0, w.second>>>(w.b, 22695477U, 1U, w.count);
  CHECK(cudaEventRecord(w.join, w.second));
  CHECK(cudaStreamWaitEvent(w.first, w.join, 0));
  CHECK(cudaMallocAsync(&scratch, bytes, w.first));
  CHECK(cudaMemcpyAsync(scratch, w.a, bytes, cudaMemcpyDeviceToDevice, w.first));
  mix<<<w.blocks, 128, 0, w.first>>>(w.b, w.a, w.count);
  mix<<<w.blocks, 128, 0, w.first>>>(scratch, w.b, w.count);
  CHECK(cudaFreeAsync(scratch, w.first));
  CHECK(cudaStreamEndCapture(w.first, &graph));
  CHECK_LAUNCH();
  return graph;
}

void host_captured(Values& a, Values& b, unsigned factor) {
  host_affine(a, factor, 1013904223U);
  host_affine(b, 22695477U, 1U);
  const Values scratch = a;
  host_mix(b, a);
  host_mix(scratch, b);
}

}  // namespace

int main(int argc, char** argv) {
  program::Run run(argc, argv, "graphs", 5'000);
  const std::size_t count = run.size();
  program::Numbers numbers(9);
  Values a(count), b(count);
  for (unsigned& value : a) value = static_cast<unsigned>(numbers.bits());
  for (unsigned& value : b) value = static_cast<unsigned>(numbers.bits());
  const program::DeviceArray<unsigned> device_a(a), device_b(b);
  Work w{device_a.get(), device_b.get(), static_cast<int>(count), program::blocks_for(count, 128), nullptr, nullptr, nullptr, nullptr};
  CHECK(cudaStreamCreateWithFlags(&w.first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&w.second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&w.fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&w.join, cudaEventDisableTiming));

  // Replayed three times, with work of the stream between.
  cudaGraph_t graph = captured(w, 1664525U);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (unsigned round = 0; round < 3; ++round) {
    affine<<<w.blocks, 128, 0, w.first>>>(w.a, 3U, round, w.count);
    CHECK_LAUNCH();
    CHECK(cudaGraphLaunch(exec, w.first));
    host_affine(a, 3U, round);
    host_captured(a, b, 1664525U);
  }
  CHECK(cudaStreamSynchronize(w.first));
  run.expect_equal("a, captured", device_a.download(), a);
  run.expect_equal("b, captured", device_b.download(), b);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // By hand: a table that a node copies to constant memory, and kernels that use it; then other arguments for one of them.
  const unsigned entries[4] = {17, 1 << 20, 3, 99};
  int n = w.count;
  void* look_up_arguments[] = {&w.a, &n};
  void* mix_arguments[] = {&w.a, &w.b, &n};
  cudaKernelNodeParams params{};
  params.gridDim = dim3(w.blocks);
  params.blockDim = dim3(128);
  cudaGraphNode_t copied = nullptr, looked_up = nullptr, mixed = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&copied, graph, nullptr, 0, table, entries, sizeof entries, 0, cudaMemcpyHostToDevice));
  params.func = reinterpret_cast<void*>(&look_up);
  params.kernelParams = look_up_arguments;
  CHECK(cudaGraphAddKernelNode(&looked_up, graph, &copied, 1, &params));
  params.func = reinterpret_cast<void*>(&mix);
  params.kernelParams = mix_arguments;
  CHECK(cudaGraphAddKernelNode(&mixed, graph, &looked_up, 1, &params));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, w.first));
  host_look_up(a, entries);
  host_mix(a, b);
  cudaKernelNodeParams asked{};
  CHECK(cudaGraphKernelNodeGetParams(mixed, &asked));
  if (asked.func != params.func || asked.gridDim.x != w.blocks || *static_cast<unsigned**>(asked.kernelParams[1]) != w.b) {
    std::fprintf(stderr, "graphs: a node isn't what was added\n");
    return 1;
  }
  void* swapped_arguments[] = {&w.b, &w.a, &n};
  params.kernelParams = swapped_arguments;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, mixed, &params));
  CHECK(cudaGraphLaunch(exec, w.first));
  host_look_up(a, entries);
  host_mix(b, a);
  CHECK(cudaStreamSynchronize(w.first));
  run.expect_equal("a, by hand", device_a.download(), a);
  run.expect_equal("b, by hand", device_b.download(), b);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaEventDestroy(w.fork));
  CHECK(cudaEventDestroy(w.join));
  CHECK(cudaStreamDestroy(w.first));
  CHECK(cudaStreamDestroy(w.second));
  return run.finish();
}
