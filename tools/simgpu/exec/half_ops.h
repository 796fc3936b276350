// The 16-bit floating formats: widening to f32, and rounding to nearest even back.
// Included by the semantics only; see lanes.h. Directed roundings are in narrow.h.
#pragma once

#include "tools/simgpu/exec/float_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

struct F16 {
  static constexpr std::uint16_t nan = 0x7fff;
  static constexpr unsigned mantissa = 10;
  static constexpr int bias = 15;

  static float widen(std::uint32_t h) {
    // Shift into place and multiply by 2^112: subnormals come out right; infinities and NaNs are put back.
    const std::uint32_t magnitude = (h & 0x7fffu) << 13;
    const float scaled = float_of(magnitude) * float_of(0x77800000u);
    const std::uint32_t special = magnitude | 0x7f800000u;
    const std::uint32_t r = (h & 0x7c00u) == 0x7c00u ? special : bits_of(scaled);
    return float_of(r | (h & 0x8000u) << 16);
  }
  static std::uint16_t narrow(float x) {
    const std::uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000u, magnitude = b & 0x7fffffffu;
    // Normal results: round on the bits. Subnormal ones: let an addition round.
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const std::uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
    std::uint32_t r = magnitude < 0x38800000u ? subnormal : normal;
    r = magnitude >= 0x477ff000u ? 0x7c00u : r;
    r = magnitude > 0x7f800000u ? 0x7fffu : r | sign;
    return static_cast<std::uint16_t>(r);
  }
};

struct Bf16 {
  static constexpr std::uint16_t nan = 0x7fff;
  static constexpr unsigned mantissa = 7;
  static constexpr int bias = 127;

  static float widen(std::uint32_t h) { return float_of(h << 16); }
  static std::uint16_t narrow(float x) {
    const std::uint32_t b = bits_of(x);
    const std::uint32_t r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    return static_cast<std::uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
  }
};

// The double nearest to d among floats, but with an odd last bit when it isn't exact: rounding it again is then as if there had been one
// rounding only.
inline float odd_float(double d) {
  const float f = static_cast<float>(d);
  const std::uint32_t b = bits_of(f);
  if (static_cast<double>(f) == d || f != f || (b & 1u) != 0) return f;
  const bool away = d < 0 ? static_cast<double>(f) < d : static_cast<double>(f) > d;  // rounded away from zero
  return float_of(away ? b - 1u : b + 1u);
}

// p + c for doubles, rounded to odd: exact in all that matters to a narrower format.
inline double odd_sum(double p, double c) {
  const double s = p + c;
  const double back = s - p;
  const double error = (p - (s - back)) + (c - back);
  const std::uint64_t b = bits_of(s);
  if (error == 0 || error != error || (b & 1u) != 0) return s;
  const bool grow = (error > 0) == (s > 0);
  return double_of(grow ? b + 1u : b - 1u);
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
