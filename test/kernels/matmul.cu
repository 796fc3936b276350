// Matrix products: naive, tiled with registers, double, integers by dp4a, vectors, mma of f16, bf16, tf32, s8 and f64 by inline
// assembly, and a pipeline of cp.async in front of mma.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

// c = a b, row-major, summed in order of k as every kernel that doesn't use mma does.
template <class Sum, class T>
std::vector<Sum> product(const std::vector<T>& a, const std::vector<T>& b, int m, int n, int k) {
  std::vector<Sum> c(static_cast<std::size_t>(m * n), Sum{});
  for (int i = 0; i < m; ++i) {
    for (int p = 0; p < k; ++p) {
      const Sum left = static_cast<Sum>(a[static_cast<std::size_t>(i * k + p)]);
      for (int j = 0; j < n; ++j) c[static_cast<std::size_t>(i * n + j)] += left * static_cast<Sum>(b[static_cast<std::size_t>(p * n + j)]);
    }
  }
  return c;
}

__global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + column];
  c[row * n + column] = sum;
}

// 64 by 64 outputs a block, 4 by 4 a thread, edges filled with zeros.
template <class T>
__global__ void matmul_tiled(const T* a, const T* b, T* c, int m, int n, int k) {
  constexpr int tile = 64;
  constexpr int depth = 16;
  __shared__ T left[depth][tile + 1];
  __shared__ T right[depth][tile];
  const int t = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * tile;
  const int column = static_cast<int>(blockIdx.x) * tile;
  T sums[4][4] = {};
  for (int first = 0; first < k; first += depth) {
    for (int i = t; i < tile * depth; i += 256) {
      const int ar = row + i / depth;
      const int ak = first + i % depth;
      left[i % depth][i / depth] = ar < m && ak < k ? a[ar * k + ak] : T(0);
      const int bk = first + i / tile;
      const int bc = column + i % tile;
      right[i / tile][i % tile] = bk < k && bc < n ? b[bk * n + bc] : T(0);
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < depth; ++p) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += left[p][t / 16 * 4 + i] * right[p][t % 16 + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int r = row + t / 16 * 4 + i;
      const int s = column + t % 16 + 16 * j;
      if (r < m && s < n) c[r * n + s] = sums[i][j];
    }
  }
}

template <class T, class Launch>
void check_product(Run& run, int m, int n, int k, Launch launch) {
  Numbers numbers(51);
  std::vector<T> a(static_cast<std::size_t>(m * k));
  std::vector<T> b(static_cast<std::size_t>(k * n));
  for (T& value : a) value = numbers.unit();
  for (T& value : b) value = numbers.unit();
  const DeviceArray<T> device_a(a);
  const DeviceArray<T> device_b(b);
  const DeviceArray<T> c(static_cast<std::size_t>(m * n));
  launch(device_a.get(), device_b.get(), c.get(),
         dim3(blocks_for(static_cast<std::size_t>(n), 64), blocks_for(static_cast<std::size_t>(m), 64)));
  CHECK_LAUNCH();
  run.expect_equal("product", c.download(), product<T>(a, b, m, n, k));
}

KERNEL_CASE(matmul_naive) {
  check_product<float>(run, 70, 90, 50,
                       [](auto* a, auto* b, auto* c, dim3) { matmul_naive<<<dim3(6, 9), dim3(16, 8)>>>(a, b, c, 70, 90, 50); });
}

KERNEL_CASE(matmul_tiled) {
  check_product<float>(run, 100, 130, 70, [](auto* a, auto* b, auto* c, dim3 grid) { matmul_tiled<<<grid, 256>>>(a, b, c, 100, 130, 70); });
}

KERNEL_CASE(matmul_double) {
  check_product<double>(run, 65, 64, 33, [](auto* a, auto* b, auto* c, dim3 grid) { matmul_tiled<<<grid, 256>>>(a, b, c, 65, 64, 33); });
}

// Rows of a and columns of b as words of four signed bytes.
__global__ void matmul_dp4a(const int* a, const int* b, int* c, int n, int words) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (column >= n) return;
  int sum = -7;
  for (int p = 0; p < words; ++p) sum = __dp4a(a[row * words + p], b[column * words + p], sum);
  c[row * n + column] = sum;
}

KERNEL_CASE(matmul_dp4a) {
  constexpr int m = 20;
  constexpr int n = 75;
  constexpr int k = 64;
  const auto a = numbers_below<signed char>(52, m * k, 256);
  const auto b = numbers_below<signed char>(53, n * k, 256);
  std::vector<int> want;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = -7;
      for (int p = 0; p < k; ++p) sum += a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(j * k + p)];
      want.push_back(sum);
    }
  }
  const DeviceArray<signed char> device_a(a);
  const DeviceArray<signed char> device_b(b);
  const DeviceArray<int> c(m * n);
  matmul_dp4a<<<dim3(2, m), 64>>>(reinterpret_cast<const int*>(device_a.get()), reinterpret_cast<const int*>(device_b.get()), c.get(), n,
                                  k / 4);
  CHECK_LAUNCH();
  run.expect_equal("product", c.download(), want);
}

// y = A x, a warp a row, four values a load.
__global__ void matrix_vector(const float4* a, const float4* x, float* y, int fours) {
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < fours; i += 32) {
    const float4 v = a[row * static_cast<unsigned>(fours) + static_cast<unsigned>(i)];
    const float4 w = x[i];
    sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffU, sum, offset);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

KERNEL_CASE(matrix_vector) {
  constexpr int rows = 24;
  constexpr int columns = 520;
  Numbers numbers(54);
  const std::vector<float> a = numbers.units(rows * columns);
  const std::vector<float> x = numbers.units(columns);
  const DeviceArray<float> device_a(a);
  const DeviceArray<float> device_x(x);
  const DeviceArray<float> y(rows);
  matrix_vector<<<rows / 4, 128>>>(reinterpret_cast<const float4*>(device_a.get()), reinterpret_cast<const float4*>(device_x.get()),
                                   y.get(), columns / 4);
  CHECK_LAUNCH();
  run.expect_close("y", y.download(), product<double>(to_doubles(a), to_doubles(x), rows, 1, columns), 1e-5);
}

// One warp, one 16 by 8 tile of c for each kind of mma: fragments are loaded as PTX lays them out.
template <class T>
__device__ unsigned pair_of(const T* low, int stride) {
  return static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(low)) |
         static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(low + stride)) << 16;
}

__device__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __half) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __nv_bfloat16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <class T>
__global__ void matmul_mma(const T* a, const T* b, float* c, int n, int k) {
  const int group = static_cast<int>(threadIdx.x / 4);
  const int within = static_cast<int>(threadIdx.x % 4);
  const int row = static_cast<int>(blockIdx.y) * 16 + group;
  const int column = static_cast<int>(blockIdx.x) * 8;
  float sums[4] = {};
  for (int p = 0; p < k; p += 16) {
    const T* at = a + row * k + p + within * 2;
    const unsigned left[4] = {pair_of(at, 1), pair_of(at + 8 * k, 1), pair_of(at + 8, 1), pair_of(at + 8 * k + 8, 1)};
    const T* bt = b + (p + within * 2) * n + column + group;
    const unsigned right[2] = {pair_of(bt, n), pair_of(bt + 8 * n, n)};
    mma(sums, left, right, T());
  }
  float* out = c + row * n + column + within * 2;
  out[0] = sums[0], out[1] = sums[1], out[8 * n] = sums[2], out[8 * n + 1] = sums[3];
}

template <class T>
void check_mma(Run& run) {
  constexpr int m = 48;
  constexpr int n = 40;
  constexpr int k = 80;
  Numbers numbers(55);
  std::vector<T> a;
  std::vector<T> b;
  for (int i = 0; i < m * k; ++i) a.push_back(T(numbers.unit()));
  for (int i = 0; i < k * n; ++i) b.push_back(T(numbers.unit()));
  const DeviceArray<T> device_a(a);
  const DeviceArray<T> device_b(b);
  const DeviceArray<float> c(m * n);
  matmul_mma<<<dim3(n / 8, m / 16), 32>>>(device_a.get(), device_b.get(), c.get(), n, k);
  CHECK_LAUNCH();
  const std::vector<float> wide_a(a.begin(), a.end());
  const std::vector<float> wide_b(b.begin(), b.end());
  run.expect_close("product", c.download(), product<double>(to_doubles(wide_a), to_doubles(wide_b), m, n, k), 1e-5);
}

KERNEL_CASE(matmul_mma_f16) { check_mma<__half>(run); }
KERNEL_CASE(matmul_mma_bf16) { check_mma<__nv_bfloat16>(run); }

// tf32: ten bits of fraction, so small integers multiply exactly.
__global__ void mma_tf32(const float* a, const float* b, float* c) {
  const unsigned group = threadIdx.x / 4;
  const unsigned within = threadIdx.x % 4;
  unsigned left[4];
  unsigned right[2];
  for (int i = 0; i < 4; ++i) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(left[i]) : "f"(a[(group + 8 * (i % 2)) * 8 + within + 4 * (i / 2)]));
  }
  for (int i = 0; i < 2; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(right[i]) : "f"(b[(within + 4 * i) * 8 + group]));
  float d[4];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]), "f"(0.5F));
  for (unsigned i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = d[i];
}

KERNEL_CASE(matmul_mma_tf32) {
  const auto a = numbers_below<float>(56, 16 * 8, 1000);
  const auto b = numbers_below<float>(57, 8 * 8, 1000);
  std::vector<float> want = product<float>(a, b, 16, 8, 8);
  for (float& value : want) value += 0.5F;
  const DeviceArray<float> device_a(a);
  const DeviceArray<float> device_b(b);
  const DeviceArray<float> c(16 * 8);
  mma_tf32<<<1, 32>>>(device_a.get(), device_b.get(), c.get());
  CHECK_LAUNCH();
  run.expect_equal("product", c.download(), want);
}

__global__ void mma_f64(const double* a, const double* b, double* c) {
  const unsigned group = threadIdx.x / 4;
  const unsigned within = threadIdx.x % 4;
  double d[2] = {1.0, 2.0};
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(d[0]), "+d"(d[1])
      : "d"(a[group * 4 + within]), "d"(b[within * 8 + group]));
  c[group * 8 + within * 2] = d[0];
  c[group * 8 + within * 2 + 1] = d[1];
}

KERNEL_CASE(matmul_mma_f64) {
  const auto a = numbers_below<double>(58, 8 * 4, 1U << 20);
  const auto b = numbers_below<double>(59, 4 * 8, 1U << 20);
  std::vector<double> want = product<double>(a, b, 8, 8, 4);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += i % 2 == 0 ? 1.0 : 2.0;
  const DeviceArray<double> device_a(a);
  const DeviceArray<double> device_b(b);
  const DeviceArray<double> c(8 * 8);
  mma_f64<<<1, 32>>>(device_a.get(), device_b.get(), c.get());
  CHECK_LAUNCH();
  run.expect_equal("product", c.download(), want);
}

// Bytes, b stored by columns, tiles brought to shared memory by cp.async two stages ahead and read with ldmatrix.
constexpr int s8_depth = 32;

__global__ void matmul_pipeline_s8(const signed char* a, const signed char* b, int* c, int n, int k) {
  __shared__ __align__(16) signed char left[2][16][s8_depth];
  __shared__ __align__(16) signed char right[2][8][s8_depth];
  const int t = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * 16;
  const int column = static_cast<int>(blockIdx.x) * 8;
  const auto fetch = [&](int stage) {
    const int p = stage * s8_depth;
    __pipeline_memcpy_async(&left[stage % 2][t / 2][t % 2 * 16], a + (row + t / 2) * k + p + t % 2 * 16, 16);
    if (t < 16) __pipeline_memcpy_async(&right[stage % 2][t / 2][t % 2 * 16], b + (column + t / 2) * k + p + t % 2 * 16, 16);
    __pipeline_commit();
  };
  int sums[4] = {};
  const int stages = k / s8_depth;
  fetch(0);
  for (int stage = 0; stage < stages; ++stage) {
    if (stage + 1 < stages) fetch(stage + 1);
    __pipeline_wait_prior(stage + 1 < stages ? 1 : 0);
    __syncwarp();
    unsigned fa[4];
    unsigned fb[2];
    const auto left_at = static_cast<unsigned>(__cvta_generic_to_shared(&left[stage % 2][t % 16][t / 16 * 16]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(left_at));
    const auto right_at = static_cast<unsigned>(__cvta_generic_to_shared(&right[stage % 2][t % 8][t / 8 % 2 * 16]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(right_at));
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i) c[(row + t / 4 + i / 2 * 8) * n + column + t % 4 * 2 + i % 2] = sums[i];
}

KERNEL_CASE(matmul_pipeline_s8) {
  constexpr int m = 32;
  constexpr int n = 24;
  constexpr int k = 160;
  const auto a = numbers_below<signed char>(60, m * k, 256);
  const auto b = numbers_below<signed char>(61, n * k, 256);
  std::vector<signed char> rows_of_b(b.size());
  for (int j = 0; j < n; ++j) {
    for (int p = 0; p < k; ++p) rows_of_b[static_cast<std::size_t>(p * n + j)] = b[static_cast<std::size_t>(j * k + p)];
  }
  const DeviceArray<signed char> device_a(a);
  const DeviceArray<signed char> device_b(b);
  const DeviceArray<int> c(m * n);
  matmul_pipeline_s8<<<dim3(n / 8, m / 16), 32>>>(device_a.get(), device_b.get(), c.get(), n, k);
  CHECK_LAUNCH();
  run.expect_equal("product", c.download(), product<int>(a, rows_of_b, m, n, k));
}

}  // namespace
}  // namespace kernels
