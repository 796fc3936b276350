// cvt: between integers, between floating formats, and from one to the other; every rounding, sat, ftz, relu, satfinite; packed forms.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/narrow.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// Registers may be wider than the types; handlers work on the natural storage of the types, the decoder narrows and extends around them.
template <Handler H, typename D, typename A>
Choice adapted(std::uint16_t y = 0) {
  return {.fn = H, .shape = {sizeof(D) == 8 ? Type::b64 : Type::b32, sizeof(A) == 8 ? Type::b64 : Type::b32, Type::none}, .y = y};
}

// ---- types

template <typename F>
Choice with_any_int(Type t, F&& f) {
  switch (t) {
    case Type::u8:
    case Type::b8:
      return f(Tag<std::uint8_t>{});
    case Type::s8:
      return f(Tag<std::int8_t>{});
    default:
      return with_int(t, f);
  }
}

template <typename T>
constexpr bool is_signed_v = T(-1) < T(0);
template <typename T>
constexpr T lowest_v = is_signed_v<T> ? T(Unsigned<T>(1) << (8 * sizeof(T) - 1)) : T(0);
template <typename T>
constexpr T highest_v = T(~Unsigned<T>(lowest_v<T>));

// ---- integer → integer

template <typename D, typename A, bool Sat>
struct IntToInt {
  static D apply(A a) {
    if constexpr (Sat) {
      if constexpr (is_signed_v<A>) {
        const auto v = static_cast<std::int64_t>(a);
        if constexpr (!is_signed_v<D>) {
          if (v < 0) return 0;
          if constexpr (sizeof(D) < 8) {
            if (v > static_cast<std::int64_t>(highest_v<D>)) return highest_v<D>;
          }
        } else {
          if (v < static_cast<std::int64_t>(lowest_v<D>)) return lowest_v<D>;
          if (v > static_cast<std::int64_t>(highest_v<D>)) return highest_v<D>;
        }
      } else {
        if (static_cast<U64>(a) > static_cast<U64>(highest_v<D>)) return highest_v<D>;
      }
    }
    return static_cast<D>(a);
  }
};

Choice int_to_int(const Form& f, Type d, Type a) {
  return with_any_int(d, [&]<typename GD>(GD) {
    return with_any_int(a, [&]<typename GA>(GA) {
      using D = typename GD::type;
      using A = typename GA::type;
      if (f.sat) return adapted<lanewise1<IntToInt<D, A, true>, D, A>, D, A>();
      return adapted<lanewise1<IntToInt<D, A, false>, D, A>, D, A>();
    });
  });
}

// ---- integer → floating

template <typename D, typename A, bool Sat>
struct IntToFloat {
  static D apply(A a) {
    const D r = static_cast<D>(a);
    if constexpr (Sat) return r > D(0) ? (r < D(1) ? r : D(1)) : D(0);
    return r;
  }
};
// A double that rounds to a narrow format as the integer would: exact, or with the dropped bits collected in a lower one.
template <typename A>
inline double sticky_double(A a) {
  if constexpr (sizeof(A) < 8) return static_cast<double>(a);
  const bool negative = a < A(0);
  U64 m = negative ? U64(0) - U64(a) : U64(a);
  if ((m >> 53) != 0) m = (m & ~U64{0xfff}) | ((m & 0xfff) != 0 ? U64{0x800} : U64{0});
  const auto d = static_cast<double>(m);
  return negative ? -d : d;
}
template <typename A>
void int_to_narrow(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  auto* d = w.at<U32>(op.d);
  const Format& format = (op.y & 0x100u) != 0 ? format_bf16 : format_f16;
  const auto r = static_cast<Rounding>(op.y & 0xffu);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = narrow(format, sticky_double(take<A>(a[i])), r, false); });
}

Choice int_to_float(const Form& f, Type d, Type a) {
  return with_any_int(a, [&]<typename GA>(GA) -> Choice {
    using A = typename GA::type;
    const auto y = static_cast<std::uint16_t>(f.rounding);
    if (d == Type::f16 || d == Type::bf16) {
      if (f.sat) return {};
      return adapted<int_to_narrow<A>, std::uint16_t, A>(static_cast<std::uint16_t>(y | (d == Type::bf16 ? 0x100u : 0u)));
    }
    if (d == Type::f64) {
      if (f.sat) return {};
      return is_directed(f.rounding) ? adapted<directed<lanewise1<IntToFloat<double, A, false>, double, A>>, double, A>(y)
                                     : adapted<lanewise1<IntToFloat<double, A, false>, double, A>, double, A>();
    }
    if (f.sat) return is_directed(f.rounding) ? Choice{} : adapted<lanewise1<IntToFloat<float, A, true>, float, A>, float, A>();
    return is_directed(f.rounding) ? adapted<directed<lanewise1<IntToFloat<float, A, false>, float, A>>, float, A>(y)
                                   : adapted<lanewise1<IntToFloat<float, A, false>, float, A>, float, A>();
  });
}

// ---- floating → integer: clamps to the range of the destination; NaN gives 0, or the top bit where 64 bits are involved

inline double integral(double x, Rounding r) {
  switch (r) {
    case Rounding::rni:
    case Rounding::rn: {
      // Adding and taking away 2^52 rounds to nearest even; beyond it everything is integral.
      const double magic = double_of(0x4330000000000000ull);
      const double m = x < 0 ? -x : x;
      const double rounded_value = (m + magic) - magic;
      const double value = m < magic ? rounded_value : m;
      return double_of(bits_of(value) | (bits_of(x) & (U64{1} << 63)));
    }
    case Rounding::rmi:
    case Rounding::rm:
      return __builtin_floor(x);
    case Rounding::rpi:
    case Rounding::rp:
      return __builtin_ceil(x);
    default:
      return __builtin_trunc(x);
  }
}

inline double to_double(float x, bool ftz) { return static_cast<double>(ftz ? flush(x) : x); }
inline double to_double(double x, bool) { return x; }
template <typename D, bool TopBit>
inline D clamp_to(double x, double r) {
  constexpr double low = static_cast<double>(lowest_v<D>);
  // 2^width: the first that doesn't fit. (The highest value itself isn't a double where D has 64 bits.)
  constexpr double above = is_signed_v<D> ? -low : 2.0 * static_cast<double>(D(1) << (8 * sizeof(D) - 2)) * 2.0;
  const bool nan = x != x;
  const double safe = nan || r >= above || r < low ? 0.0 : r;
  D result = static_cast<D>(safe);
  result = r >= above ? highest_v<D> : result;
  result = r < low ? lowest_v<D> : result;
  return nan ? (TopBit ? D(Unsigned<D>(1) << (8 * sizeof(D) - 1)) : D(0)) : result;
}
template <typename D, typename A, Rounding R, bool Ftz>
struct FloatToInt {
  static D apply(A a) {
    const double x = to_double(a, Ftz);
    return clamp_to < D, sizeof(D) == 8 || sizeof(A) == 8 > (x, integral(x, R));
  }
};
// From f16 and bf16; y = rounding.
template <typename D, typename H>
void half_to_int(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  auto* d = w.at<Storage<D>>(op.d);
  each_lane_of(w.exec, [&](unsigned i) {
    const auto x = static_cast<double>(H::widen(a[i] & 0xffffu));
    d[i] = give<D>(clamp_to<D, sizeof(D) == 8>(x, integral(x, static_cast<Rounding>(op.y))));
  });
}

template <typename D, typename A>
Choice float_to_int_typed(const Form& f) {
  // Flushing shows in the results of the roundings away from zero only.
  switch (f.rounding) {
    case Rounding::rni:
      return adapted<lanewise1<FloatToInt<D, A, Rounding::rni, false>, D, A>, D, A>();
    case Rounding::rzi:
      return adapted<lanewise1<FloatToInt<D, A, Rounding::rzi, false>, D, A>, D, A>();
    case Rounding::rmi:
      if (f.ftz) return adapted<lanewise1<FloatToInt<D, A, Rounding::rmi, true>, D, A>, D, A>();
      return adapted<lanewise1<FloatToInt<D, A, Rounding::rmi, false>, D, A>, D, A>();
    case Rounding::rpi:
      if (f.ftz) return adapted<lanewise1<FloatToInt<D, A, Rounding::rpi, true>, D, A>, D, A>();
      return adapted<lanewise1<FloatToInt<D, A, Rounding::rpi, false>, D, A>, D, A>();
    default:
      return {};
  }
}

// ---- floating → floating

template <bool Ftz, bool Sat>
struct DoubleToSingle {
  static float apply(double a) { return finish<Ftz, Sat>(static_cast<float>(a)); }
};
template <bool Ftz>
struct SingleToDouble {
  static double apply(float a) { return static_cast<double>(maybe_flush<Ftz>(a)); }
};
// f32 → f32: integral rounding (or none), sat, ftz.
template <Rounding R, bool Ftz, bool Sat>
struct SingleToSingle {
  static float apply(float a) {
    a = maybe_flush<Ftz>(a);
    if constexpr (R != Rounding::none) a = static_cast<float>(integral(static_cast<double>(a), R));
    if constexpr (Sat) return saturate(a);
    return R == Rounding::none ? a : canonical(a);
  }
};
template <Rounding R, bool Sat>
struct DoubleToDouble {
  static double apply(double a) {
    if constexpr (R != Rounding::none) a = a != a ? a : integral(a, R);
    if constexpr (Sat) return a > 0.0 ? (a < 1.0 ? a : 1.0) : 0.0;
    return a;
  }
};
template <typename H, bool Ftz, bool Sat>
struct HalfToSingle {
  static float apply(std::uint16_t a) { return finish<Ftz, Sat>(H::widen(a)); }
};
template <typename H>
struct HalfToDouble {
  static double apply(std::uint16_t a) { return static_cast<double>(H::widen(a)); }
};
template <typename H>
struct SingleToHalf {
  static std::uint16_t apply(float a) { return H::narrow(a); }
};

// The general way to a narrow format, from any source. y: rounding | flags.
enum NarrowFlags : std::uint16_t { narrow_sat = 0x100, narrow_relu = 0x200, narrow_finite = 0x400, narrow_ftz = 0x800 };

inline double prepare(double x, unsigned flags) {
  if ((flags & narrow_sat) != 0) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if ((flags & narrow_relu) != 0) x = x < 0 || (x == 0 && (bits_of(x) >> 63) != 0) ? 0.0 : x;
  return x;
}
inline U32 narrow_by(const Format& format, double x, unsigned flags) {
  return narrow(format, prepare(x, flags), static_cast<Rounding>(flags & 0xffu), (flags & narrow_finite) != 0);
}

template <typename A>
inline double source_value(Storage<A> s, unsigned flags) {
  return to_double(take<A>(s), (flags & narrow_ftz) != 0);
}

template <const Format& Target, typename A, unsigned Shift>
void to_narrow(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  auto* d = w.at<U32>(op.d);
  each_lane_of(w.exec, [&](unsigned i) { d[i] = narrow_by(Target, source_value<A>(a[i], op.y), op.y) << Shift; });
}
// f16 and bf16 → the same or the other, with integral rounding where R says so.
template <typename A, const Format& Target>
void half_to_half(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  auto* d = w.at<U32>(op.d);
  const auto r = static_cast<Rounding>(op.y & 0xffu);
  const bool whole = r == Rounding::rni || r == Rounding::rzi || r == Rounding::rmi || r == Rounding::rpi;
  each_lane_of(w.exec, [&](unsigned i) {
    const auto x = static_cast<double>(A::widen(a[i] & 0xffffu));
    d[i] = narrow_by(Target, whole && x == x ? integral(x, r) : x, op.y);
  });
}

std::uint16_t narrow_flags(const Form& f) {
  unsigned flags = static_cast<unsigned>(f.rounding);
  if (f.sat) flags |= narrow_sat;
  if (f.has(Modifier::relu)) flags |= narrow_relu;
  if (f.has(Modifier::satfinite)) flags |= narrow_finite;
  if (f.ftz) flags |= narrow_ftz;
  return static_cast<std::uint16_t>(flags);
}

template <const Format& Target>
Choice narrow_from(const Form& f, Type a) {
  const std::uint16_t flags = narrow_flags(f);
  if (a == Type::f32) return adapted<to_narrow<Target, float, 0>, std::uint16_t, float>(flags);
  if (a == Type::f64) return adapted<to_narrow<Target, double, 0>, std::uint16_t, double>(flags);
  if (a == Type::f16) return adapted<half_to_half<F16, Target>, std::uint16_t, std::uint16_t>(flags);
  if (a == Type::bf16) return adapted<half_to_half<Bf16, Target>, std::uint16_t, std::uint16_t>(flags);
  return {};
}

template <bool Ftz, bool Sat>
Choice single_to_single(const Form& f) {
  switch (f.rounding) {
    case Rounding::none:
    case Rounding::rn:
      return adapted<lanewise1<SingleToSingle<Rounding::none, Ftz, Sat>, float, float>, U32, U32>();
    case Rounding::rni:
      return adapted<lanewise1<SingleToSingle<Rounding::rni, Ftz, Sat>, float, float>, U32, U32>();
    case Rounding::rzi:
      return adapted<lanewise1<SingleToSingle<Rounding::rzi, Ftz, Sat>, float, float>, U32, U32>();
    case Rounding::rmi:
      return adapted<lanewise1<SingleToSingle<Rounding::rmi, Ftz, Sat>, float, float>, U32, U32>();
    case Rounding::rpi:
      return adapted<lanewise1<SingleToSingle<Rounding::rpi, Ftz, Sat>, float, float>, U32, U32>();
    default:
      return {};
  }
}
template <bool Sat>
Choice double_to_double(const Form& f) {
  switch (f.rounding) {
    case Rounding::none:
    case Rounding::rn:
      return adapted<lanewise1<DoubleToDouble<Rounding::none, Sat>, double, double>, U64, U64>();
    case Rounding::rni:
      return adapted<lanewise1<DoubleToDouble<Rounding::rni, Sat>, double, double>, U64, U64>();
    case Rounding::rzi:
      return adapted<lanewise1<DoubleToDouble<Rounding::rzi, Sat>, double, double>, U64, U64>();
    case Rounding::rmi:
      return adapted<lanewise1<DoubleToDouble<Rounding::rmi, Sat>, double, double>, U64, U64>();
    case Rounding::rpi:
      return adapted<lanewise1<DoubleToDouble<Rounding::rpi, Sat>, double, double>, U64, U64>();
    default:
      return {};
  }
}

Choice to_single(const Form& f, Type a) {
  return with_flags(f, [&]<bool Ftz, bool Sat>() -> Choice {
    const auto y = static_cast<std::uint16_t>(f.rounding);
    switch (a) {
      case Type::f32:
        return single_to_single<Ftz, Sat>(f);
      case Type::f16:
        return adapted<lanewise1<HalfToSingle<F16, Ftz, Sat>, float, std::uint16_t>, U32, std::uint16_t>();
      case Type::bf16:
        return adapted<lanewise1<HalfToSingle<Bf16, Ftz, Sat>, float, std::uint16_t>, U32, std::uint16_t>();
      case Type::f64:
        if (is_directed(f.rounding)) return adapted<directed<lanewise1<DoubleToSingle<Ftz, Sat>, float, double>>, U32, U64>(y);
        return adapted<lanewise1<DoubleToSingle<Ftz, Sat>, float, double>, U32, U64>();
      default:
        return {};
    }
  });
}

Choice to_wide_float(const Form& f, Type a) {
  switch (a) {
    case Type::f64:
      return f.sat ? double_to_double<true>(f) : double_to_double<false>(f);
    case Type::f32:
      if (f.sat) return {};
      return f.ftz ? adapted<lanewise1<SingleToDouble<true>, double, float>, U64, U32>()
                   : adapted<lanewise1<SingleToDouble<false>, double, float>, U64, U32>();
    case Type::f16:
      return adapted<lanewise1<HalfToDouble<F16>, double, std::uint16_t>, U64, std::uint16_t>();
    case Type::bf16:
      return adapted<lanewise1<HalfToDouble<Bf16>, double, std::uint16_t>, U64, std::uint16_t>();
    default:
      return {};
  }
}

Choice float_to_float(const Form& f, Type d, Type a) {
  const std::uint16_t flags = narrow_flags(f);
  const bool plain = flags == static_cast<std::uint16_t>(Rounding::rn) && a == Type::f32;
  switch (d) {
    case Type::f32:
      return to_single(f, a);
    case Type::f64:
      return to_wide_float(f, a);
    case Type::f16:
      if (plain) return adapted<lanewise1<SingleToHalf<F16>, std::uint16_t, float>, std::uint16_t, U32>();
      return narrow_from<format_f16>(f, a);
    case Type::bf16:
      if (plain) return adapted<lanewise1<SingleToHalf<Bf16>, std::uint16_t, float>, std::uint16_t, U32>();
      return narrow_from<format_bf16>(f, a);
    case Type::tf32:
      return a == Type::f32 ? adapted<to_narrow<format_tf32, float, 13>, U32, float>(flags) : Choice{};
    default:
      return {};
  }
}

// ---- packed: two sources → one register, a in the upper part; or one packed register → another

template <const Format& Target, unsigned Bits>
void pack_singles(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  const auto* b = w.at<const U32>(op.b);
  auto* d = w.at<U32>(op.d);
  each_lane_of(w.exec, [&](unsigned i) {
    const U32 high = narrow_by(Target, source_value<float>(a[i], op.y), op.y),
              low = narrow_by(Target, source_value<float>(b[i], op.y), op.y);
    d[i] = high << Bits | low;
  });
}
template <typename H>
struct PackPair {
  static U32 apply(float a, float b) { return U32{H::narrow(a)} << 16 | H::narrow(b); }
};
template <const Format& Target, const Format& From, unsigned Bits, unsigned FromBits>
void repack(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  auto* d = w.at<U32>(op.d);
  constexpr U32 part = (1u << FromBits) - 1;
  each_lane_of(w.exec, [&](unsigned i) {
    const U32 high = narrow_by(Target, widen(From, (a[i] >> FromBits) & part), op.y),
              low = narrow_by(Target, widen(From, a[i] & part), op.y);
    d[i] = high << Bits | low;
  });
}

Choice packed(const Form& f, Type d, Type a) {
  const std::uint16_t y = narrow_flags(f);
  const bool plain = y == static_cast<std::uint16_t>(Rounding::rn);
  const Shape two{Type::b32, Type::b32, Type::b32, Type::none}, one{Type::b32, Type::b32, Type::none};
  if (a == Type::f32 && f.instr->operand_count == 3) {
    switch (d) {
      case Type::f16x2:
        return {.fn = plain ? Handler{lanewise2<PackPair<F16>, U32, float, float>} : Handler{pack_singles<format_f16, 16>},
                .shape = two,
                .y = y};
      case Type::bf16x2:
        return {.fn = plain ? Handler{lanewise2<PackPair<Bf16>, U32, float, float>} : Handler{pack_singles<format_bf16, 16>},
                .shape = two,
                .y = y};
      case Type::e4m3x2:
        return {.fn = pack_singles<format_e4m3, 8>, .shape = two, .y = y};
      case Type::e5m2x2:
        return {.fn = pack_singles<format_e5m2, 8>, .shape = two, .y = y};
      default:
        return {};
    }
  }
  if (a == Type::f16x2 && d == Type::e4m3x2) return {.fn = repack<format_e4m3, format_f16, 8, 16>, .shape = one, .y = y};
  if (a == Type::f16x2 && d == Type::e5m2x2) return {.fn = repack<format_e5m2, format_f16, 8, 16>, .shape = one, .y = y};
  if (a == Type::e4m3x2 && d == Type::f16x2) return {.fn = repack<format_f16, format_e4m3, 16, 8>, .shape = one, .y = y};
  if (a == Type::e5m2x2 && d == Type::f16x2) return {.fn = repack<format_f16, format_e5m2, 16, 8>, .shape = one, .y = y};
  return {};
}

Choice float_to_int(const Form& f, Type d, Type a) {
  return with_any_int(d, [&]<typename G>(G) -> Choice {
    using D = typename G::type;
    switch (a) {
      case Type::f32:
        return float_to_int_typed<D, float>(f);
      case Type::f64:
        return float_to_int_typed<D, double>(f);
      case Type::f16:
        return adapted<half_to_int<D, F16>, D, std::uint16_t>(static_cast<std::uint16_t>(f.rounding));
      case Type::bf16:
        return adapted<half_to_int<D, Bf16>, D, std::uint16_t>(static_cast<std::uint16_t>(f.rounding));
      default:
        return {};
    }
  });
}

// cvt.pack.sat.dtype.s32 d, a, b: both saturated; a above b.
template <typename T>
struct PackIntegers {
  static U32 apply(std::int32_t a, std::int32_t b) {
    const auto high = static_cast<Unsigned<T>>(IntToInt<T, std::int32_t, true>::apply(a));
    const auto low = static_cast<Unsigned<T>>(IntToInt<T, std::int32_t, true>::apply(b));
    return U32{high} << (8 * sizeof(T)) | low;
  }
};
// … with c: 8-bit results, the old ones' lower half moves up.
template <typename T>
struct PackIntegersInto {
  static U32 apply(std::int32_t a, std::int32_t b, U32 c) { return PackIntegers<T>::apply(a, b) | c << 16; }
};
Choice pack_integers(const Form& f) {
  using S32 = std::int32_t;
  const Shape two{Type::b32, Type::s32, Type::s32, Type::none}, three{Type::b32, Type::s32, Type::s32, Type::b32, Type::none};
  const bool into = f.instr->operand_count == 4;
  switch (f.types[0]) {
    case Type::u16:
      return into ? Choice{} : Choice{.fn = lanewise2<PackIntegers<std::uint16_t>, U32, S32, S32>, .shape = two};
    case Type::s16:
      return into ? Choice{} : Choice{.fn = lanewise2<PackIntegers<std::int16_t>, U32, S32, S32>, .shape = two};
    case Type::u8:
      return into ? Choice{.fn = lanewise3<PackIntegersInto<std::uint8_t>, U32, S32, S32, U32>, .shape = three} : Choice{};
    case Type::s8:
      return into ? Choice{.fn = lanewise3<PackIntegersInto<std::int8_t>, U32, S32, S32, U32>, .shape = three} : Choice{};
    default:
      return {};
  }
}

bool is_packed(Type t) {
  switch (t) {
    case Type::f16x2:
    case Type::bf16x2:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return true;
    default:
      return false;
  }
}

}  // namespace

Choice convert_class(const Form& f) {
  if (f.opcode != Opcode::cvt || f.type_count < 2) return {};
  const Type d = f.types[0], a = f.types[1];
  if (f.has(Modifier::pack)) return pack_integers(f);
  if (is_packed(d) || is_packed(a)) return packed(f, d, a);
  if (f.has(Modifier::relu) && d != Type::f16 && d != Type::bf16 && d != Type::tf32) return {};
  if (ptx::is_float(d)) return ptx::is_float(a) ? float_to_float(f, d, a) : int_to_float(f, d, a);
  return ptx::is_float(a) ? float_to_int(f, d, a) : int_to_int(f, d, a);
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
