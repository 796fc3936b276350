// Arithmetic on f32 and f64 with exact results: add sub mul fma mad div rcp sqrt neg abs min max copysign testp.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/float_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

struct AddCore {
  template <typename T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct SubCore {
  template <typename T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct MulCore {
  template <typename T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct DivCore {
  template <typename T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct FmaCore {
  static float apply(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double apply(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct RcpCore {
  template <typename T>
  static T apply(T a) {
    return T(1) / a;
  }
};
struct SqrtCore {
  static float apply(float a) { return __builtin_sqrtf(a); }
  static double apply(double a) { return __builtin_sqrt(a); }
};

// Flushes the operands, applies, finishes. f64 has neither ftz nor a canonical NaN.
template <typename Core, bool Ftz, bool Sat>
struct Single {
  static float apply(float a) { return finish<Ftz, Sat>(Core::apply(maybe_flush<Ftz>(a))); }
  static float apply(float a, float b) { return finish<Ftz, Sat>(Core::apply(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b))); }
  static float apply(float a, float b, float c) {
    return finish<Ftz, Sat>(Core::apply(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b), maybe_flush<Ftz>(c)));
  }
};

template <typename Core>
Choice arithmetic1(const Form& f) {
  const Type t = f.types[0];
  const Shape shape{t, t, Type::none};
  if (t == Type::f64) return f.ftz || f.sat ? Choice{} : rounded<lanewise1<Core, double, double>>(f, shape);
  return with_flags(f, [&]<bool Ftz, bool Sat>() { return rounded<lanewise1<Single<Core, Ftz, Sat>, float, float>>(f, shape); });
}
template <typename Core>
Choice arithmetic2(const Form& f) {
  const Type t = f.types[0];
  const Shape shape{t, t, t, Type::none};
  if (t == Type::f64) return f.ftz || f.sat ? Choice{} : rounded<lanewise2<Core, double, double, double>>(f, shape);
  return with_flags(f, [&]<bool Ftz, bool Sat>() { return rounded<lanewise2<Single<Core, Ftz, Sat>, float, float, float>>(f, shape); });
}
template <typename Core>
Choice arithmetic3(const Form& f) {
  const Type t = f.types[0];
  const Shape shape{t, t, t, t, Type::none};
  if (t == Type::f64) return f.ftz || f.sat ? Choice{} : rounded<lanewise3<Core, double, double, double, double>>(f, shape);
  return with_flags(f,
                    [&]<bool Ftz, bool Sat>() { return rounded<lanewise3<Single<Core, Ftz, Sat>, float, float, float, float>>(f, shape); });
}

// ---- sign operations work on the bits: NaNs keep theirs

template <bool Ftz>
struct NegSingle {
  static float apply(float a) { return float_of(bits_of(maybe_flush<Ftz>(a)) ^ 0x80000000u); }
};
template <bool Ftz>
struct AbsSingle {
  static float apply(float a) { return float_of(bits_of(maybe_flush<Ftz>(a)) & 0x7fffffffu); }
};
struct NegDouble {
  static std::uint64_t apply(std::uint64_t a) { return a ^ (std::uint64_t{1} << 63); }
};
struct AbsDouble {
  static std::uint64_t apply(std::uint64_t a) { return a & ~(std::uint64_t{1} << 63); }
};
// copysign d, a, b: the magnitude of b with the sign of a.
struct CopySign32 {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return (b & 0x7fffffffu) | (a & 0x80000000u); }
};
struct CopySign64 {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return (b & ~sign) | (a & sign);
  }
};

// ---- minimum and maximum: -0 < +0; a NaN loses, unless .NaN was written

template <typename T>
inline T quiet(T) {
  if constexpr (sizeof(T) == 4) return float_of(canonical_nan_f32);
  return double_of(0x7ff8000000000000ull);
}
template <bool IsMax, bool NanWins, bool XorSign, typename T>
inline T extreme(T a, T b) {
  using U = Unsigned<T>;
  constexpr U sign = U(1) << (8 * sizeof(T) - 1);
  U flip = 0;
  if constexpr (XorSign) {
    flip = (bits_of(a) ^ bits_of(b)) & sign;
    a = __builtin_bit_cast(T, U(bits_of(a) & ~sign)), b = __builtin_bit_cast(T, U(bits_of(b) & ~sign));
  }
  const bool a_nan = a != a, b_nan = b != b;
  const bool a_negative = (bits_of(a) & sign) != 0;
  const bool take_a = IsMax ? (a > b || (a == b && !a_negative)) : (a < b || (a == b && a_negative));
  T r = take_a ? a : b;
  if constexpr (NanWins) {
    r = a_nan || b_nan ? quiet(a) : r;
  } else {
    r = a_nan ? b : b_nan ? a : r;
    r = a_nan && b_nan ? quiet(a) : r;
  }
  if constexpr (XorSign) r = r != r ? r : __builtin_bit_cast(T, U(bits_of(r) ^ flip));
  return r;
}
template <bool IsMax, bool Ftz, bool NanWins, bool XorSign>
struct ExtremeSingle {
  static float apply(float a, float b) { return extreme<IsMax, NanWins, XorSign>(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b)); }
  static float apply(float a, float b, float c) { return apply(apply(a, b), c); }
};
template <bool IsMax>
struct ExtremeDouble {
  static double apply(double a, double b) { return extreme<IsMax, false, false>(a, b); }
};

template <bool IsMax>
Choice extreme_of(const Form& f) {
  const Type t = f.types[0];
  if (t == Type::f64) return {.fn = lanewise2<ExtremeDouble<IsMax>, double, double, double>, .shape = {t, t, t, Type::none}};
  const bool nan = f.has(Modifier::NaN), xorsign = f.has(Modifier::xorsign), three = f.instr->operand_count == 4;
  const auto pick = [&]<bool Ftz, bool NanWins, bool XorSign>() -> Choice {
    using E = ExtremeSingle<IsMax, Ftz, NanWins, XorSign>;
    if constexpr (!XorSign) {
      if (three) return {.fn = lanewise3<E, float, float, float, float>, .shape = {t, t, t, t, Type::none}};
    }
    return {.fn = lanewise2<E, float, float, float>, .shape = {t, t, t, Type::none}};
  };
  const auto with_sign = [&]<bool Ftz, bool NanWins>() {
    return xorsign ? pick.template operator()<Ftz, NanWins, true>() : pick.template operator()<Ftz, NanWins, false>();
  };
  if (xorsign && three) return {};
  if (f.ftz) return nan ? with_sign.template operator()<true, true>() : with_sign.template operator()<true, false>();
  return nan ? with_sign.template operator()<false, true>() : with_sign.template operator()<false, false>();
}

// ---- testp

template <typename T>
bool has_property(T x, Modifier property) {
  constexpr T top = sizeof(T) == 4 ? T(3.402823466e38f) : T(1.7976931348623157e308);
  constexpr T smallest = sizeof(T) == 4 ? T(1.17549435e-38f) : T(2.2250738585072014e-308);
  const T magnitude = x < 0 ? -x : x;
  switch (property) {
    case Modifier::finite:
      return magnitude <= top;
    case Modifier::infinite:
      return magnitude > top;
    case Modifier::number:
      return x == x;
    case Modifier::notanumber:
      return x != x;
    case Modifier::normal:
      return magnitude <= top && magnitude >= smallest;
    default:
      return magnitude < smallest;  // subnormal, zero included
  }
}
template <typename T>
void testp(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<T>>(op.a);
  std::uint32_t mask = 0;
  for (unsigned i = 0; i < warp_size; ++i) mask |= (has_property(take<T>(a[i]), static_cast<Modifier>(op.x)) ? 1u : 0u) << i;
  w.set_predicate(op.d, mask);
}

Choice test_property(const Form& f) {
  const Modifier property =
      f.first_of({Modifier::finite, Modifier::infinite, Modifier::number, Modifier::notanumber, Modifier::normal, Modifier::subnormal});
  if (property == Modifier::first_unknown) return {};
  return {.fn = f.types[0] == Type::f64 ? testp<double> : testp<float>,
          .shape = {Type::pred, f.types[0], Type::none},
          .x = static_cast<std::uint16_t>(property)};
}

Choice sign_operation(const Form& f) {
  const Type t = f.types[0];
  const Shape one{t, t, Type::none};
  const bool neg = f.opcode == Opcode::neg;
  using U64 = std::uint64_t;
  if (t == Type::f64) return {.fn = neg ? lanewise1<NegDouble, U64, U64> : lanewise1<AbsDouble, U64, U64>, .shape = one};
  if (neg) return {.fn = f.ftz ? lanewise1<NegSingle<true>, float, float> : lanewise1<NegSingle<false>, float, float>, .shape = one};
  return {.fn = f.ftz ? lanewise1<AbsSingle<true>, float, float> : lanewise1<AbsSingle<false>, float, float>, .shape = one};
}

}  // namespace

Choice floating_class(const Form& f) {
  const Type t = f.types[0];
  if (t != Type::f32 && t != Type::f64) return {};
  const bool approximate = f.has(Modifier::approx);
  switch (f.opcode) {
    case Opcode::add:
      return arithmetic2<AddCore>(f);
    case Opcode::sub:
      return arithmetic2<SubCore>(f);
    case Opcode::mul:
      return arithmetic2<MulCore>(f);
    case Opcode::fma:
    case Opcode::mad:
      return f.rounding == Rounding::none && f.opcode == Opcode::fma ? Choice{} : arithmetic3<FmaCore>(f);
    case Opcode::div:
      return arithmetic2<DivCore>(f);  // .approx and .full: the exact quotient is within their bounds
    case Opcode::rcp:
      return approximate && t == Type::f64 ? Choice{} : arithmetic1<RcpCore>(f);
    case Opcode::sqrt:
      return arithmetic1<SqrtCore>(f);
    case Opcode::neg:
    case Opcode::abs:
      return sign_operation(f);
    case Opcode::min:
      return extreme_of<false>(f);
    case Opcode::max:
      return extreme_of<true>(f);
    case Opcode::copysign:
      if (t == Type::f64) return {.fn = lanewise2<CopySign64, std::uint64_t, std::uint64_t, std::uint64_t>, .shape = {t, t, t, Type::none}};
      return {.fn = lanewise2<CopySign32, std::uint32_t, std::uint32_t, std::uint32_t>, .shape = {t, t, t, Type::none}};
    case Opcode::testp:
      return test_property(f);
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
