// Tensor-core products by the C++ interface (nvcuda::wmma): every shape and type, both layouts, tiles of a larger product, epilogues on
// fragments. Small integers as values, so that every sum is exact and the reference has no choice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <type_traits>

#include "test/kernels/kernels.h"

namespace wmma = nvcuda::wmma;

namespace kernels {
namespace {

template <class Layout>
constexpr bool by_row = std::is_same_v<Layout, wmma::row_major>;

// d = a · b + c for one warp; the leading dimensions are longer than the tile.
template <int M, int N, int K, class In, class Element, class Sum, class ALayout, class BLayout>
__global__ void one_tile(const Element* a, const Element* b, const Sum* c, Sum* d, unsigned lda, unsigned ldb, unsigned ldc) {
  wmma::fragment<wmma::matrix_a, M, N, K, In, ALayout> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, In, BLayout> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, fd;
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, wmma::mem_row_major);
  wmma::mma_sync(fd, fa, fb, fc);
  wmma::store_matrix_sync(d, fd, ldc, wmma::mem_col_major);
}

// In: the fragments' type; Element: what lies in memory.
template <int M, int N, int K, class In, class Element, class Sum, class ALayout, class BLayout>
void check_tile(Run& run, const char* what, int limit, bool is_signed) {
  constexpr unsigned lda = (by_row<ALayout> ? K : M) + 16, ldb = (by_row<BLayout> ? N : K) + 16, ldc = (M > N ? M : N) + 16;
  Numbers numbers(17);
  const auto value = [&] {
    return static_cast<float>(static_cast<int>(numbers.below(static_cast<std::uint64_t>(limit))) - (is_signed ? limit / 2 : 0));
  };
  std::vector<Element> a(64 * 64), b(64 * 64);
  std::vector<Sum> c(64 * 64), expected(64 * 64, Sum(0.0f));
  for (Element& v : a) v = Element(value());
  for (Element& v : b) v = Element(value());
  for (Sum& v : c) v = Sum(value());
  for (unsigned i = 0; i < M; ++i) {
    for (unsigned j = 0; j < N; ++j) {
      float sum = float(c[i * ldc + j]);
      for (unsigned k = 0; k < K; ++k)
        sum += float(a[by_row<ALayout> ? i * lda + k : k * lda + i]) * float(b[by_row<BLayout> ? k * ldb + j : j * ldb + k]);
      expected[j * ldc + i] = Sum(sum);
    }
  }
  const DeviceArray<Element> device_a(a), device_b(b);
  const DeviceArray<Sum> device_c(c), device_d(std::vector<Sum>(64 * 64, Sum(0.0f)));
  one_tile<M, N, K, In, Element, Sum, ALayout, BLayout>
      <<<1, 32>>>(device_a.get(), device_b.get(), device_c.get(), device_d.get(), lda, ldb, ldc);
  CHECK_LAUNCH();
  std::vector<float> got, wanted;
  for (const Sum& v : device_d.download()) got.push_back(float(v));
  for (const Sum& v : expected) wanted.push_back(float(v));
  run.expect_equal(what, got, wanted);
}

template <int M, int N, int K, class In, class Element, class Sum>
void check_layouts(Run& run, int limit = 16, bool is_signed = true) {
  check_tile<M, N, K, In, Element, Sum, wmma::row_major, wmma::row_major>(run, "row row", limit, is_signed);
  check_tile<M, N, K, In, Element, Sum, wmma::row_major, wmma::col_major>(run, "row col", limit, is_signed);
  check_tile<M, N, K, In, Element, Sum, wmma::col_major, wmma::row_major>(run, "col row", limit, is_signed);
  check_tile<M, N, K, In, Element, Sum, wmma::col_major, wmma::col_major>(run, "col col", limit, is_signed);
}
template <class In, class Sum>
void check_shapes(Run& run, int limit = 16, bool is_signed = true) {
  check_layouts<16, 16, 16, In, In, Sum>(run, limit, is_signed);
  check_layouts<8, 32, 16, In, In, Sum>(run, limit, is_signed);
  check_layouts<32, 8, 16, In, In, Sum>(run, limit, is_signed);
}

KERNEL_CASE(wmma_half_float) { check_shapes<half, float>(run); }
KERNEL_CASE(wmma_half_half) { check_shapes<half, half>(run, 8); }
KERNEL_CASE(wmma_bfloat) { check_shapes<__nv_bfloat16, float>(run); }
KERNEL_CASE(wmma_signed_bytes) { check_shapes<signed char, int>(run, 200); }
KERNEL_CASE(wmma_unsigned_bytes) { check_shapes<unsigned char, int>(run, 250, false); }
KERNEL_CASE(wmma_tf32) { check_layouts<16, 16, 8, wmma::precision::tf32, float, float>(run, 200); }
KERNEL_CASE(wmma_double) { check_layouts<8, 8, 4, double, double, double>(run, 2000); }

// A whole product, tile by tile through shared memory, then alpha · x + beta on the fragments and a clamp at zero.
__global__ void tiled(const half* a, const half* b, float* d, int n, float alpha, float beta) {
  __shared__ half tile_a[32][40], tile_b[32][40];
  const int warp = static_cast<int>(threadIdx.x) / 32, row = warp / 2 * 16, column = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int step = 0; step < n; step += 32) {
    for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 128) {
      tile_a[i / 32][i % 32] = a[(blockIdx.y * 32 + i / 32) * n + step + i % 32];
      tile_b[i / 32][i % 32] = b[(step + i / 32) * n + blockIdx.x * 32 + i % 32];
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
      wmma::load_matrix_sync(fa, &tile_a[row][k], 40);
      wmma::load_matrix_sync(fb, &tile_b[k][column], 40);
      wmma::mma_sync(sum, fa, fb, sum);
    }
    __syncthreads();
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = fmaxf(sum.x[i] * alpha + beta, 0.0f);
  wmma::store_matrix_sync(d + (blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column, sum, n, wmma::mem_row_major);
}
KERNEL_CASE(wmma_tiled) {
  constexpr int n = 96;
  Numbers numbers(3);
  std::vector<half> a(n * n), b(n * n);
  std::vector<float> expected(n * n);
  for (half& v : a) v = half(static_cast<float>(static_cast<int>(numbers.below(9)) - 4));
  for (half& v : b) v = half(static_cast<float>(static_cast<int>(numbers.below(9)) - 4));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += float(a[i * n + k]) * float(b[k * n + j]);
      expected[i * n + j] = std::max(sum * 0.5f + 3.0f, 0.0f);
    }
  }
  const DeviceArray<half> device_a(a), device_b(b);
  const DeviceArray<float> d(n * n);
  tiled<<<dim3(n / 32, n / 32), 128>>>(device_a.get(), device_b.get(), d.get(), n, 0.5f, 3.0f);
  CHECK_LAUNCH();
  run.expect_equal("product", d.download(), expected);
}

}  // namespace
}  // namespace kernels
