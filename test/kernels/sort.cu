// Sorts: bitonic in shared memory and over many launches, odd-even merge, radix by splits and by digits, merge path, quicksort by
// device recursion, selection of the k largest.
#include <algorithm>
#include <numeric>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

template <class T>
__device__ void order(T& low, T& high, bool ascending) {
  if ((low > high) == ascending) {
    const T kept = low;
    low = high;
    high = kept;
  }
}

// Each block sorts 512 keys with their values in shared memory, every second block downwards.
__global__ void bitonic_shared(unsigned* keys, unsigned* values) {
  __shared__ unsigned long long pairs[512];
  const unsigned base = blockIdx.x * 512;
  for (unsigned i = threadIdx.x; i < 512; i += 256) pairs[i] = static_cast<unsigned long long>(keys[base + i]) << 32 | values[base + i];
  for (unsigned size = 2; size <= 512; size *= 2) {
    const bool ascending = size == 512 ? blockIdx.x % 2 == 0 : (threadIdx.x & (size / 2)) == 0;
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      order(pairs[at], pairs[at + stride], ascending);
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 512; i += 256) {
    keys[base + i] = static_cast<unsigned>(pairs[i] >> 32);
    values[base + i] = static_cast<unsigned>(pairs[i]);
  }
}

KERNEL_CASE(bitonic_shared) {
  const auto keys = numbers_below<unsigned>(41, 4 * 512, 1000);
  const auto values = numbers_below<unsigned>(42, keys.size(), 1ULL << 32);
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (std::size_t i = 0; i < keys.size(); ++i) pairs.emplace_back(keys[i], values[i]);
  for (long block = 0; block < 4; ++block) {
    const auto begin = pairs.begin() + block * 512;
    std::sort(begin, begin + 512);
    if (block % 2 == 1) std::reverse(begin, begin + 512);
  }
  std::vector<unsigned> want_keys;
  std::vector<unsigned> want_values;
  for (const auto& [key, value] : pairs) want_keys.push_back(key), want_values.push_back(value);
  const DeviceArray<unsigned> device_keys(keys);
  const DeviceArray<unsigned> device_values(values);
  bitonic_shared<<<4, 256>>>(device_keys.get(), device_values.get());
  CHECK_LAUNCH();
  run.expect_equal("keys", device_keys.download(), want_keys);
  run.expect_equal("values", device_values.download(), want_values);
}

// One compare-exchange step of the whole array a launch.
template <class T>
__global__ void bitonic_step(T* data, unsigned size, unsigned stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned partner = i ^ stride;
  if (partner > i) order(data[i], data[partner], (i & size) == 0);
}

template <class T>
void check_bitonic(Run& run, std::vector<T> in) {
  const DeviceArray<T> data(in);
  const auto n = static_cast<unsigned>(in.size());
  for (unsigned size = 2; size <= n; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) bitonic_step<<<n / 128, 128>>>(data.get(), size, stride);
  }
  CHECK_LAUNCH();
  std::sort(in.begin(), in.end());
  run.expect_equal("sorted", data.download(), in);
}

KERNEL_CASE(bitonic_global) {
  Numbers numbers(43);
  check_bitonic(run, numbers.units(4096));
  check_bitonic(run, numbers_below<long long>(44, 512, 1ULL << 62));
  std::vector<double> doubles(1024);
  for (double& value : doubles) value = numbers.unit() * 1e200;
  check_bitonic(run, doubles);
}

// Batcher's odd-even merge sort of 16-bit keys, one block.
__global__ void odd_even_merge(short* data) {
  __shared__ short part[1024];
  const unsigned t = threadIdx.x;
  part[t] = data[blockIdx.x * 1024 + t];
  part[t + 512] = data[blockIdx.x * 1024 + t + 512];
  for (unsigned size = 2; size <= 1024; size *= 2) {
    unsigned stride = size / 2;
    const unsigned offset = t & (stride - 1);
    __syncthreads();
    const unsigned first = 2 * t - (t & (stride - 1));
    order(part[first], part[first + stride], true);
    for (stride /= 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned at = 2 * t - (t & (stride - 1));
      if (offset >= stride) order(part[at - stride], part[at], true);
    }
  }
  __syncthreads();
  data[blockIdx.x * 1024 + t] = part[t];
  data[blockIdx.x * 1024 + t + 512] = part[t + 512];
}

KERNEL_CASE(odd_even_merge) {
  auto in = numbers_below<short>(45, 2 * 1024, 1U << 16);
  const DeviceArray<short> data(in);
  odd_even_merge<<<2, 512>>>(data.get());
  CHECK_LAUNCH();
  std::sort(in.begin(), in.begin() + 1024);
  std::sort(in.begin() + 1024, in.end());
  run.expect_equal("sorted", data.download(), in);
}

// Radix sort in one block by 32 stable splits, each from a ballot in every warp and a sum over the warps.
__global__ void radix_splits(unsigned* data) {
  __shared__ unsigned keys[1024];
  __shared__ unsigned zeros_of_warp[32];
  const unsigned t = threadIdx.x;
  const unsigned lane = t % 32;
  const unsigned warp = t / 32;
  unsigned key = data[t];
  for (unsigned bit = 0; bit < 32; ++bit) {
    const bool one = (key >> bit & 1) != 0;
    const unsigned zeros = __ballot_sync(0xffffffffU, !one);
    if (lane == 0) zeros_of_warp[warp] = __popc(zeros);
    const unsigned all_zeros = static_cast<unsigned>(__syncthreads_count(!one));
    unsigned before = __popc(zeros & ((1U << lane) - 1));
    for (unsigned w = 0; w < warp; ++w) before += zeros_of_warp[w];
    keys[one ? all_zeros + t - before : before] = key;
    __syncthreads();
    key = keys[t];
    __syncthreads();
  }
  data[t] = key;
}

KERNEL_CASE(radix_splits) {
  auto in = numbers_below<unsigned>(46, 1024, 1ULL << 32);
  const DeviceArray<unsigned> data(in);
  radix_splits<<<1, 1024>>>(data.get());
  CHECK_LAUNCH();
  std::sort(in.begin(), in.end());
  run.expect_equal("sorted", data.download(), in);
}

// Radix sort of floats over many blocks, 4 bits a pass: count, scan of all counts digit by digit, stable scatter.
constexpr unsigned digits = 16;
constexpr unsigned radix_block = 256;

__device__ unsigned sortable(unsigned bits) { return bits ^ (bits >> 31 != 0 ? 0xffffffffU : 0x80000000U); }

__global__ void radix_count(const unsigned* keys, unsigned* counts, unsigned n, unsigned shift) {
  __shared__ unsigned count[digits];
  if (threadIdx.x < digits) count[threadIdx.x] = 0;
  __syncthreads();
  const unsigned i = blockIdx.x * radix_block + threadIdx.x;
  if (i < n) atomicAdd(&count[sortable(keys[i]) >> shift & (digits - 1)], 1U);
  __syncthreads();
  if (threadIdx.x < digits) counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

__global__ void radix_offsets(unsigned* counts, unsigned n) {
  unsigned sum = 0;
  for (unsigned first = 0; first < n; first += 32) {
    const unsigned i = first + threadIdx.x;
    const unsigned own = i < n ? counts[i] : 0;
    unsigned value = own;
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      const unsigned below = __shfl_up_sync(0xffffffffU, value, offset);
      if (threadIdx.x >= offset) value += below;
    }
    if (i < n) counts[i] = sum + value - own;
    sum += __shfl_sync(0xffffffffU, value, 31);
  }
}

__global__ void radix_scatter(const unsigned* keys, unsigned* out, const unsigned* offsets, unsigned n, unsigned shift) {
  __shared__ unsigned of_warp[radix_block / 32][digits];
  const unsigned i = blockIdx.x * radix_block + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  for (unsigned at = lane; at < digits; at += 32) of_warp[warp][at] = 0;
  __syncwarp();
  const unsigned digit = i < n ? sortable(keys[i]) >> shift & (digits - 1) : digits;
  const unsigned same = __match_any_sync(0xffffffffU, digit);
  const unsigned rank = __popc(same & ((1U << lane) - 1));
  if (i < n && rank == 0) of_warp[warp][digit] = __popc(same);
  __syncthreads();
  if (i >= n) return;
  unsigned to = offsets[digit * gridDim.x + blockIdx.x] + rank;
  for (unsigned w = 0; w < warp; ++w) to += of_warp[w][digit];
  out[to] = keys[i];
}

KERNEL_CASE(radix_digits) {
  Numbers numbers(47);
  std::vector<float> in = numbers.units(3000, 100.0F);
  const auto n = static_cast<unsigned>(in.size());
  const unsigned blocks = blocks_for(n, radix_block);
  const DeviceArray<float> data(in);
  const DeviceArray<float> other(n);
  const DeviceArray<unsigned> counts(blocks * digits);
  auto* from = reinterpret_cast<unsigned*>(data.get());
  auto* to = reinterpret_cast<unsigned*>(other.get());
  for (unsigned shift = 0; shift < 32; shift += 4) {
    radix_count<<<blocks, radix_block>>>(from, counts.get(), n, shift);
    radix_offsets<<<1, 32>>>(counts.get(), blocks * digits);
    radix_scatter<<<blocks, radix_block>>>(from, to, counts.get(), n, shift);
    std::swap(from, to);
  }
  CHECK_LAUNCH();
  std::sort(in.begin(), in.end());
  run.expect_equal("sorted", data.download(), in);
}

// Merges sorted runs two by two; each thread finds its place on the merge path by bisection and merges eight values.
__global__ void merge_path(const int* in, int* out, int width, int n) {
  constexpr int each = 8;
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * each;
  if (first >= n) return;
  const int pair = first / (2 * width) * 2 * width;
  const int* a = in + pair;
  const int a_size = min(width, n - pair);
  const int* b = a + a_size;
  const int b_size = min(width, n - pair - a_size);
  const int diagonal = first - pair;
  int low = max(0, diagonal - b_size);
  int high = min(diagonal, a_size);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int i = low;
  int j = diagonal - low;
  for (int k = 0; k < each && first + k < n; ++k) out[first + k] = j >= b_size || (i < a_size && a[i] <= b[j]) ? a[i++] : b[j++];
}

KERNEL_CASE(merge_path) {
  auto in = numbers_below<int>(48, 3333, 500);
  const auto n = static_cast<int>(in.size());
  for (std::size_t i = 0; i < in.size(); i += 8)
    std::sort(in.begin() + static_cast<long>(i), in.begin() + std::min(n, static_cast<int>(i) + 8));
  const DeviceArray<int> data(in);
  const DeviceArray<int> other(in.size());
  int* from = data.get();
  int* to = other.get();
  for (int width = 8; width < n; width *= 2) {
    merge_path<<<blocks_for(in.size(), 8 * 64), 64>>>(from, to, width, n);
    std::swap(from, to);
  }
  CHECK_LAUNCH();
  std::sort(in.begin(), in.end());
  run.expect_equal("sorted", from == data.get() ? data.download() : other.download(), in);
}

// Quicksort: one thread a segment, recursion of a device function that can't be inlined away.
__device__ __noinline__ void quicksort(int* data, int low, int high) {
  if (high - low < 8) {
    for (int i = low + 1; i <= high; ++i) {
      const int value = data[i];
      int at = i;
      for (; at > low && data[at - 1] > value; --at) data[at] = data[at - 1];
      data[at] = value;
    }
    return;
  }
  const int pivot = data[(low + high) / 2];
  int i = low;
  int j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i > j) break;
    const int kept = data[i];
    data[i++] = data[j];
    data[j--] = kept;
  }
  if (low < j) quicksort(data, low, j);
  if (i < high) quicksort(data, i, high);
}

__global__ void quicksort_segments(int* data, int segment, int segments) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < segments) quicksort(data + i * segment, 0, segment - 1);
}

KERNEL_CASE(quicksort_recursive) {
  constexpr int segment = 73;
  constexpr int segments = 40;
  auto in = numbers_below<int>(49, segment * segments, 200);
  const DeviceArray<int> data(in);
  quicksort_segments<<<2, 32>>>(data.get(), segment, segments);
  CHECK_LAUNCH();
  for (int i = 0; i < segments; ++i) std::sort(in.begin() + i * segment, in.begin() + (i + 1) * segment);
  run.expect_equal("sorted", data.download(), in);
}

// The k largest of each row and where they were: every lane keeps its best in registers, the warp takes the best of all k times.
template <int K>
__global__ void top_k(const float* rows, float* values, int* places, int columns) {
  const float* row = rows + static_cast<size_t>(blockIdx.x) * columns;
  float best[K];
  int at[K];
  for (int k = 0; k < K; ++k) best[k] = -INFINITY, at[k] = -1;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += 32) {
    float value = row[i];
    int place = i;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (value > best[k]) {
        const float out = best[k];
        const int out_at = at[k];
        best[k] = value, at[k] = place;
        value = out, place = out_at;
      }
    }
  }
  int head = 0;
  for (int k = 0; k < K; ++k) {
    float mine = head < K ? best[head] : -INFINITY;
    int place = head < K ? at[head] : -1;
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffffU, mine, offset);
      const int other_place = __shfl_xor_sync(0xffffffffU, place, offset);
      if (other > mine || (other == mine && static_cast<unsigned>(other_place) < static_cast<unsigned>(place)))
        mine = other, place = other_place;
    }
    if (head < K && at[head] == place) ++head;
    if (threadIdx.x == 0) values[blockIdx.x * K + k] = mine, places[blockIdx.x * K + k] = place;
  }
}

KERNEL_CASE(top_k) {
  constexpr int rows = 20;
  constexpr int columns = 700;
  constexpr int k = 6;
  Numbers numbers(50);
  const std::vector<float> in = numbers.units(rows * columns);
  std::vector<float> want;
  std::vector<int> want_places;
  for (int row = 0; row < rows; ++row) {
    const float* const values = in.data() + row * columns;
    std::vector<int> places(columns);
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return values[a] > values[b]; });
    for (int i = 0; i < k; ++i)
      want.push_back(values[places[static_cast<std::size_t>(i)]]), want_places.push_back(places[static_cast<std::size_t>(i)]);
  }
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> values(rows * k);
  const DeviceArray<int> places(rows * k);
  top_k<k><<<rows, 32>>>(device_in.get(), values.get(), places.get(), columns);
  CHECK_LAUNCH();
  run.expect_equal("values", values.download(), want);
  run.expect_equal("places", places.download(), want_places);
}

}  // namespace
}  // namespace kernels
