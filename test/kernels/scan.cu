// Prefix sums: in a block (two classic forms), by shuffles, over many blocks in three launches, in one pass with look-back,
// of segments; and what they are used for: compaction, with and without order.
#include <algorithm>
#include <numeric>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

constexpr int block_size = 256;
constexpr std::size_t count = 30000;

std::vector<unsigned> inclusive(const std::vector<unsigned>& in, std::size_t segment) {
  std::vector<unsigned> out(in.size());
  for (std::size_t i = 0; i < in.size(); i += segment) {
    const auto end = static_cast<long>(std::min(in.size(), i + segment));
    std::partial_sum(in.begin() + static_cast<long>(i), in.begin() + end, out.begin() + static_cast<long>(i));
  }
  return out;
}

std::vector<unsigned> exclusive(const std::vector<unsigned>& in, std::size_t segment) {
  std::vector<unsigned> out = inclusive(in, segment);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] -= in[i];
  return out;
}

std::vector<unsigned> input(std::size_t size) { return numbers_below<unsigned>(11, size, 1000000); }

// Hillis and Steele: log n steps, double-buffered.
__global__ void scan_hillis_steele(const unsigned* in, unsigned* out) {
  __shared__ unsigned buffer[2][block_size];
  const unsigned t = threadIdx.x;
  const unsigned i = blockIdx.x * block_size + t;
  int from = 0;
  buffer[0][t] = in[i];
  for (unsigned offset = 1; offset < block_size; offset *= 2) {
    __syncthreads();
    buffer[1 - from][t] = buffer[from][t] + (t >= offset ? buffer[from][t - offset] : 0);
    from = 1 - from;
  }
  out[i] = buffer[from][t];
}

KERNEL_CASE(scan_hillis_steele) {
  const auto in = input(8 * block_size);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(in.size());
  scan_hillis_steele<<<8, block_size>>>(device_in.get(), out.get());
  CHECK_LAUNCH();
  run.expect_equal("scan", out.download(), inclusive(in, block_size));
}

// Blelloch: up-sweep and down-sweep over two values a thread, padded against bank conflicts, dynamic shared memory.
__device__ unsigned padded(unsigned i) { return i + (i >> 5); }

__global__ void scan_blelloch(const unsigned* in, unsigned* out, unsigned* totals) {
  extern __shared__ unsigned tree[];
  const unsigned n = 2 * blockDim.x;
  const unsigned t = threadIdx.x;
  const unsigned base = blockIdx.x * n;
  tree[padded(t)] = in[base + t];
  tree[padded(t + n / 2)] = in[base + t + n / 2];
  unsigned stride = 1;
  for (unsigned active = n / 2; active > 0; active /= 2, stride *= 2) {
    __syncthreads();
    if (t < active) tree[padded(stride * (2 * t + 2) - 1)] += tree[padded(stride * (2 * t + 1) - 1)];
  }
  if (t == 0) {
    totals[blockIdx.x] = tree[padded(n - 1)];
    tree[padded(n - 1)] = 0;
  }
  for (unsigned active = 1; active < n; active *= 2) {
    stride /= 2;
    __syncthreads();
    if (t < active) {
      const unsigned left = padded(stride * (2 * t + 1) - 1);
      const unsigned right = padded(stride * (2 * t + 2) - 1);
      const unsigned moved = tree[left];
      tree[left] = tree[right];
      tree[right] += moved;
    }
  }
  __syncthreads();
  out[base + t] = tree[padded(t)];
  out[base + t + n / 2] = tree[padded(t + n / 2)];
}

KERNEL_CASE(scan_blelloch) {
  constexpr unsigned each = 2 * block_size;
  const auto in = input(6 * each);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(in.size());
  const DeviceArray<unsigned> totals(6);
  scan_blelloch<<<6, block_size, (each + each / 32) * sizeof(unsigned)>>>(device_in.get(), out.get(), totals.get());
  CHECK_LAUNCH();
  run.expect_equal("scan", out.download(), exclusive(in, each));
  std::vector<unsigned> want;
  for (unsigned i = each - 1; i < in.size(); i += each) want.push_back(inclusive(in, each)[i]);
  run.expect_equal("totals", totals.download(), want);
}

__device__ unsigned scan_warp(unsigned value) {
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffU, value, offset);
    if (threadIdx.x % 32 >= offset) value += below;
  }
  return value;
}

// Inclusive within the block; every thread may use the total.
__device__ unsigned scan_block(unsigned value, unsigned& total) {
  __shared__ unsigned warps[32];
  const unsigned warp = threadIdx.x / 32;
  value = scan_warp(value);
  if (threadIdx.x % 32 == 31) warps[warp] = value;
  __syncthreads();
  if (warp == 0) warps[threadIdx.x] = scan_warp(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0);
  __syncthreads();
  total = warps[31];
  if (warp > 0) value += warps[warp - 1];
  __syncthreads();
  return value;
}

__global__ void scan_parts(const unsigned* in, unsigned* out, unsigned* totals, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned total;
  const unsigned value = scan_block(i < n ? in[i] : 0, total);
  if (i < n) out[i] = value;
  if (threadIdx.x == 0 && totals != nullptr) totals[blockIdx.x] = total;
}

__global__ void add_before(unsigned* out, const unsigned* totals, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && blockIdx.x > 0) out[i] += totals[blockIdx.x - 1];
}

KERNEL_CASE(scan_three_launches) {
  const auto in = input(count);
  const unsigned blocks = blocks_for(count, block_size);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(count);
  const DeviceArray<unsigned> totals(blocks);
  scan_parts<<<blocks, block_size>>>(device_in.get(), out.get(), totals.get(), count);
  scan_parts<<<1, 512>>>(totals.get(), totals.get(), nullptr, blocks);
  add_before<<<blocks, block_size>>>(out.get(), totals.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("scan", out.download(), inclusive(in, count));
}

// One pass (a tile is its state, 1 own sum or 2 prefix, above its value): a block takes a ticket, publishes its sum, looks back over those
// before it until one knows its whole prefix.

__global__ void scan_look_back(const unsigned* in, unsigned* out, unsigned* ticket, unsigned long long* tiles, unsigned n) {
  __shared__ unsigned tile;
  __shared__ unsigned before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const unsigned i = tile * blockDim.x + threadIdx.x;
  unsigned total;
  const unsigned value = scan_block(i < n ? in[i] : 0, total);
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    if (tile > 0) {
      atomicExch(&tiles[tile], 1ULL << 32 | total);
      for (unsigned at = tile - 1;;) {
        const unsigned long long seen = *static_cast<volatile unsigned long long*>(&tiles[at]);
        if (seen >> 32 == 0) continue;
        sum += static_cast<unsigned>(seen);
        if (seen >> 32 == 2) break;
        --at;
      }
    }
    before = sum;
    atomicExch(&tiles[tile], 2ULL << 32 | (sum + total));
  }
  __syncthreads();
  if (i < n) out[i] = before + value;
}

KERNEL_CASE(scan_look_back) {
  const auto in = input(count);
  const unsigned blocks = blocks_for(count, block_size);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(count);
  const DeviceArray<unsigned> ticket(std::vector<unsigned>{0});
  const DeviceArray<unsigned long long> tiles(std::vector<unsigned long long>(blocks, 0));
  scan_look_back<<<blocks, block_size>>>(device_in.get(), out.get(), ticket.get(), tiles.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("scan", out.download(), inclusive(in, count));
}

// Segments begin where a flag is set; a warp scans (flag, value) pairs and finds its segment's head by counting leading zeros.
__global__ void scan_segments(const unsigned* in, const unsigned char* heads, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned starts = __ballot_sync(0xffffffffU, heads[i] != 0 || lane == 0);
  const unsigned head = 31 - __clz(starts & (0xffffffffU >> (31 - lane)));
  unsigned value = in[i];
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffU, value, offset);
    if (lane >= head + offset) value += below;
  }
  out[i] = value;
}

KERNEL_CASE(scan_segments) {
  const auto in = input(4096);
  const auto heads = numbers_below<unsigned char>(12, in.size(), 2);
  std::vector<unsigned> want(in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i % 32 != 0 && heads[i] == 0) want[i] += want[i - 1];
  }
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned char> device_heads(heads);
  const DeviceArray<unsigned> out(in.size());
  scan_segments<<<16, block_size>>>(device_in.get(), device_heads.get(), out.get());
  CHECK_LAUNCH();
  run.expect_equal("scan", out.download(), want);
}

// Keeps the multiples of 3, in order: each block counts, takes its place from the scanned counts, lanes rank themselves by popc.
__global__ void count_kept(const unsigned* in, unsigned* counts, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int kept = __syncthreads_count(i < n && in[i] % 3 == 0);
  if (threadIdx.x == 0) counts[blockIdx.x] = static_cast<unsigned>(kept);
}

__global__ void compact_in_order(const unsigned* in, const unsigned* offsets, unsigned* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && in[i] % 3 == 0;
  unsigned total;
  const unsigned rank = scan_block(keep ? 1 : 0, total);
  if (keep) out[offsets[blockIdx.x] - total + rank - 1] = in[i];
}

// In any order: the lanes that keep elect a leader that adds once for all of them.
__global__ void compact_by_warps(const unsigned* in, unsigned* out, unsigned* kept, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] % 3 != 0) return;
  const unsigned active = __activemask();
  const unsigned lane = threadIdx.x % 32;
  const int leader = __ffs(static_cast<int>(active)) - 1;
  unsigned base = 0;
  if (static_cast<int>(lane) == leader) base = atomicAdd(kept, __popc(active));
  base = __shfl_sync(active, base, leader);
  out[base + __popc(active & ((1U << lane) - 1))] = in[i];
}

std::vector<unsigned> multiples(const std::vector<unsigned>& in) {
  std::vector<unsigned> kept;
  for (const unsigned value : in) {
    if (value % 3 == 0) kept.push_back(value);
  }
  return kept;
}

KERNEL_CASE(compact_in_order) {
  const auto in = input(count);
  const auto want = multiples(in);
  const unsigned blocks = blocks_for(count, block_size);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> counts(blocks);
  const DeviceArray<unsigned> out(want.size());
  count_kept<<<blocks, block_size>>>(device_in.get(), counts.get(), count);
  scan_parts<<<1, 512>>>(counts.get(), counts.get(), nullptr, blocks);
  compact_in_order<<<blocks, block_size>>>(device_in.get(), counts.get(), out.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("kept", out.download(), want);
}

KERNEL_CASE(compact_by_warps) {
  const auto in = input(count);
  auto want = multiples(in);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(want.size());
  const DeviceArray<unsigned> kept(std::vector<unsigned>{0});
  compact_by_warps<<<blocks_for(count, block_size), block_size>>>(device_in.get(), out.get(), kept.get(), count);
  CHECK_LAUNCH();
  run.expect_equal("count", kept.download(), {static_cast<unsigned>(want.size())});
  auto got = out.download();
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  run.expect_equal("kept, sorted", got, want);
}

}  // namespace
}  // namespace kernels
