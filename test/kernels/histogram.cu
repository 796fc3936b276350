// Histograms and counting: global atomics, shared atomics, 256 bins a warp, byte counters packed in words, match-any groups, a counting
// sort.
#include <algorithm>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

constexpr int block_size = 192;
constexpr std::size_t count = 24000;

std::vector<unsigned char> skewed_bytes() {
  Numbers numbers(21);
  std::vector<unsigned char> values(count);
  for (auto& value : values) value = static_cast<unsigned char>(std::min(numbers.below(256), numbers.below(256)));
  return values;
}

template <class T>
std::vector<unsigned> counts_of(const std::vector<T>& values, std::size_t bins, unsigned shift = 0) {
  std::vector<unsigned> counts(bins, 0);
  for (const T value : values) ++counts[static_cast<std::size_t>(value >> shift)];
  return counts;
}

template <class Launch>
void check_bytes(Run& run, std::size_t bins, unsigned shift, Launch launch) {
  const auto in = skewed_bytes();
  const DeviceArray<unsigned char> device_in(in);
  const DeviceArray<unsigned> bins_out(std::vector<unsigned>(bins, 0));
  launch(device_in.get(), bins_out.get());
  CHECK_LAUNCH();
  run.expect_equal("bins", bins_out.download(), counts_of(in, bins, shift));
}

__global__ void histogram_global(const unsigned char* in, unsigned* bins, int n) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&bins[in[i]], 1U);
}

KERNEL_CASE(histogram_global) {
  check_bytes(run, 256, 0, [](auto* in, auto* bins) { histogram_global<<<10, block_size>>>(in, bins, count); });
}

// Four bytes a load; each warp has its own 256 bins in shared memory, merged at the end.
__global__ void histogram_256(const uint4* in, unsigned* bins, int words) {
  constexpr int warps = block_size / 32;
  __shared__ unsigned own[warps][256];
  for (unsigned i = threadIdx.x; i < warps * 256; i += block_size) (&own[0][0])[i] = 0;
  __syncthreads();
  unsigned* mine = own[threadIdx.x / 32];
  const auto add_word = [mine](unsigned word) {
    atomicAdd(&mine[word & 0xff], 1U);
    atomicAdd(&mine[word >> 8 & 0xff], 1U);
    atomicAdd(&mine[word >> 16 & 0xff], 1U);
    atomicAdd(&mine[word >> 24], 1U);
  };
  for (int i = static_cast<int>(blockIdx.x * block_size + threadIdx.x); i < words; i += static_cast<int>(gridDim.x) * block_size) {
    const uint4 words4 = in[i];
    add_word(words4.x);
    add_word(words4.y);
    add_word(words4.z);
    add_word(words4.w);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 256; bin += block_size) {
    unsigned sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += own[warp][bin];
    atomicAdd(&bins[bin], sum);
  }
}

KERNEL_CASE(histogram_256) {
  static_assert(count % 16 == 0);
  check_bytes(run, 256, 0,
              [](auto* in, auto* bins) { histogram_256<<<3, block_size>>>(reinterpret_cast<const uint4*>(in), bins, count / 16); });
}

// 64 bins of one byte a thread, so that no thread shares a counter with another; at most 255 values a thread.
__global__ void histogram_64(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned char own[64][64];
  for (int bin = 0; bin < 64; ++bin) own[bin][threadIdx.x] = 0;
  const int first = static_cast<int>(blockIdx.x * 64 + threadIdx.x) * 200;
  for (int i = first; i < min(first + 200, n); ++i) ++own[in[i] >> 2][threadIdx.x];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < 64; ++i) sum += own[threadIdx.x][(i + threadIdx.x) % 64];
  atomicAdd(&bins[threadIdx.x], sum);
}

KERNEL_CASE(histogram_64) {
  check_bytes(run, 64, 2, [](auto* in, auto* bins) { histogram_64<<<blocks_for(count, 64 * 200), 64>>>(in, bins, count); });
}

// Lanes with the same value are found by match.any and counted by one of them.
__global__ void histogram_match(const unsigned char* in, unsigned* bins, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const unsigned active = __ballot_sync(0xffffffffU, i < n);
  if (i >= n) return;
  const unsigned value = in[i] >> 4;
  const unsigned same = __match_any_sync(active, value);
  if (__ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32)) atomicAdd(&bins[value], __popc(same));
}

KERNEL_CASE(histogram_match) {
  check_bytes(run, 16, 4, [](auto* in, auto* bins) { histogram_match<<<blocks_for(count, block_size), block_size>>>(in, bins, count); });
}

// Floats into bins whose edges are in constant memory, found by bisection; saturating 16-bit counters by compare-and-swap.
constexpr int edge_count = 17;
__constant__ float edges[edge_count];

__device__ void saturating_increment(unsigned short* counter) {
  auto* word = reinterpret_cast<unsigned*>(reinterpret_cast<std::uintptr_t>(counter) & ~std::uintptr_t{3});
  const unsigned shift = (reinterpret_cast<std::uintptr_t>(counter) & 2) * 8;
  unsigned seen = *word;
  unsigned expected;
  do {
    expected = seen;
    if ((expected >> shift & 0xffff) == 2000) return;
    seen = atomicCAS(word, expected, expected + (1U << shift));
  } while (seen != expected);
}

__global__ void histogram_edges(const float* in, unsigned short* bins, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  int low = 0;
  int high = edge_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (in[i] < edges[middle] ? high : low) = middle;
  }
  saturating_increment(&bins[low]);
}

KERNEL_CASE(histogram_edges) {
  Numbers numbers(22);
  const std::vector<float> in = numbers.units(count);
  std::vector<float> host_edges{-1.0F};
  for (int i = 1; i < edge_count; ++i) host_edges.push_back(host_edges.back() + 0.01F * static_cast<float>(i));
  CHECK(cudaMemcpyToSymbol(edges, host_edges.data(), sizeof(edges)));
  std::vector<unsigned short> want(edge_count + 1, 0);
  for (const float value : in) {
    auto& bin = want[static_cast<std::size_t>(std::upper_bound(host_edges.begin(), host_edges.end(), value) - host_edges.begin() - 1)];
    bin = static_cast<unsigned short>(std::min(bin + 1, 2000));
  }
  const DeviceArray<float> device_in(in);
  const DeviceArray<unsigned short> bins(std::vector<unsigned short>(edge_count + 1, 0));
  histogram_edges<<<blocks_for(count, block_size), block_size>>>(device_in.get(), bins.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("bins", bins.download(), want);
}

// Counting sort of one block: histogram, scan, stable scatter in turns of one warp.
__global__ void counting_sort(const unsigned char* in, unsigned char* out, unsigned short* from, int n) {
  __shared__ unsigned place[256];
  place[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 256) atomicAdd(&place[in[i]], 1U);
  __syncthreads();
  unsigned sum = 0;
  for (unsigned bin = 0; bin < threadIdx.x; ++bin) sum += place[bin];
  __syncthreads();
  place[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  for (int first = 0; first < n; first += 32) {
    const int i = first + static_cast<int>(threadIdx.x);
    const unsigned value = i < n ? in[i] : 256 + threadIdx.x;
    const unsigned same = __match_any_sync(0xffffffffU, value);
    const unsigned rank = __popc(same & ((1U << threadIdx.x) - 1));
    if (i < n) {
      const unsigned to = place[value] + rank;
      out[to] = static_cast<unsigned char>(value);
      from[to] = static_cast<unsigned short>(i);
    }
    __syncwarp();
    if (i < n && rank == 0) place[value] += __popc(same);
    __syncwarp();
  }
}

KERNEL_CASE(counting_sort) {
  auto in = skewed_bytes();
  in.resize(5003);
  std::vector<unsigned short> order(in.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<unsigned short>(i);
  std::stable_sort(order.begin(), order.end(), [&](unsigned short a, unsigned short b) { return in[a] < in[b]; });
  const DeviceArray<unsigned char> device_in(in);
  const DeviceArray<unsigned char> out(in.size());
  const DeviceArray<unsigned short> from(in.size());
  counting_sort<<<1, 256>>>(device_in.get(), out.get(), from.get(), static_cast<int>(in.size()));
  CHECK_LAUNCH();
  run.expect_equal("order", from.download(), order);
  std::sort(in.begin(), in.end());
  run.expect_equal("sorted", out.download(), in);
}

}  // namespace
}  // namespace kernels
