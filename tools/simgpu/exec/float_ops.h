// What the floating classes share: flushing, canonical NaN, saturation, and the processor's rounding mode.
// Included by the semantics only; see lanes.h.
#pragma once

#include <cfenv>

#include "tools/simgpu/exec/lanes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

inline constexpr std::uint32_t canonical_nan_f32 = 0x7fffffffu;

inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
inline std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
inline float float_of(std::uint32_t b) { return __builtin_bit_cast(float, b); }
inline double double_of(std::uint64_t b) { return __builtin_bit_cast(double, b); }

// Subnormals become zero of the same sign.
inline float flush(float x) {
  const std::uint32_t b = bits_of(x);
  return float_of((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
template <bool Ftz>
inline float maybe_flush(float x) {
  if constexpr (Ftz) return flush(x);
  return x;
}
inline float canonical(float x) { return float_of(x != x ? canonical_nan_f32 : bits_of(x)); }
// [0, 1], NaN to +0.
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// What every single-precision result goes through.
template <bool Ftz, bool Sat>
inline float finish(float x) {
  if constexpr (Ftz) x = flush(x);
  if constexpr (Sat) return saturate(x);
  return canonical(x);
}

// Sets the processor's rounding mode while it lives. The compiler must not move arithmetic across: operands are loaded and results
// stored inside, and the barriers keep memory accesses where they are.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding r) {
#if defined(__SSE2__)
    saved_ = _mm_getcsr();
    const unsigned mode = r == Rounding::rm ? 0x2000u : r == Rounding::rp ? 0x4000u : r == Rounding::rz ? 0x6000u : 0u;
    _mm_setcsr((saved_ & ~0x6000u) | mode);
#else
    saved_ = static_cast<unsigned>(std::fegetround());
    std::fesetround(r == Rounding::rm ? FE_DOWNWARD : r == Rounding::rp ? FE_UPWARD : r == Rounding::rz ? FE_TOWARDZERO : FE_TONEAREST);
#endif
    asm volatile("" ::: "memory");
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
#if defined(__SSE2__)
    _mm_setcsr(saved_);
#else
    std::fesetround(static_cast<int>(saved_));
#endif
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  unsigned saved_ = 0;
};

// The handler H under the rounding mode in op.y.
template <Handler H>
void directed(Warp& w, const Op& op) {
  const RoundingScope scope(static_cast<Rounding>(op.y));
  H(w, op);
}

inline bool is_directed(Rounding r) { return r == Rounding::rz || r == Rounding::rm || r == Rounding::rp; }

// H, or H under the form's rounding mode.
template <Handler H>
inline Choice rounded(const Form& f, const Shape& shape) {
  if (is_directed(f.rounding)) return {.fn = directed<H>, .shape = shape, .y = static_cast<std::uint16_t>(f.rounding)};
  return {.fn = H, .shape = shape};
}

// Calls f<Ftz, Sat>() with the form's flags.
template <typename F>
inline Choice with_flags(const Form& form, F&& f) {
  if (form.ftz) return form.sat ? f.template operator()<true, true>() : f.template operator()<true, false>();
  return form.sat ? f.template operator()<false, true>() : f.template operator()<false, false>();
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
