// Numbers made by formula: FFT in shared memory and over many launches, n-body, Mandelbrot, Black-Scholes, Monte Carlo with a
// counter-based generator, low-discrepancy sequences, Walsh transform, DCT of blocks.
#include <complex>

#include "test/kernels/kernels.h"

namespace kernels {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> transformed(const std::vector<float2>& in, bool inverse) {
  const std::size_t n = in.size();
  std::vector<Complex> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const double angle = (inverse ? 2.0 : -2.0) * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
      out[k] += Complex(in[j].x, in[j].y) * std::polar(1.0, angle);
    }
  }
  return out;
}

__device__ float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

// Radix 2, decimation in time, in shared memory, twiddles by sincospi.
template <int N>
__global__ void fft_shared(const float2* in, float2* out, float sign) {
  __shared__ float2 data[N];
  const unsigned t = threadIdx.x;
  constexpr int bits = 31 - __builtin_clz(N);
  for (unsigned i = t; i < N; i += N / 2) data[__brev(i) >> (32 - bits)] = in[blockIdx.x * N + i];
  for (unsigned half = 1; half < N; half *= 2) {
    __syncthreads();
    const unsigned k = t & (half - 1);
    const unsigned at = 2 * t - k;
    float2 w;
    sincospif(sign * static_cast<float>(k) / static_cast<float>(half), &w.y, &w.x);
    const float2 odd = times(data[at + half], w);
    const float2 even = data[at];
    data[at] = {even.x + odd.x, even.y + odd.y};
    data[at + half] = {even.x - odd.x, even.y - odd.y};
  }
  __syncthreads();
  for (unsigned i = t; i < N; i += N / 2) out[blockIdx.x * N + i] = data[i];
}

std::vector<float2> random_signal(std::uint64_t seed, std::size_t n) {
  Numbers numbers(seed);
  std::vector<float2> in(n);
  for (float2& value : in) value.x = numbers.unit(), value.y = numbers.unit();
  return in;
}

void expect_signal(Run& run, const std::vector<float2>& got, const std::vector<Complex>& want, double tolerance) {
  std::vector<float> values;
  std::vector<double> reference;
  for (const float2& value : got) values.push_back(value.x), values.push_back(value.y);
  for (const Complex& value : want) reference.push_back(value.real()), reference.push_back(value.imag());
  run.expect_close("signal", values, reference, tolerance);
}

template <int N>
void check_fft(Run& run, bool inverse) {
  const std::vector<float2> in = random_signal(81, 3 * N);
  const DeviceArray<float2> device_in(in);
  const DeviceArray<float2> out(in.size());
  fft_shared<N><<<3, N / 2>>>(device_in.get(), out.get(), inverse ? 1.0F : -1.0F);
  CHECK_LAUNCH();
  std::vector<Complex> want;
  for (long i = 0; i < 3; ++i) {
    const auto part = transformed({in.begin() + i * N, in.begin() + (i + 1) * N}, inverse);
    want.insert(want.end(), part.begin(), part.end());
  }
  expect_signal(run, out.download(), want, 2e-5);
}

KERNEL_CASE(fft_shared) {
  check_fft<256>(run, false);
  check_fft<64>(run, true);
}

// Stockham, radix 4, a launch a pass, natural order in and out.
__global__ void fft_stockham(const float2* in, float2* out, int n, int span) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int quarter = n / 4;
  if (i >= quarter) return;
  const int k = i % span;
  float2 v[4];
  for (int r = 0; r < 4; ++r) {
    float2 w;
    sincospif(-2.0F * static_cast<float>(r * k) / static_cast<float>(4 * span), &w.y, &w.x);
    v[r] = times(in[i + r * quarter], w);
  }
  const float2 a{v[0].x + v[2].x, v[0].y + v[2].y}, b{v[0].x - v[2].x, v[0].y - v[2].y};
  const float2 c{v[1].x + v[3].x, v[1].y + v[3].y}, d{v[1].x - v[3].x, v[1].y - v[3].y};
  float2* to = out + (i - k) * 4 + k;
  to[0] = {a.x + c.x, a.y + c.y};
  to[span] = {b.x + d.y, b.y - d.x};
  to[2 * span] = {a.x - c.x, a.y - c.y};
  to[3 * span] = {b.x - d.y, b.y + d.x};
}

KERNEL_CASE(fft_stockham) {
  const std::vector<float2> in = random_signal(82, 1024);
  const DeviceArray<float2> a(in);
  const DeviceArray<float2> b(in.size());
  bool in_a = true;
  for (int span = 1; span < 1024; span *= 4, in_a = !in_a) fft_stockham<<<4, 64>>>((in_a ? a : b).get(), (in_a ? b : a).get(), 1024, span);
  CHECK_LAUNCH();
  expect_signal(run, (in_a ? a : b).download(), transformed(in, false), 5e-5);
}

// All pairs, a tile of bodies in shared memory at a time.
__global__ void n_body(const float4* bodies, float4* forces, int n) {
  __shared__ float4 tile[64];
  const int i = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  const float4 own = bodies[min(i, n - 1)];
  float3 sum{0, 0, 0};
  for (int first = 0; first < n; first += 64) {
    const int j = first + static_cast<int>(threadIdx.x);
    tile[threadIdx.x] = j < n ? bodies[j] : float4{0, 0, 0, 0};
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 64; ++k) {
      const float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01F);
      const float scale = tile[k].w * inverse * inverse * inverse;
      sum.x += dx * scale, sum.y += dy * scale, sum.z += dz * scale;
    }
    __syncthreads();
  }
  if (i < n) forces[i] = {sum.x, sum.y, sum.z, 0};
}

KERNEL_CASE(n_body) {
  constexpr int n = 300;
  Numbers numbers(83);
  std::vector<float4> bodies(n);
  for (float4& body : bodies) body = {numbers.unit(), numbers.unit(), numbers.unit(), 1.0F + numbers.unit()};
  const DeviceArray<float4> device_bodies(bodies);
  const DeviceArray<float4> forces(n);
  n_body<<<5, 64>>>(device_bodies.get(), forces.get(), n);
  CHECK_LAUNCH();
  std::vector<float> got;
  std::vector<double> want;
  for (const float4& force : forces.download()) got.push_back(force.x), got.push_back(force.y), got.push_back(force.z);
  for (const float4& own : bodies) {
    double sum[3] = {};
    for (const float4& other : bodies) {
      const double d[3] = {double(other.x) - own.x, double(other.y) - own.y, double(other.z) - own.z};
      const double scale = other.w / std::pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01, 1.5);
      for (int k = 0; k < 3; ++k) sum[k] += d[k] * scale;
    }
    want.insert(want.end(), sum, sum + 3);
  }
  run.expect_close("forces", got, want, 1e-4);
}

__host__ __device__ inline int escape_time(double x, double y, int limit) {
  double zx = 0, zy = 0;
  int steps = 0;
  for (; steps < limit && zx * zx + zy * zy < 4.0; ++steps) {
    const double next = zx * zx - zy * zy + x;
    zy = 2.0 * zx * zy + y;
    zx = next;
  }
  return steps;
}

__global__ void mandelbrot(unsigned short* image, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height)
    image[y * width + x] = static_cast<unsigned short>(escape_time(-2.0 + 3.0 * x / width, -1.2 + 2.4 * y / height, 500));
}

KERNEL_CASE(mandelbrot) {
  constexpr int width = 90, height = 60;
  std::vector<unsigned short> want;
  for (int i = 0; i < width * height; ++i) {
    want.push_back(static_cast<unsigned short>(escape_time(-2.0 + 3.0 * (i % width) / width, -1.2 + 2.4 * (i / width) / height, 500)));
  }
  const DeviceArray<unsigned short> image(want.size());
  mandelbrot<<<dim3(6, 8), dim3(16, 8)>>>(image.get(), width, height);
  CHECK_LAUNCH();
  run.expect_equal("image", image.download(), want);
}

// The sample's formula with fast intrinsics, against erfc in double.
__device__ float normal_cdf(float d) {
  const float k = 1.0F / (1.0F + 0.2316419F * fabsf(d));
  float value = 1.330274429F;
  for (const float a : {-1.821255978F, 1.781477937F, -0.356563782F, 0.31938153F}) value = value * k + a;
  value *= 0.39894228F * __expf(-0.5F * d * d) * k;
  return d > 0 ? 1.0F - value : value;
}

__global__ void black_scholes(const float* price, const float* strike, const float* years, float* call, float* put, int n) {
  constexpr float rate = 0.02F, volatility = 0.3F;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) {
    const float root = sqrtf(years[i]);
    const float d1 = __fdividef(__logf(price[i] / strike[i]) + (rate + 0.5F * volatility * volatility) * years[i], volatility * root);
    const float d2 = d1 - volatility * root;
    const float discount = __expf(-rate * years[i]);
    call[i] = price[i] * normal_cdf(d1) - strike[i] * discount * normal_cdf(d2);
    put[i] = strike[i] * discount * normal_cdf(-d2) - price[i] * normal_cdf(-d1);
  }
}

KERNEL_CASE(black_scholes) {
  constexpr int n = 1500;
  Numbers numbers(84);
  std::vector<float> price, strike, years;
  std::vector<double> want_call, want_put;
  const auto cdf = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
  for (int i = 0; i < n; ++i) {
    price.push_back(17.5F + 12.5F * numbers.unit()), strike.push_back(50.0F + 49.0F * numbers.unit()),
        years.push_back(5.0F + 4.75F * numbers.unit());
    const double s = price.back(), x = strike.back(), t = years.back();
    const double d1 = (std::log(s / x) + (0.02 + 0.045) * t) / (0.3 * std::sqrt(t)), d2 = d1 - 0.3 * std::sqrt(t);
    want_call.push_back(s * cdf(d1) - x * std::exp(-0.02 * t) * cdf(d2));
    want_put.push_back(x * std::exp(-0.02 * t) * cdf(-d2) - s * cdf(-d1));
  }
  const DeviceArray<float> device_price(price), device_strike(strike), device_years(years), call(n), put(n);
  black_scholes<<<4, 128>>>(device_price.get(), device_strike.get(), device_years.get(), call.get(), put.get(), n);
  CHECK_LAUNCH();
  run.expect_close("call", call.download(), want_call, 2e-5);
  run.expect_close("put", put.download(), want_put, 2e-5);
}

// Philox 4x32-10: counter in, four words out.
__host__ __device__ inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ULL * c.x, b = 0xCD9E8D57ULL * c.z;
    c = {static_cast<unsigned>(b >> 32) ^ c.y ^ key.x, static_cast<unsigned>(b), static_cast<unsigned>(a >> 32) ^ c.w ^ key.y,
         static_cast<unsigned>(a)};
    key.x += 0x9E3779B9U, key.y += 0xBB67AE85U;
  }
  return c;
}

__global__ void philox_words(uint4* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = philox({i, 7, 0, 0xffffffffU}, {0xdeadbeefU, 42});
}

KERNEL_CASE(philox) {
  // The published answers for counters and keys of all zeros and all ones.
  const uint4 zeros = philox({0, 0, 0, 0}, {0, 0});
  const uint4 ones = philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U});
  run.expect_equal("published", std::vector<unsigned>{zeros.x, zeros.y, zeros.z, zeros.w, ones.x, ones.y, ones.z, ones.w},
                   {0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U, 0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
  const DeviceArray<uint4> out(1000);
  philox_words<<<8, 128>>>(out.get(), 1000);
  CHECK_LAUNCH();
  std::vector<unsigned> got, want;
  for (const uint4& w : out.download()) got.insert(got.end(), {w.x, w.y, w.z, w.w});
  for (unsigned i = 0; i < 1000; ++i) {
    const uint4 w = philox({i, 7, 0, 0xffffffffU}, {0xdeadbeefU, 42});
    want.insert(want.end(), {w.x, w.y, w.z, w.w});
  }
  run.expect_equal("words", got, want);
}

// Points in the quarter circle, counted exactly; normal numbers by Box and Muller, their moments about right.
__global__ void monte_carlo(unsigned* hits, float* sums, unsigned each) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned inside = 0;
  float sum = 0, squares = 0;
  for (unsigned k = 0; k < each; ++k) {
    const uint4 w = philox({i, k, 0, 0}, {1, 2});
    const unsigned long long x = w.x >> 1, y = w.y >> 1;
    inside += x * x + y * y < 1ULL << 62 ? 1 : 0;
    const float radius = sqrtf(-2.0F * logf((static_cast<float>(w.z >> 8) + 0.5F) * 0x1p-24F));
    const float value = radius * cospif(2.0F * static_cast<float>(w.w >> 8) * 0x1p-24F);
    sum += value;
    squares += value * value;
  }
  atomicAdd(hits, inside);
  atomicAdd(&sums[0], sum);
  atomicAdd(&sums[1], squares);
}

KERNEL_CASE(monte_carlo) {
  constexpr unsigned threads = 512, each = 40;
  unsigned want = 0;
  double sum = 0, squares = 0;
  for (unsigned i = 0; i < threads * each; ++i) {
    const uint4 w = philox({i / each, i % each, 0, 0}, {1, 2});
    const unsigned long long x = w.x >> 1, y = w.y >> 1;
    want += x * x + y * y < 1ULL << 62 ? 1 : 0;
    const double value = std::sqrt(-2.0 * std::log(((w.z >> 8) + 0.5) * 0x1p-24)) * std::cos(2.0 * M_PI * (w.w >> 8) * 0x1p-24);
    sum += value;
    squares += value * value;
  }
  const DeviceArray<unsigned> hits(std::vector<unsigned>{0});
  const DeviceArray<float> sums(std::vector<float>{0, 0});
  monte_carlo<<<4, 128>>>(hits.get(), sums.get(), each);
  CHECK_LAUNCH();
  run.expect_equal("hits", hits.download(), {want});
  run.expect_close("sums", sums.download(), {sum, squares}, 1e-3);
}

// Van der Corput and Gray-code Sobol directions from a table in constant memory.
__constant__ unsigned directions[32];

__global__ void sobol(float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = 0;
  for (unsigned gray = i ^ (i >> 1); gray != 0; gray &= gray - 1) x ^= directions[__ffs(static_cast<int>(gray)) - 1];
  out[i] = static_cast<float>(x) * 0x1p-32F;
}

KERNEL_CASE(sobol) {
  constexpr unsigned n = 1024;
  std::vector<unsigned> table{1U << 31};
  for (unsigned k = 1; k < 32; ++k) table.push_back(table[k - 1] ^ (table[k - 1] >> 1));
  CHECK(cudaMemcpyToSymbol(directions, table.data(), sizeof(directions)));
  const DeviceArray<float> out(n);
  sobol<<<n / 64, 64>>>(out.get(), n);
  CHECK_LAUNCH();
  std::vector<float> want;
  unsigned x = 0;
  for (unsigned i = 0; i < n; ++i) {
    want.push_back(static_cast<float>(x) * 0x1p-32F);
    x ^= table[static_cast<unsigned>(__builtin_ctz(~i))];
  }
  run.expect_equal("numbers", out.download(), want);
}

// Fast Walsh-Hadamard transform, first in shared memory, then strides over the whole array.
__global__ void walsh_block(int* data) {
  __shared__ int part[256];
  part[threadIdx.x] = data[blockIdx.x * 256 + threadIdx.x];
  for (unsigned stride = 1; stride < 256; stride *= 2) {
    __syncthreads();
    const int other = part[threadIdx.x ^ stride];
    const int own = part[threadIdx.x];
    __syncthreads();
    part[threadIdx.x] = (threadIdx.x & stride) == 0 ? own + other : other - own;
  }
  data[blockIdx.x * 256 + threadIdx.x] = part[threadIdx.x];
}

__global__ void walsh_stride(int* data, unsigned stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned at = (i & ~(stride - 1)) * 2 + (i & (stride - 1));
  const int a = data[at], b = data[at + stride];
  data[at] = a + b, data[at + stride] = a - b;
}

KERNEL_CASE(walsh) {
  auto values = numbers_below<int>(85, 2048, 100);
  const DeviceArray<int> data(values);
  walsh_block<<<8, 256>>>(data.get());
  for (unsigned stride = 256; stride < 2048; stride *= 2) walsh_stride<<<4, 256>>>(data.get(), stride);
  CHECK_LAUNCH();
  for (std::size_t stride = 1; stride < values.size(); stride *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & stride) != 0) continue;
      const int a = values[i], b = values[i + stride];
      values[i] = a + b, values[i + stride] = a - b;
    }
  }
  run.expect_equal("transform", data.download(), values);
}

// Discrete cosine transform of 8 by 8 blocks through two products with the matrix of cosines.
__global__ void dct_blocks(const float* in, float* out, int width) {
  __shared__ float cosines[8][8], block[8][8], half[8][8];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  cosines[y][x] = (y == 0 ? 0.35355339F : 0.5F) * cospif(static_cast<float>((2 * x + 1) * y) / 16.0F);
  const unsigned at = (blockIdx.y * 8 + y) * static_cast<unsigned>(width) + blockIdx.x * 8 + x;
  block[y][x] = in[at];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += cosines[y][k] * block[k][x];
  half[y][x] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; ++k) sum += half[y][k] * cosines[x][k];
  out[at] = sum;
}

KERNEL_CASE(dct_blocks) {
  constexpr int width = 24, height = 16;
  Numbers numbers(86);
  const std::vector<float> in = numbers.units(width * height, 128.0F);
  std::vector<double> want;
  for (int i = 0; i < width * height; ++i) {
    const int u = i % width % 8, v = i / width % 8, x0 = i % width - u, y0 = i / width - v;
    double sum = 0;
    for (int k = 0; k < 64; ++k) {
      sum += in[static_cast<std::size_t>((y0 + k / 8) * width + x0 + k % 8)] * std::cos((2 * (k % 8) + 1) * u * M_PI / 16) *
             std::cos((2 * (k / 8) + 1) * v * M_PI / 16);
    }
    want.push_back(sum * (u == 0 ? std::sqrt(0.125) : 0.5) * (v == 0 ? std::sqrt(0.125) : 0.5));
  }
  const DeviceArray<float> device_in(in), out(in.size());
  dct_blocks<<<dim3(width / 8, height / 8), dim3(8, 8)>>>(device_in.get(), out.get(), width);
  CHECK_LAUNCH();
  run.expect_close("coefficients", out.download(), want, 1e-4);
}

}  // namespace
}  // namespace kernels
