// Stencils and convolutions: 1-D with a halo in shared memory, 2-D heat, 3-D with a moving plane,
// the game of life in bits, separable filters, direct, im2col and Winograd convolution, a box filter by running sums.
#include <algorithm>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

constexpr int radius = 4;
__constant__ float weights[2 * radius + 1];

const std::vector<float>& host_weights() {
  static const std::vector<float> values{0.0625F, -0.125F, 0.25F, 0.5F, 1.0F, -0.5F, 0.25F, 0.375F, -0.03125F};
  return values;
}

void upload_weights() { CHECK(cudaMemcpyToSymbol(weights, host_weights().data(), sizeof(weights))); }

__global__ void stencil_1d(const float* in, float* out, int n) {
  __shared__ float part[256 + 2 * radius];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int at = static_cast<int>(threadIdx.x) + radius;
  const auto load = [&](int k) { return k >= 0 && k < n ? in[k] : 0.0F; };
  part[at] = load(i);
  if (threadIdx.x < radius) {
    part[at - radius] = load(i - radius);
    part[at + 256] = load(i + 256);
  }
  __syncthreads();
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = -radius; k <= radius; ++k) sum += weights[k + radius] * part[at + k];
  out[i] = sum;
}

float filtered(const float* in, int at, int n, int stride) {
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) {
    sum += host_weights()[static_cast<std::size_t>(k + radius)] * (at + k >= 0 && at + k < n ? in[k * stride] : 0.0F);
  }
  return sum;
}

KERNEL_CASE(stencil_1d) {
  Numbers numbers(71);
  const std::vector<float> in = numbers.units(3001);
  const auto n = static_cast<int>(in.size());
  std::vector<float> want;
  for (int i = 0; i < n; ++i) want.push_back(filtered(in.data() + i, i, n, 1));
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> out(in.size());
  upload_weights();
  stencil_1d<<<blocks_for(in.size(), 256), 256>>>(device_in.get(), out.get(), n);
  CHECK_LAUNCH();
  run.expect_equal("out", out.download(), want);
}

// Jacobi steps of the heat equation; borders stay.
__global__ void heat_2d(const double* in, double* out, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  out[i] = border ? in[i] : in[i] + 0.2 * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4.0 * in[i]);
}

KERNEL_CASE(heat_2d) {
  constexpr int width = 45;
  constexpr int height = 38;
  std::vector<double> grid(width * height, 0.0);
  for (int x = 0; x < width; ++x) grid[static_cast<std::size_t>(x)] = 100.0;
  const DeviceArray<double> a(grid);
  const DeviceArray<double> b(grid.size());
  for (int step = 0; step < 10; ++step) {
    heat_2d<<<dim3(2, 5), dim3(32, 8)>>>(step % 2 == 0 ? a.get() : b.get(), step % 2 == 0 ? b.get() : a.get(), width, height);
    std::vector<double> next = grid;
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        const auto i = static_cast<std::size_t>(y * width + x);
        next[i] = grid[i] + 0.2 * (grid[i - 1] + grid[i + 1] + grid[i - width] + grid[i + width] - 4.0 * grid[i]);
      }
    }
    grid = next;
  }
  CHECK_LAUNCH();
  run.expect_equal("grid", a.download(), grid);
}

// The sample's finite differences: a block walks along z, the neighbours in z in registers, the plane in shared memory.
__global__ void stencil_3d(const float* in, float* out, int nx, int ny, int nz) {
  __shared__ float plane[8 + 2][16 + 2];
  const int x = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * 8 + threadIdx.y);
  const auto at = [&](int i, int j, int k) {
    return i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz ? in[(k * ny + j) * nx + i] : 0.0F;
  };
  float behind = 0;
  float here = at(x, y, 0);
  for (int z = 0; z < nz; ++z) {
    const float ahead = at(x, y, z + 1);
    __syncthreads();
    plane[threadIdx.y + 1][threadIdx.x + 1] = here;
    if (threadIdx.y == 0) plane[0][threadIdx.x + 1] = at(x, y - 1, z);
    if (threadIdx.y == 7) plane[9][threadIdx.x + 1] = at(x, y + 1, z);
    if (threadIdx.x == 0) plane[threadIdx.y + 1][0] = at(x - 1, y, z);
    if (threadIdx.x == 15) plane[threadIdx.y + 1][17] = at(x + 1, y, z);
    __syncthreads();
    const float* p = &plane[threadIdx.y + 1][threadIdx.x + 1];
    if (x < nx && y < ny) out[(z * ny + y) * nx + x] = ((p[-1] + p[1]) + (p[-18] + p[18])) + (behind + ahead) - 6.0F * here;
    behind = here;
    here = ahead;
  }
}

KERNEL_CASE(stencil_3d) {
  constexpr int nx = 37;
  constexpr int ny = 21;
  constexpr int nz = 9;
  Numbers numbers(72);
  const std::vector<float> in = numbers.units(nx * ny * nz);
  const auto at = [&](int i, int j, int k) {
    return i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz ? in[static_cast<std::size_t>((k * ny + j) * nx + i)] : 0.0F;
  };
  std::vector<float> want;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        want.push_back(((at(x - 1, y, z) + at(x + 1, y, z)) + (at(x, y - 1, z) + at(x, y + 1, z))) + (at(x, y, z - 1) + at(x, y, z + 1)) -
                       6.0F * at(x, y, z));
      }
    }
  }
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> out(in.size());
  stencil_3d<<<dim3(3, 3), dim3(16, 8)>>>(device_in.get(), out.get(), nx, ny, nz);
  CHECK_LAUNCH();
  run.expect_equal("out", out.download(), want);
}

// The game of life on a torus, 32 cells a word, neighbours counted by carry-save adders.
__global__ void life_bits(const unsigned* in, unsigned* out, int words, int height) {
  const int column = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.x);
  unsigned ones = 0;
  unsigned twos = 0;
  unsigned fours = 0;
  const auto count = [&](unsigned cells) {
    const unsigned carry = ones & cells;
    ones ^= cells;
    fours |= twos & carry;
    twos ^= carry;
  };
  for (int d = -1; d <= 1; ++d) {
    const unsigned* line = in + (row + d + height) % height * words;
    const unsigned middle = line[column];
    count(__funnelshift_l(line[(column + words - 1) % words], middle, 1));
    count(__funnelshift_r(middle, line[(column + 1) % words], 1));
    if (d != 0) count(middle);
  }
  out[row * words + column] = twos & ~fours & (ones | in[row * words + column]);
}

KERNEL_CASE(life_bits) {
  constexpr int words = 3;
  constexpr int height = 50;
  constexpr int width = 32 * words;
  auto cells = numbers_below<unsigned>(73, words * height, 1ULL << 32);
  const DeviceArray<unsigned> a(cells);
  const DeviceArray<unsigned> b(cells.size());
  for (int step = 0; step < 6; ++step) {
    life_bits<<<height, words>>>(step % 2 == 0 ? a.get() : b.get(), step % 2 == 0 ? b.get() : a.get(), words, height);
    const auto cell = [&](int x, int y) {
      x = (x + width) % width;
      return cells[static_cast<std::size_t>((y + height) % height * words + x / 32)] >> (x % 32) & 1;
    };
    std::vector<unsigned> next(cells.size(), 0);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        unsigned around = 0;
        for (int d = 0; d < 9; ++d) around += d == 4 ? 0 : cell(x + d % 3 - 1, y + d / 3 - 1);
        const unsigned alive = around == 3 || (around == 2 && cell(x, y) != 0) ? 1 : 0;
        next[static_cast<std::size_t>(y * words + x / 32)] |= alive << (x % 32);
      }
    }
    cells = next;
  }
  CHECK_LAUNCH();
  run.expect_equal("cells", a.download(), cells);
}

// Separable convolution: rows, then columns of the result.
template <bool Rows>
__global__ void convolve(const float* in, float* out, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const int at = Rows ? x : y;
  const int end = Rows ? width : height;
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) {
    if (at + k >= 0 && at + k < end) sum += weights[k + radius] * in[y * width + x + k * (Rows ? 1 : width)];
  }
  out[y * width + x] = sum;
}

KERNEL_CASE(convolve_separable) {
  constexpr int width = 53;
  constexpr int height = 41;
  Numbers numbers(74);
  const std::vector<float> in = numbers.units(width * height);
  std::vector<float> rows(in.size());
  std::vector<float> want(in.size());
  for (int i = 0; i < width * height; ++i) rows[static_cast<std::size_t>(i)] = filtered(in.data() + i, i % width, width, 1);
  for (int i = 0; i < width * height; ++i) want[static_cast<std::size_t>(i)] = filtered(rows.data() + i, i / width, height, width);
  const DeviceArray<float> a(in);
  const DeviceArray<float> b(in.size());
  upload_weights();
  convolve<true><<<dim3(4, 6), dim3(16, 8)>>>(a.get(), b.get(), width, height);
  convolve<false><<<dim3(4, 6), dim3(16, 8)>>>(b.get(), a.get(), width, height);
  CHECK_LAUNCH();
  run.expect_equal("image", a.download(), want);
}

// A layer of 3 by 3 filters, three ways that must agree: images [n][c][h][w], filters [k][c][3][3], no padding.
struct Layer {
  int n = 2, c = 5, h = 12, w = 14, k = 7;
  [[nodiscard]] __host__ __device__ int oh() const { return h - 2; }
  [[nodiscard]] __host__ __device__ int ow() const { return w - 2; }
  [[nodiscard]] int outputs() const { return n * k * oh() * ow(); }
};

__global__ void convolve_direct(Layer l, const float* in, const float* filters, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= l.n * l.k * l.oh() * l.ow()) return;
  const int x = i % l.ow();
  const int y = i / l.ow() % l.oh();
  const int k = i / (l.ow() * l.oh()) % l.k;
  const int n = i / (l.ow() * l.oh() * l.k);
  float sum = 0;
  for (int c = 0; c < l.c; ++c) {
    for (int t = 0; t < 9; ++t) sum += filters[(k * l.c + c) * 9 + t] * in[((n * l.c + c) * l.h + y + t / 3) * l.w + x + t % 3];
  }
  out[i] = sum;
}

__global__ void im2col(Layer l, const float* in, float* columns) {
  const int places = l.n * l.oh() * l.ow();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= places * l.c * 9) return;
  const int place = i % places;
  const int row = i / places;
  const int x = place % l.ow();
  const int y = place / l.ow() % l.oh();
  const int n = place / (l.ow() * l.oh());
  columns[i] = in[((n * l.c + row / 9) * l.h + y + row % 9 / 3) * l.w + x + row % 3];
}

__global__ void multiply_columns(Layer l, const float* filters, const float* columns, float* out) {
  const int places = l.n * l.oh() * l.ow();
  const int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (place >= places) return;
  const int k = static_cast<int>(blockIdx.y);
  float sum = 0;
  for (int row = 0; row < l.c * 9; ++row) sum += filters[k * l.c * 9 + row] * columns[row * places + place];
  const int area = l.oh() * l.ow();
  out[(place / area * l.k + k) * area + place % area] = sum;
}

// F(2x2, 3x3): a thread makes four outputs from sixteen products a channel.
__device__ void winograd_filter(const float* g, float (&u)[16]) {
  float rows[4][3];
  for (int j = 0; j < 3; ++j) {
    rows[0][j] = g[j];
    rows[1][j] = 0.5F * (g[j] + g[3 + j] + g[6 + j]);
    rows[2][j] = 0.5F * (g[j] - g[3 + j] + g[6 + j]);
    rows[3][j] = g[6 + j];
  }
  for (int i = 0; i < 4; ++i) {
    u[4 * i] = rows[i][0];
    u[4 * i + 1] = 0.5F * (rows[i][0] + rows[i][1] + rows[i][2]);
    u[4 * i + 2] = 0.5F * (rows[i][0] - rows[i][1] + rows[i][2]);
    u[4 * i + 3] = rows[i][2];
  }
}

__device__ void winograd_input(float (&d)[16], int step, int line) {
  for (int i = 0; i < 4; ++i) {
    float* v = d + i * line;
    const float v0 = v[0], v1 = v[step], v2 = v[2 * step], v3 = v[3 * step];
    v[0] = v0 - v2, v[step] = v1 + v2, v[2 * step] = v2 - v1, v[3 * step] = v1 - v3;
  }
}

__global__ void convolve_winograd(Layer l, const float* in, const float* filters, float* out) {
  const int tx = l.ow() / 2, ty = l.oh() / 2;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= l.n * l.k * tx * ty) return;
  const int x = i % tx * 2, y = i / tx % ty * 2, k = i / (tx * ty) % l.k, n = i / (tx * ty * l.k);
  float sums[16] = {};
  for (int c = 0; c < l.c; ++c) {
    float u[16];
    float d[16];
    winograd_filter(filters + (k * l.c + c) * 9, u);
    for (int t = 0; t < 16; ++t) d[t] = in[((n * l.c + c) * l.h + y + t / 4) * l.w + x + t % 4];
    winograd_input(d, 4, 1);
    winograd_input(d, 1, 4);
    for (int t = 0; t < 16; ++t) sums[t] += u[t] * d[t];
  }
  float half[2][4];
  for (int j = 0; j < 4; ++j) half[0][j] = sums[j] + sums[4 + j] + sums[8 + j], half[1][j] = sums[4 + j] - sums[8 + j] - sums[12 + j];
  float* to = out + ((n * l.k + k) * l.oh() + y) * l.ow() + x;
  for (int j = 0; j < 2; ++j) {
    to[j * l.ow()] = half[j][0] + half[j][1] + half[j][2];
    to[j * l.ow() + 1] = half[j][1] - half[j][2] - half[j][3];
  }
}

template <class Launch>
void check_layer(Run& run, double tolerance, Launch launch) {
  const Layer l;
  Numbers numbers(75);
  const std::vector<float> in = numbers.units(static_cast<std::size_t>(l.n * l.c * l.h * l.w));
  const std::vector<float> filters = numbers.units(static_cast<std::size_t>(l.k * l.c * 9));
  std::vector<double> want;
  for (int i = 0; i < l.outputs(); ++i) {
    const int x = i % l.ow(), y = i / l.ow() % l.oh(), k = i / (l.ow() * l.oh()) % l.k, n = i / (l.ow() * l.oh() * l.k);
    double sum = 0;
    for (int c = 0; c < l.c; ++c) {
      for (int t = 0; t < 9; ++t) {
        sum += static_cast<double>(filters[static_cast<std::size_t>((k * l.c + c) * 9 + t)]) *
               in[static_cast<std::size_t>(((n * l.c + c) * l.h + y + t / 3) * l.w + x + t % 3)];
      }
    }
    want.push_back(sum);
  }
  const DeviceArray<float> device_in(in);
  const DeviceArray<float> device_filters(filters);
  const DeviceArray<float> out(want.size());
  launch(l, device_in.get(), device_filters.get(), out.get());
  CHECK_LAUNCH();
  run.expect_close("out", out.download(), want, tolerance);
}

KERNEL_CASE(convolve_direct) {
  check_layer(run, 1e-6, [](const Layer& l, auto* in, auto* filters, auto* out) {
    convolve_direct<<<blocks_for(static_cast<std::size_t>(l.outputs()), 128), 128>>>(l, in, filters, out);
  });
}
KERNEL_CASE(convolve_im2col) {
  check_layer(run, 1e-6, [](const Layer& l, auto* in, auto* filters, auto* out) {
    const auto places = static_cast<std::size_t>(l.n * l.oh() * l.ow());
    const DeviceArray<float> columns(places * static_cast<std::size_t>(l.c * 9));
    im2col<<<blocks_for(columns.count(), 256), 256>>>(l, in, columns.get());
    multiply_columns<<<dim3(blocks_for(places, 64), static_cast<unsigned>(l.k)), 64>>>(l, filters, columns.get(), out);
  });
}
KERNEL_CASE(convolve_winograd) {
  check_layer(run, 1e-5, [](const Layer& l, auto* in, auto* filters, auto* out) {
    convolve_winograd<<<blocks_for(static_cast<std::size_t>(l.outputs()) / 4, 96), 96>>>(l, in, filters, out);
  });
}

// Box filter: a thread walks one row with a running sum of bytes.
__global__ void box_filter(const unsigned char* in, unsigned char* out, int width, int height, int reach) {
  const int y = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (y >= height) return;
  const unsigned char* row = in + y * width;
  int sum = 0;
  for (int x = -reach; x <= reach; ++x) sum += row[max(x, 0)];
  for (int x = 0; x < width; ++x) {
    out[y * width + x] = static_cast<unsigned char>(sum / (2 * reach + 1));
    sum += row[min(x + reach + 1, width - 1)] - row[max(x - reach, 0)];
  }
}

KERNEL_CASE(box_filter) {
  constexpr int width = 120, height = 45, reach = 3;
  const auto in = numbers_below<unsigned char>(76, width * height, 256);
  std::vector<unsigned char> want;
  for (int i = 0; i < width * height; ++i) {
    int sum = 0;
    for (int d = -reach; d <= reach; ++d) sum += in[static_cast<std::size_t>(i / width * width + std::clamp(i % width + d, 0, width - 1))];
    want.push_back(static_cast<unsigned char>(sum / (2 * reach + 1)));
  }
  const DeviceArray<unsigned char> device_in(in);
  const DeviceArray<unsigned char> out(in.size());
  box_filter<<<2, 32>>>(device_in.get(), out.get(), width, height, reach);
  CHECK_LAUNCH();
  run.expect_equal("image", out.download(), want);
}

}  // namespace
}  // namespace kernels
