// Reductions: in shared memory, by shuffles, by redux, by tiles of cooperative groups, by atomics, by the last block, by the whole grid.
#include <cooperative_groups.h>

#include <algorithm>
#include <numeric>

#include "test/kernels/kernels.h"

namespace cg = cooperative_groups;

namespace kernels {
namespace {

constexpr int block_size = 256;
constexpr std::size_t count = 20011;

std::uint32_t wrapping_sum(const std::vector<std::uint32_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint32_t{0});
}

// Interleaved addressing with a modulo: divergent, as the first step of every lecture.
__global__ void reduce_interleaved(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned part[block_size];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// Sequential addressing, two loads a thread, the last warp without barriers of the block.
template <unsigned Block>
__global__ void reduce_unrolled(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned part[Block];
  const unsigned lane = threadIdx.x;
  unsigned sum = 0;
  for (unsigned i = blockIdx.x * Block * 2 + lane; i < static_cast<unsigned>(n); i += Block * 2 * gridDim.x) {
    sum += in[i];
    if (i + Block < static_cast<unsigned>(n)) sum += in[i + Block];
  }
  part[lane] = sum;
  __syncthreads();
#pragma unroll
  for (unsigned half = Block / 2; half > 32; half /= 2) {
    if (lane < half) part[lane] = sum = sum + part[lane + half];
    __syncthreads();
  }
  if (lane < 32) {
    sum += part[lane + 32];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffU, sum, offset);
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

template <class Launch>
void check_block_sums(Run& run, unsigned blocks, Launch launch) {
  const auto in = numbers_below<std::uint32_t>(1, count, 1ULL << 32);
  const DeviceArray<std::uint32_t> device_in(in);
  const DeviceArray<std::uint32_t> sums(blocks);
  launch(device_in.get(), sums.get());
  CHECK_LAUNCH();
  const auto got = sums.download();
  run.output(got);
  run.expect_equal("sum", std::vector<std::uint32_t>{wrapping_sum(got)}, {wrapping_sum(in)});
}

KERNEL_CASE(reduce_interleaved) {
  const unsigned blocks = blocks_for(count, block_size);
  check_block_sums(run, blocks, [=](auto* in, auto* out) { reduce_interleaved<<<blocks, block_size>>>(in, out, count); });
}

KERNEL_CASE(reduce_unrolled) {
  check_block_sums(run, 7, [](auto* in, auto* out) { reduce_unrolled<512><<<7, 512>>>(in, out, count); });
  check_block_sums(run, 64, [](auto* in, auto* out) { reduce_unrolled<64><<<64, 64>>>(in, out, count); });
}

// Maximum, minimum, or and sum of a warp by redux.sync, combined by atomics.
__global__ void reduce_redux(const int* in, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const unsigned mask = __ballot_sync(0xffffffffU, i < n);
  if (i >= n) return;
  const int sum = __reduce_add_sync(mask, in[i]);
  const int least = __reduce_min_sync(mask, in[i]);
  const int most = __reduce_max_sync(mask, in[i]);
  const unsigned any = __reduce_or_sync(mask, static_cast<unsigned>(in[i]));
  const unsigned odd = __reduce_xor_sync(mask, static_cast<unsigned>(in[i]));
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&out[0], sum);
  atomicMin(&out[1], least);
  atomicMax(&out[2], most);
  atomicOr(&out[3], static_cast<int>(any));
  atomicXor(&out[4], static_cast<int>(odd));
}

KERNEL_CASE(reduce_redux) {
  auto in = numbers_below<int>(2, count, 2000000);
  for (int& value : in) value -= 1000000;
  std::vector<int> want{0, INT32_MAX, INT32_MIN, 0, 0};
  const DeviceArray<int> device_in(in);
  const DeviceArray<int> result(want);
  for (const int value : in) {
    want = {static_cast<int>(static_cast<unsigned>(want[0]) + static_cast<unsigned>(value)), std::min(want[1], value),
            std::max(want[2], value), want[3] | value, want[4] ^ value};
  }
  reduce_redux<<<blocks_for(count, block_size), block_size>>>(device_in.get(), result.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("results", result.download(), want);
}

// The sample with cooperative groups: tiles of any size sum their part, rank 0 of each adds to the block's total.
template <unsigned Tile>
__global__ void reduce_tiles(const double* in, double* tiles, int n) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<Tile> tile = cg::tiled_partition<Tile>(block);
  const int i = static_cast<int>(cg::this_grid().thread_rank());
  double sum = i < n ? in[i] : 0.0;
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_xor(sum, offset);
  if (tile.thread_rank() == 0) tiles[static_cast<unsigned>(i) / Tile] = sum;
}

template <unsigned Tile>
void check_tiles(Run& run) {
  Numbers numbers(3);
  std::vector<double> in(4096);
  for (double& value : in) value = numbers.unit();
  std::vector<double> want;
  for (std::size_t i = 0; i < in.size(); i += Tile) {
    std::vector<double> level(in.begin() + static_cast<long>(i), in.begin() + static_cast<long>(i + Tile));
    for (unsigned offset = Tile / 2; offset > 0; offset /= 2) {
      for (unsigned k = 0; k < offset; ++k) level[k] += level[k + offset];
    }
    want.push_back(level[0]);
  }
  const DeviceArray<double> device_in(in);
  const DeviceArray<double> sums(in.size() / Tile);
  reduce_tiles<Tile><<<16, block_size>>>(device_in.get(), sums.get(), static_cast<int>(in.size()));
  CHECK_LAUNCH();
  run.expect_equal("tiles", sums.download(), want);
}

KERNEL_CASE(reduce_tiles) {
  check_tiles<4>(run);
  check_tiles<16>(run);
  check_tiles<32>(run);
}

// One launch: every block leaves its part, the block that finds itself last adds them up.
__device__ unsigned blocks_done = 0;

__global__ void reduce_last_block(const float* in, volatile float* parts, float* out, int n) {
  __shared__ float part[block_size];
  __shared__ bool last;
  float sum = 0;
  for (int i = static_cast<int>(blockIdx.x * block_size + threadIdx.x); i < n; i += static_cast<int>(gridDim.x) * block_size) sum += in[i];
  part[threadIdx.x] = sum;
  for (unsigned half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) sum += parts[block];
  *out = sum;
  blocks_done = 0;
}

KERNEL_CASE(reduce_last_block) {
  Numbers numbers(5);
  const std::vector<float> in = numbers.units(count);
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> parts(24);
  const DeviceArray<float> out(1);
  for (int round = 0; round < 2; ++round) {
    reduce_last_block<<<24, block_size>>>(device_in.get(), parts.get(), out.get(), count);
    CHECK_LAUNCH();
    run.expect_close("sum", out.download(), {std::accumulate(in.begin(), in.end(), 0.0)}, 1e-5);
  }
}

// The whole grid in one cooperative launch, with a barrier of the grid between the levels.
__global__ void reduce_grid(unsigned* values, int n) {
  const cg::grid_group grid = cg::this_grid();
  for (int half = n / 2; half > 0; half /= 2) {
    for (int i = static_cast<int>(grid.thread_rank()); i < half; i += static_cast<int>(grid.size())) values[i] += values[i + half];
    grid.sync();
  }
}

KERNEL_CASE(reduce_grid) {
  const auto in = numbers_below<std::uint32_t>(6, 8192, 1ULL << 32);
  const DeviceArray<std::uint32_t> values(in);
  unsigned* data = values.get();
  int n = static_cast<int>(in.size());
  void* arguments[] = {&data, &n};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(reduce_grid), dim3(6), dim3(128), arguments, 0, nullptr));
  auto got = values.download();
  got.resize(1);
  run.expect_equal("sum", got, {wrapping_sum(in)});
}

// The largest magnitude and where it is first, as one 64-bit key: value above, complement of the index below.
__global__ void reduce_arg_max(const float* in, unsigned long long* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  unsigned long long key = 0;
  if (i < n) key = static_cast<unsigned long long>(__float_as_uint(fabsf(in[i]))) << 32 | ~static_cast<unsigned>(i);
  for (int offset = 16; offset > 0; offset /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffU, key, offset);
    key = other > key ? other : key;
  }
  if (threadIdx.x % 32 == 0) atomicMax(out, key);
}

KERNEL_CASE(reduce_arg_max) {
  Numbers numbers(7);
  const std::vector<float> in = numbers.units(count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < in.size(); ++i) at = std::fabs(in[i]) > std::fabs(in[at]) ? i : at;
  const DeviceArray<float> device_in(in);
  const DeviceArray<unsigned long long> out(std::vector<unsigned long long>{0});
  reduce_arg_max<<<blocks_for(count, block_size), block_size>>>(device_in.get(), out.get(), count);
  CHECK_LAUNCH();
  const unsigned long long key = out.download()[0];
  run.expect_equal("index", std::vector<std::uint32_t>{~static_cast<std::uint32_t>(key)}, {static_cast<std::uint32_t>(at)});
}

// Mean and variance in one pass by Welford's method, merged between lanes.
__global__ void reduce_variance(const double* in, double* out, int n) {
  double mean = 0;
  double squares = 0;
  double weight = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    weight += 1;
    const double delta = in[i] - mean;
    mean += delta / weight;
    squares += delta * (in[i] - mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const double other_mean = __shfl_down_sync(0xffffffffU, mean, offset);
    const double other_squares = __shfl_down_sync(0xffffffffU, squares, offset);
    const double other_weight = __shfl_down_sync(0xffffffffU, weight, offset);
    const double total = weight + other_weight;
    const double delta = other_mean - mean;
    squares += other_squares + delta * delta * weight * other_weight / total;
    mean += delta * other_weight / total;
    weight = total;
  }
  if (threadIdx.x != 0) return;
  out[0] = mean;
  out[1] = squares / n;
}

KERNEL_CASE(reduce_variance) {
  Numbers numbers(8);
  std::vector<double> in(1000);
  for (double& value : in) value = numbers.unit() + 3.0;
  const double mean = std::accumulate(in.begin(), in.end(), 0.0) / 1000;
  double variance = 0;
  for (const double value : in) variance += (value - mean) * (value - mean) / 1000;
  const DeviceArray<double> device_in(in);
  const DeviceArray<double> out(2);
  reduce_variance<<<1, 32>>>(device_in.get(), out.get(), 1000);
  CHECK_LAUNCH();
  run.expect_close("mean and variance", out.download(), {mean, variance}, 1e-13);
}

}  // namespace
}  // namespace kernels
