// Arithmetic on f16, bf16 and their pairs: add sub mul fma neg abs min max, with ftz, sat and relu.
//
// Results are rounded once: sums and products are made in double, rounded to odd, and then to the format.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;
using U16 = std::uint16_t;
using U32 = std::uint32_t;

// Two f16: products and sums in single precision are exact, or so nearly that rounding again does no harm (2·11 + 2 ≤ 24 bits).
struct AddCore {
  static float apply(F16, float a, float b) { return a + b; }
  static float apply(Bf16, float a, float b) { return odd_float(odd_sum(static_cast<double>(a), static_cast<double>(b))); }
};
struct SubCore {
  template <typename H>
  static float apply(H h, float a, float b) {
    return AddCore::apply(h, a, -b);
  }
};
struct MulCore {
  static float apply(F16, float a, float b) { return a * b; }
  static float apply(Bf16, float a, float b) { return odd_float(static_cast<double>(a) * static_cast<double>(b)); }
};
struct FmaCore {
  template <typename H>
  static float apply(H, float a, float b, float c) {
    return odd_float(odd_sum(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c)));
  }
};

enum class Finish : std::uint8_t { plain, sat, relu };

template <typename H, bool Ftz>
inline U16 flush_half(U16 h) {
  constexpr U16 exponent = H::mantissa == 10 ? 0x7c00 : 0x7f80;
  return Ftz && (h & exponent) == 0 ? static_cast<U16>(h & 0x8000u) : h;
}
template <typename H, Finish K, bool Ftz>
inline U16 conclude(float r) {
  U16 h = flush_half<H, Ftz>(H::narrow(r));
  const bool nan = r != r;
  if constexpr (K == Finish::sat) h = nan || (h & 0x8000u) != 0 ? U16{0} : (H::widen(h) > 1.0f ? H::narrow(1.0f) : h);
  if constexpr (K == Finish::relu) h = nan ? H::nan : (h & 0x8000u) != 0 ? U16{0} : h;
  return h;
}
template <typename H, typename Core, Finish K, bool Ftz>
struct Arithmetic {
  static float in(U16 h) { return H::widen(flush_half<H, Ftz>(h)); }
  static U16 apply(U16 a, U16 b) { return conclude<H, K, Ftz>(Core::apply(H{}, in(a), in(b))); }
  static U16 apply(U16 a, U16 b, U16 c) { return conclude<H, K, Ftz>(Core::apply(H{}, in(a), in(b), in(c))); }
};

template <typename H, bool Ftz>
struct Negate {
  static U16 apply(U16 a) { return static_cast<U16>(flush_half<H, Ftz>(a) ^ 0x8000u); }
};
template <typename H, bool Ftz>
struct Magnitude {
  static U16 apply(U16 a) { return static_cast<U16>(flush_half<H, Ftz>(a) & 0x7fffu); }
};

template <typename H, bool IsMax, bool NanWins, bool XorSign, bool Ftz>
struct Extreme {
  static U16 apply(U16 a, U16 b) {
    a = flush_half<H, Ftz>(a), b = flush_half<H, Ftz>(b);
    U16 flip = 0;
    if constexpr (XorSign) {
      flip = static_cast<U16>((a ^ b) & 0x8000u);
      a &= 0x7fff, b &= 0x7fff;
    }
    const float x = H::widen(a), y = H::widen(b);
    const bool x_nan = x != x, y_nan = y != y;
    const bool negative = (a & 0x8000u) != 0;
    const bool take_a = IsMax ? (x > y || (x == y && !negative)) : (x < y || (x == y && negative));
    U16 r = take_a ? a : b;
    if constexpr (NanWins)
      r = x_nan || y_nan ? H::nan : r;
    else
      r = x_nan && y_nan ? H::nan : x_nan ? b : y_nan ? a : r;
    return XorSign && H::widen(r) == H::widen(r) ? static_cast<U16>(r ^ flip) : r;
  }
};

template <typename F>
struct Pair {
  static U16 low(U32 x) { return static_cast<U16>(x); }
  static U16 high(U32 x) { return static_cast<U16>(x >> 16); }
  static U32 apply(U32 a) { return U32{F::apply(low(a))} | U32{F::apply(high(a))} << 16; }
  static U32 apply(U32 a, U32 b) { return U32{F::apply(low(a), low(b))} | U32{F::apply(high(a), high(b))} << 16; }
  static U32 apply(U32 a, U32 b, U32 c) { return U32{F::apply(low(a), low(b), low(c))} | U32{F::apply(high(a), high(b), high(c))} << 16; }
};

bool is_pair(Type t) { return t == Type::f16x2 || t == Type::bf16x2; }

template <typename F>
Choice unary(Type t) {
  if (is_pair(t)) return {.fn = lanewise1<Pair<F>, U32, U32>, .shape = {t, t, Type::none}};
  return {.fn = lanewise1<F, U16, U16>, .shape = {t, t, Type::none}};
}
template <typename F>
Choice binary(Type t) {
  if (is_pair(t)) return {.fn = lanewise2<Pair<F>, U32, U32, U32>, .shape = {t, t, t, Type::none}};
  return {.fn = lanewise2<F, U16, U16, U16>, .shape = {t, t, t, Type::none}};
}
template <typename F>
Choice ternary(Type t) {
  if (is_pair(t)) return {.fn = lanewise3<Pair<F>, U32, U32, U32, U32>, .shape = {t, t, t, t, Type::none}};
  return {.fn = lanewise3<F, U16, U16, U16, U16>, .shape = {t, t, t, t, Type::none}};
}

// Calls f<Finish, Ftz>() with the form's.
template <typename F>
Choice with_finish(const Form& form, F&& f) {
  const bool relu = form.has(Modifier::relu);
  if (relu && form.sat) return {};
  if (form.ftz) {
    if (relu) return f.template operator()<Finish::relu, true>();
    return form.sat ? f.template operator()<Finish::sat, true>() : f.template operator()<Finish::plain, true>();
  }
  if (relu) return f.template operator()<Finish::relu, false>();
  return form.sat ? f.template operator()<Finish::sat, false>() : f.template operator()<Finish::plain, false>();
}

template <typename H, bool IsMax>
Choice extreme_of(const Form& f) {
  const Type t = f.types[0];
  const bool nan = f.has(Modifier::NaN), xorsign = f.has(Modifier::xorsign);
  const auto pick = [&]<bool Ftz>() {
    if (xorsign) return nan ? binary<Extreme<H, IsMax, true, true, Ftz>>(t) : binary<Extreme<H, IsMax, false, true, Ftz>>(t);
    return nan ? binary<Extreme<H, IsMax, true, false, Ftz>>(t) : binary<Extreme<H, IsMax, false, false, Ftz>>(t);
  };
  if (f.instr->operand_count != 3) return {};
  return f.ftz ? pick.template operator()<true>() : pick.template operator()<false>();
}

template <typename H>
Choice format(const Form& f) {
  const Type t = f.types[0];
  if (f.rounding != Rounding::none && f.rounding != Rounding::rn) return {};
  switch (f.opcode) {
    case Opcode::add:
      return with_finish(f, [&]<Finish K, bool Ftz>() { return binary<Arithmetic<H, AddCore, K, Ftz>>(t); });
    case Opcode::sub:
      return with_finish(f, [&]<Finish K, bool Ftz>() { return binary<Arithmetic<H, SubCore, K, Ftz>>(t); });
    case Opcode::mul:
      return with_finish(f, [&]<Finish K, bool Ftz>() { return binary<Arithmetic<H, MulCore, K, Ftz>>(t); });
    case Opcode::fma:
      if (f.has(Modifier::oob)) return {};
      return with_finish(f, [&]<Finish K, bool Ftz>() { return ternary<Arithmetic<H, FmaCore, K, Ftz>>(t); });
    case Opcode::neg:
      return f.ftz ? unary<Negate<H, true>>(t) : unary<Negate<H, false>>(t);
    case Opcode::abs:
      return f.ftz ? unary<Magnitude<H, true>>(t) : unary<Magnitude<H, false>>(t);
    case Opcode::min:
      return extreme_of<H, false>(f);
    case Opcode::max:
      return extreme_of<H, true>(f);
    default:
      return {};
  }
}

}  // namespace

Choice half_class(const Form& f) {
  if (f.type_count != 1) return {};
  switch (f.types[0]) {
    case Type::f16:
    case Type::f16x2:
      return format<F16>(f);
    case Type::bf16:
    case Type::bf16x2:
      return format<Bf16>(f);
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
