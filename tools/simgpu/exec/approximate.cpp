// Functions that PTX leaves to the architecture: ex2 lg2 sin cos tanh rsqrt, rcp and sqrt of f64 in their .approx forms.
//
// Chosen once, the same on every machine: computed in double by polynomials written here, then rounded to nearest. Errors stay below
// 1 ulp of f32 (ex2, lg2, rsqrt, tanh) and 2^-23 absolute (sin, cos with |x| ≤ 2^20), which is inside what PTX ISA allows everywhere.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

inline double power_of_two(int e) { return double_of(static_cast<std::uint64_t>(e + 1023) << 52); }
// Nearest integer, ties to even, for |x| < 2^51.
inline double nearest(double x) {
  const double magic = double_of(0x4338000000000000ull);
  return (x + magic) - magic;
}

// 2^x: x = n + f with |f| ≤ 1/2, Taylor series of exp(f ln 2) up to the 11th power (error below 2^-50).
inline double exp2_of(double x) {
  const double clamped = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
  const double n = nearest(clamped);
  const double t = (clamped - n) * 0.6931471805599453;
  double p = 1.0 / 39916800.0;
  p = p * t + 1.0 / 3628800.0;
  p = p * t + 1.0 / 362880.0;
  p = p * t + 1.0 / 40320.0;
  p = p * t + 1.0 / 5040.0;
  p = p * t + 1.0 / 720.0;
  p = p * t + 1.0 / 120.0;
  p = p * t + 1.0 / 24.0;
  p = p * t + 1.0 / 6.0;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  return p * power_of_two(static_cast<int>(n));
}

// log2 x for normal positive doubles: x = 2^e m with m in [√½, √2), log m = 2 atanh((m-1)/(m+1)) as a series up to the 21st power.
inline double log2_of(double x) {
  const std::uint64_t b = bits_of(x);
  int e = static_cast<int>(b >> 52) - 1023;
  double m = double_of((b & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  const bool high = m > 1.4142135623730951;
  m = high ? 0.5 * m : m;
  e = high ? e + 1 : e;
  const double s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 1.0 / 21.0;
  p = p * q + 1.0 / 19.0;
  p = p * q + 1.0 / 17.0;
  p = p * q + 1.0 / 15.0;
  p = p * q + 1.0 / 13.0;
  p = p * q + 1.0 / 11.0;
  p = p * q + 1.0 / 9.0;
  p = p * q + 1.0 / 7.0;
  p = p * q + 1.0 / 5.0;
  p = p * q + 1.0 / 3.0;
  p = p * q + 1.0;
  return static_cast<double>(e) + 2.0 * s * p * 1.4426950408889634;
}

// sin and cos of r, |r| ≤ π/4.
inline double sin_series(double r) {
  const double q = r * r;
  double p = -1.0 / 1307674368000.0;
  p = p * q + 1.0 / 6227020800.0;
  p = p * q - 1.0 / 39916800.0;
  p = p * q + 1.0 / 362880.0;
  p = p * q - 1.0 / 5040.0;
  p = p * q + 1.0 / 120.0;
  p = p * q - 1.0 / 6.0;
  p = p * q + 1.0;
  return p * r;
}
inline double cos_series(double r) {
  const double q = r * r;
  double p = 1.0 / 20922789888000.0;
  p = p * q - 1.0 / 87178291200.0;
  p = p * q + 1.0 / 479001600.0;
  p = p * q - 1.0 / 3628800.0;
  p = p * q + 1.0 / 40320.0;
  p = p * q - 1.0 / 720.0;
  p = p * q + 1.0 / 24.0;
  p = p * q - 0.5;
  return p * q + 1.0;
}
// sin(x + quarter turns): quarters = 0 for sin, 1 for cos. Reduction by π/2 in three parts, good to |x| = 2^20; beyond, precision fades.
inline double circular(double x, int quarters) {
  const double n = nearest(x * 0.6366197723675814);
  const double r = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
  const double limited = r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
  const int k = (static_cast<int>(n) + quarters) & 3;  // |n| < 2^31: see Circular
  const double v = (k & 1) != 0 ? cos_series(limited) : sin_series(limited);
  return (k & 2) != 0 ? -v : v;
}

inline bool is_infinite(float x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }

struct Exp2 {
  static float apply(float x) { return static_cast<float>(exp2_of(static_cast<double>(x))) + (x != x ? x : 0.0f); }
};
struct Log2 {
  static float apply(float x) {
    const float r = static_cast<float>(log2_of(static_cast<double>(x > 0.0f && !is_infinite(x) ? x : 1.0f)));
    const float special = x == 0.0f ? float_of(0xff800000u) : x > 0.0f ? x : float_of(canonical_nan_f32);
    return x > 0.0f && !is_infinite(x) ? r : special;
  }
};
template <int Quarters>
struct Circular {
  static float apply(float x) {
    const bool bad = x != x || is_infinite(x);
    const float magnitude = x < 0 ? -x : x;
    const float used = bad || magnitude > 1.0e9f ? 0.0f : x;  // far out of any use: as for 0
    const float r = static_cast<float>(circular(static_cast<double>(used), Quarters));
    return bad ? float_of(canonical_nan_f32) : used == 0.0f && Quarters == 0 ? x * 0.0f + used : r;
  }
};
struct Tanh {
  static float apply(float x) {
    const double d = static_cast<double>(x);
    const double m = d < 0 ? -d : d;
    // Small arguments by the series, the others by exp(-2|x|).
    const double q = d * d;
    const double series = d * (1.0 + q * (-1.0 / 3.0 + q * (2.0 / 15.0 + q * (-17.0 / 315.0 + q * (62.0 / 2835.0)))));
    const double e = exp2_of((m > 30.0 ? 30.0 : m) * -2.8853900817779268);
    const double big = (1.0 - e) / (1.0 + e);
    const float r = static_cast<float>(m < 0.05 ? series : d < 0 ? -big : big);
    return x != x ? x : r;
  }
};
struct InverseSqrt {
  static float apply(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }
};
// f64, .approx.ftz: PTX ISA gives about 20 bits; ours are exact.
struct InverseSqrtDouble {
  static double apply(double x) { return 1.0 / __builtin_sqrt(x); }
};
struct ReciprocalDouble {
  static double apply(double x) { return 1.0 / x; }
};

template <typename Core, bool Ftz>
struct Single {
  static float apply(float a) { return finish<Ftz, false>(Core::apply(maybe_flush<Ftz>(a))); }
};
template <typename Core>
Choice single(const Form& f) {
  const Shape shape{Type::f32, Type::f32, Type::none};
  if (f.sat) return {};
  return {.fn = f.ftz ? lanewise1<Single<Core, true>, float, float> : lanewise1<Single<Core, false>, float, float>, .shape = shape};
}

template <typename H, typename Core>
struct OnHalf {
  static std::uint16_t apply(std::uint16_t a) { return H::narrow(Core::apply(H::widen(a))); }
};
template <typename H, typename Core>
struct OnPair {
  static std::uint32_t apply(std::uint32_t a) {
    using F = OnHalf<H, Core>;
    return std::uint32_t{F::apply(static_cast<std::uint16_t>(a))} | std::uint32_t{F::apply(static_cast<std::uint16_t>(a >> 16))} << 16;
  }
};
template <typename Core>
Choice any_float(const Form& f) {
  const Type t = f.types[0];
  const Shape shape{t, t, Type::none};
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  switch (t) {
    case Type::f32:
      return single<Core>(f);
    case Type::f16:
      return {.fn = lanewise1<OnHalf<F16, Core>, U16, U16>, .shape = shape};
    case Type::bf16:
      return {.fn = lanewise1<OnHalf<Bf16, Core>, U16, U16>, .shape = shape};
    case Type::f16x2:
      return {.fn = lanewise1<OnPair<F16, Core>, U32, U32>, .shape = shape};
    case Type::bf16x2:
      return {.fn = lanewise1<OnPair<Bf16, Core>, U32, U32>, .shape = shape};
    default:
      return {};
  }
}

}  // namespace

Choice approximate_class(const Form& f) {
  const Type t = f.types[0];
  const Shape doubles{Type::f64, Type::f64, Type::none};
  switch (f.opcode) {
    case Opcode::ex2:
      return any_float<Exp2>(f);
    case Opcode::tanh:
      return any_float<Tanh>(f);
    case Opcode::lg2:
      return t == Type::f32 ? single<Log2>(f) : Choice{};
    case Opcode::sin:
      return t == Type::f32 ? single<Circular<0>>(f) : Choice{};
    case Opcode::cos:
      return t == Type::f32 ? single<Circular<1>>(f) : Choice{};
    case Opcode::rsqrt:
      if (t == Type::f64) return {.fn = lanewise1<InverseSqrtDouble, double, double>, .shape = doubles};
      return t == Type::f32 ? single<InverseSqrt>(f) : Choice{};
    case Opcode::rcp:
      return t == Type::f64 && f.has(Modifier::approx) ? Choice{.fn = lanewise1<ReciprocalDouble, double, double>, .shape = doubles}
                                                       : Choice{};
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
