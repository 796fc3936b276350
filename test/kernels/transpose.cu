// Transposes and permutations: direct, through shared memory (plain, padded, swizzled), diagonal block order, in place, by
// shuffles within a warp, of axes of a 4-D tensor, of bits.
#include "test/kernels/kernels.h"

namespace kernels {
namespace {

constexpr int tile = 32;
constexpr int rows_at_once = 8;
constexpr int rows = 150;
constexpr int columns = 203;

template <class T>
std::vector<T> transposed(const std::vector<T>& in, int height, int width) {
  std::vector<T> out(in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) out[static_cast<std::size_t>(x * height + y)] = in[static_cast<std::size_t>(y * width + x)];
  }
  return out;
}

template <class Launch>
void check_transpose(Run& run, int height, int width, Launch launch) {
  Numbers numbers(31);
  const std::vector<float> in = numbers.units(static_cast<std::size_t>(height * width));
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> out(in.size());
  launch(device_in.get(), out.get(),
         dim3(static_cast<unsigned>((width + tile - 1) / tile), static_cast<unsigned>((height + tile - 1) / tile)));
  CHECK_LAUNCH();
  run.expect_equal("matrix", out.download(), transposed(in, height, width));
}

__global__ void transpose_direct(const float* in, float* out, int height, int width) {
  const int x = static_cast<int>(blockIdx.x * tile + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * tile + threadIdx.y);
  for (int i = 0; i < tile; i += rows_at_once) {
    if (x < width && y + i < height) out[x * height + y + i] = in[(y + i) * width + x];
  }
}

KERNEL_CASE(transpose_direct) {
  check_transpose(run, rows, columns,
                  [](auto* in, auto* out, dim3 grid) { transpose_direct<<<grid, dim3(tile, rows_at_once)>>>(in, out, rows, columns); });
}

template <int Pad>
__global__ void transpose_tiled(const float* in, float* out, int height, int width) {
  __shared__ float part[tile][tile + Pad];
  int x = static_cast<int>(blockIdx.x * tile + threadIdx.x);
  int y = static_cast<int>(blockIdx.y * tile + threadIdx.y);
  for (int i = 0; i < tile; i += rows_at_once) {
    if (x < width && y + i < height) part[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
  }
  __syncthreads();
  x = static_cast<int>(blockIdx.y * tile + threadIdx.x);
  y = static_cast<int>(blockIdx.x * tile + threadIdx.y);
  for (int i = 0; i < tile; i += rows_at_once) {
    if (x < height && y + i < width) out[(y + i) * height + x] = part[threadIdx.x][threadIdx.y + i];
  }
}

KERNEL_CASE(transpose_tiled) {
  check_transpose(run, rows, columns,
                  [](auto* in, auto* out, dim3 grid) { transpose_tiled<0><<<grid, dim3(tile, rows_at_once)>>>(in, out, rows, columns); });
  check_transpose(run, rows, columns,
                  [](auto* in, auto* out, dim3 grid) { transpose_tiled<1><<<grid, dim3(tile, rows_at_once)>>>(in, out, rows, columns); });
}

// Blocks are renumbered along diagonals, the tile is swizzled by xor in place of padding; whole tiles only.
__global__ void transpose_diagonal(const float* in, float* out, int height, int width) {
  __shared__ float part[tile][tile];
  const unsigned flat = blockIdx.x + gridDim.x * blockIdx.y;
  const unsigned block_y = flat % gridDim.y;
  const unsigned block_x = (flat / gridDim.y + block_y) % gridDim.x;
  for (unsigned i = threadIdx.y; i < tile; i += rows_at_once) {
    part[i][threadIdx.x ^ i] = in[(block_y * tile + i) * width + block_x * tile + threadIdx.x];
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < tile; i += rows_at_once) {
    out[(block_x * tile + i) * height + block_y * tile + threadIdx.x] = part[threadIdx.x][i ^ threadIdx.x];
  }
}

KERNEL_CASE(transpose_diagonal) {
  check_transpose(run, 96, 160,
                  [](auto* in, auto* out, dim3 grid) { transpose_diagonal<<<grid, dim3(tile, rows_at_once)>>>(in, out, 96, 160); });
}

// A square matrix in place: a block swaps a tile above the diagonal with its mirror.
__global__ void transpose_in_place(float* matrix, int n) {
  __shared__ float upper[tile][tile + 1];
  __shared__ float lower[tile][tile + 1];
  if (blockIdx.x < blockIdx.y) return;
  const int x = static_cast<int>(blockIdx.x * tile + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * tile + threadIdx.y);
  const int mirror_x = static_cast<int>(blockIdx.y * tile + threadIdx.x);
  const int mirror_y = static_cast<int>(blockIdx.x * tile + threadIdx.y);
  if (x < n && y < n) upper[threadIdx.y][threadIdx.x] = matrix[y * n + x];
  if (mirror_x < n && mirror_y < n) lower[threadIdx.y][threadIdx.x] = matrix[mirror_y * n + mirror_x];
  __syncthreads();
  if (x < n && y < n) matrix[y * n + x] = lower[threadIdx.x][threadIdx.y];
  if (mirror_x < n && mirror_y < n) matrix[mirror_y * n + mirror_x] = upper[threadIdx.x][threadIdx.y];
}

KERNEL_CASE(transpose_in_place) {
  constexpr int n = 140;
  check_transpose(run, n, n, [](auto* in, auto* out, dim3 grid) {
    CHECK(cudaMemcpyAsync(out, in, n * n * sizeof(float), cudaMemcpyDeviceToDevice));
    transpose_in_place<<<grid, dim3(tile, tile)>>>(out, n);
  });
}

// 32 rows of 32 values, one row a lane, never leaving the registers: five rounds of exchange between lanes.
__global__ void transpose_registers(const unsigned* in, unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned row[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) row[i] = in[i * 32 + lane];
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      if (i & bit) continue;
      const bool upper = (lane & bit) != 0;
      const unsigned sent = upper ? row[i] : row[i | bit];
      const unsigned received = __shfl_xor_sync(0xffffffffU, sent, bit);
      if (upper) {
        row[i] = received;
      } else {
        row[i | bit] = received;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) out[i * 32 + lane] = row[i];
}

KERNEL_CASE(transpose_registers) {
  const auto in = numbers_below<unsigned>(32, 1024, 1ULL << 32);
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(in.size());
  transpose_registers<<<1, 32>>>(device_in.get(), out.get());
  CHECK_LAUNCH();
  run.expect_equal("matrix", out.download(), transposed(in, 32, 32));
}

// Any order of the four axes of a tensor of bytes, with a shape and an order passed by value.
struct Permutation {
  int extent[4];
  int axis[4];  // axis[i] of the input is axis i of the output
};

__global__ void permute_axes(const signed char* in, signed char* out, const __grid_constant__ Permutation p) {
  const int n = p.extent[0] * p.extent[1] * p.extent[2] * p.extent[3];
  for (int to = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); to < n; to += static_cast<int>(gridDim.x * blockDim.x)) {
    int index[4];
    int rest = to;
    for (int i = 3; i >= 0; --i) {
      index[p.axis[i]] = rest % p.extent[p.axis[i]];
      rest /= p.extent[p.axis[i]];
    }
    int from = 0;
    for (int i = 0; i < 4; ++i) from = from * p.extent[i] + index[i];
    out[to] = in[from];
  }
}

KERNEL_CASE(permute_axes) {
  const Permutation p{{5, 7, 11, 13}, {2, 0, 3, 1}};
  const auto in = numbers_below<signed char>(33, 5 * 7 * 11 * 13, 256);
  std::vector<signed char> want;
  for (int c = 0; c < 11; ++c) {
    for (int a = 0; a < 5; ++a) {
      for (int d = 0; d < 13; ++d) {
        for (int b = 0; b < 7; ++b) want.push_back(in[static_cast<std::size_t>(((a * 7 + b) * 11 + c) * 13 + d)]);
      }
    }
  }
  const DeviceArray<signed char> device_in(in);
  const DeviceArray<signed char> out(in.size());
  permute_axes<<<9, 160>>>(device_in.get(), out.get(), p);
  CHECK_LAUNCH();
  run.expect_equal("tensor", out.download(), want);
}

// A matrix of bits, 32 by 32 a warp, by ballots.
__global__ void transpose_bits(const unsigned* in, unsigned* out, int words) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  if (static_cast<int>(warp) >= words / 32) return;
  const unsigned row = in[warp * 32 + lane];
  unsigned column = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const unsigned votes = __ballot_sync(0xffffffffU, row >> bit & 1);
    if (lane == bit) column = votes;
  }
  out[warp * 32 + lane] = column;
}

KERNEL_CASE(transpose_bits) {
  const auto in = numbers_below<unsigned>(34, 32 * 21, 1ULL << 32);
  std::vector<unsigned> want(in.size(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t bit = 0; bit < 32; ++bit) want[i / 32 * 32 + bit] |= (in[i] >> bit & 1) << (i % 32);
  }
  const DeviceArray<unsigned> device_in(in);
  const DeviceArray<unsigned> out(in.size());
  transpose_bits<<<6, 128>>>(device_in.get(), out.get(), static_cast<int>(in.size()));
  CHECK_LAUNCH();
  run.expect_equal("bits", out.download(), want);
}

}  // namespace
}  // namespace kernels
