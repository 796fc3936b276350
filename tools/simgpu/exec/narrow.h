// Rounding a double to a narrower floating format, in any rounding mode.
// Included by the semantics only; see lanes.h. Source of the formats: PTX ISA, "Alternate Floating Point Data Formats".
#pragma once

#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

// Fields of a format; `largest` = bits of the largest finite value, `infinity` = its infinity (0: none), `nan` = its NaN (0: none).
struct Format {
  unsigned mantissa;
  int bias;
  std::uint32_t largest, infinity, nan, sign;
};
inline constexpr Format format_f16{10, 15, 0x7bff, 0x7c00, 0x7fff, 0x8000};
inline constexpr Format format_bf16{7, 127, 0x7f7f, 0x7f80, 0x7fff, 0x8000};
inline constexpr Format format_tf32{10, 127, 0x3fbff, 0x3fc00, 0x3ffff, 0x40000};  // to be shifted left by 13
inline constexpr Format format_e4m3{3, 7, 0x7e, 0, 0x7f, 0x80};
inline constexpr Format format_e5m2{2, 15, 0x7b, 0x7c, 0x7f, 0x80};

inline bool rounds_up(Rounding r, bool negative, bool odd, std::uint64_t rest, std::uint64_t half) {
  switch (r) {
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return negative && rest != 0;
    case Rounding::rp:
      return !negative && rest != 0;
    case Rounding::rna:
      return rest >= half;
    default:
      return rest > half || (rest == half && odd);
  }
}

// The bits of x in format F. Overflow: to infinity, or to the largest finite value where the rounding, the format or `finite` says so.
inline std::uint32_t narrow(const Format& f, double x, Rounding r, bool finite) {
  const std::uint64_t b = bits_of(x);
  const bool negative = (b >> 63) != 0;
  const std::uint32_t sign = negative ? f.sign : 0;
  if (x != x) return f.nan;
  const std::uint64_t magnitude = b & ~(std::uint64_t{1} << 63);
  const bool away = r == Rounding::rz || (r == Rounding::rm && !negative) || (r == Rounding::rp && negative);  // never overflows
  const std::uint32_t overflow = finite || f.infinity == 0 || away ? f.largest : f.infinity;
  if (magnitude >= 0x7ff0000000000000ull) return sign | (finite || f.infinity == 0 ? f.largest : f.infinity);
  if (magnitude < 0x0010000000000000ull) {  // zero, or a subnormal double: below everything
    return sign | (rounds_up(r, negative, false, magnitude, ~std::uint64_t{0}) ? 1u : 0u);
  }
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const std::uint64_t significand = (magnitude & 0x000fffffffffffffull) | 0x0010000000000000ull;
  const int lowest = 1 - f.bias;
  const int used = exponent > lowest ? exponent : lowest;
  const unsigned drop = 52 - f.mantissa + static_cast<unsigned>(used - exponent);
  std::uint64_t kept = 0, rest = 1, half = 2;
  if (drop < 63) {
    kept = significand >> drop;
    rest = significand & ((std::uint64_t{1} << drop) - 1);
    half = std::uint64_t{1} << (drop - 1);
  }
  if (rounds_up(r, negative, (kept & 1u) != 0, rest, half)) ++kept;
  const std::uint64_t bits = (static_cast<std::uint64_t>(used + f.bias) << f.mantissa) + kept - (std::uint64_t{1} << f.mantissa);
  return sign | (bits > f.largest ? overflow : static_cast<std::uint32_t>(bits));
}

// The value of a narrow format's bits.
inline double widen(const Format& f, std::uint32_t bits) {
  const bool negative = (bits & f.sign) != 0;
  const std::uint32_t magnitude = bits & (f.sign - 1);
  double value = 0;
  if (f.infinity != 0 ? magnitude > f.infinity : magnitude == f.nan) {
    value = double_of(0x7ff8000000000000ull);
  } else if (f.infinity != 0 && magnitude == f.infinity) {
    value = double_of(0x7ff0000000000000ull);
  } else {
    const std::uint32_t field = magnitude >> f.mantissa;
    const std::uint32_t fraction = magnitude & ((1u << f.mantissa) - 1);
    const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - f.bias - static_cast<int>(f.mantissa);
    const std::uint32_t significand = field == 0 ? fraction : fraction | 1u << f.mantissa;
    value = static_cast<double>(significand) * double_of(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }
  return negative ? -value : value;
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
