// Integer arithmetic: add sub mul mad div rem abs neg min max sad, 24-bit and extended-precision forms, dot products.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/lanes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

template <typename T>
struct WiderOf;
template <>
struct WiderOf<std::uint8_t> {
  using type = std::uint16_t;
};
template <>
struct WiderOf<std::int8_t> {
  using type = std::int16_t;
};
template <>
struct WiderOf<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct WiderOf<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct WiderOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WiderOf<std::int32_t> {
  using type = std::int64_t;
};
__extension__ using Wide128 = __int128;
__extension__ using UWide128 = unsigned __int128;
template <>
struct WiderOf<std::uint64_t> {
  using type = UWide128;
};
template <>
struct WiderOf<std::int64_t> {
  using type = Wide128;
};
template <typename T>
using Wider = typename WiderOf<T>::type;

template <typename T>
constexpr bool is_signed_v = T(-1) < T(0);
template <typename T>
constexpr T lowest_v = is_signed_v<T> ? T(Unsigned<T>(1) << (8 * sizeof(T) - 1)) : T(0);
template <typename T>
constexpr T highest_v = T(~Unsigned<T>(lowest_v<T>));

// Wraps: arithmetic in the unsigned type, so that nothing is undefined.
template <typename T>
struct Add {
  static T apply(T a, T b) { return T(Unsigned<T>(Unsigned<T>(a) + Unsigned<T>(b))); }
};
template <typename T>
struct Sub {
  static T apply(T a, T b) { return T(Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b))); }
};
template <typename T>
struct AddSat {
  static T apply(T a, T b) {
    const Wider<T> sum = Wider<T>(a) + Wider<T>(b);
    return sum > highest_v<T> ? highest_v<T> : sum < lowest_v<T> ? lowest_v<T> : T(sum);
  }
};
template <typename T>
struct SubSat {
  static T apply(T a, T b) {
    const Wider<T> sum = Wider<T>(a) - Wider<T>(b);
    return sum > highest_v<T> ? highest_v<T> : sum < lowest_v<T> ? lowest_v<T> : T(sum);
  }
};
template <typename T>
struct MulLow {
  static T apply(T a, T b) { return T(std::uint64_t(a) * std::uint64_t(b)); }
};
template <typename T>
struct MulHigh {
  static T apply(T a, T b) { return T((Wider<T>(a) * Wider<T>(b)) >> (8 * sizeof(T))); }
};
template <typename T>
struct MulWide {
  static Wider<T> apply(T a, T b) { return Wider<T>(a) * Wider<T>(b); }
};
template <typename T>
struct MadLow {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulLow<T>::apply(a, b), c); }
};
template <typename T>
struct MadHigh {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulHigh<T>::apply(a, b), c); }
};
template <typename T>
struct MadHighSat {
  static T apply(T a, T b, T c) { return AddSat<T>::apply(MulHigh<T>::apply(a, b), c); }
};
template <typename T>
struct MadWide {
  static Wider<T> apply(T a, T b, Wider<T> c) { return Add<Wider<T>>::apply(MulWide<T>::apply(a, b), c); }
};
// Division by zero gives all ones, as the hardware's expansion does; the remainder is then the dividend.
template <typename T>
struct Div {
  static T apply(T a, T b) {
    if (b == 0) return T(~T(0));
    if constexpr (is_signed_v<T>) {
      if (b == T(-1)) return T(Unsigned<T>(0) - Unsigned<T>(a));
    }
    return T(a / b);
  }
};
template <typename T>
struct Rem {
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return T(a % b);
  }
};
template <typename T>
struct Abs {
  static T apply(T a) { return a < 0 ? T(Unsigned<T>(0) - Unsigned<T>(a)) : a; }
};
template <typename T>
struct Neg {
  static T apply(T a) { return T(Unsigned<T>(0) - Unsigned<T>(a)); }
};
template <typename T>
struct Min {
  static T apply(T a, T b) { return b < a ? b : a; }
};
template <typename T>
struct Max {
  static T apply(T a, T b) { return a < b ? b : a; }
};
template <typename T>
struct MinRelu {
  static T apply(T a, T b) { return Max<T>::apply(Min<T>::apply(a, b), 0); }
};
template <typename T>
struct MaxRelu {
  static T apply(T a, T b) { return Max<T>::apply(Max<T>::apply(a, b), 0); }
};
template <typename T>
struct Sad {
  static T apply(T a, T b, T c) { return T(Unsigned<T>(c) + (a < b ? Unsigned<T>(b) - Unsigned<T>(a) : Unsigned<T>(a) - Unsigned<T>(b))); }
};

// mul24: low 24 bits of the operands (sign- or zero-extended); lo = bits 0…31 of the 48-bit product, hi = bits 16…47.
template <typename T>
inline T low24(T a) {
  return is_signed_v<T> ? T(std::int32_t(std::uint32_t(a) << 8) >> 8) : T(std::uint32_t(a) & 0xffffff);
}
template <typename T>
struct Mul24Low {
  static T apply(T a, T b) { return T(Wider<T>(low24(a)) * Wider<T>(low24(b))); }
};
template <typename T>
struct Mul24High {
  static T apply(T a, T b) { return T((Wider<T>(low24(a)) * Wider<T>(low24(b))) >> 16); }
};
template <typename T>
struct Mad24Low {
  static T apply(T a, T b, T c) { return Add<T>::apply(Mul24Low<T>::apply(a, b), c); }
};
template <typename T>
struct Mad24High {
  static T apply(T a, T b, T c) { return Add<T>::apply(Mul24High<T>::apply(a, b), c); }
};
template <typename T>
struct Mad24HighSat {
  static T apply(T a, T b, T c) { return AddSat<T>::apply(Mul24High<T>::apply(a, b), c); }
};

// Two 16-bit integers in a word.
template <typename F, typename T>
struct Pairwise {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const auto low = static_cast<std::uint16_t>(F::apply(T(a), T(b)));
    const auto high = static_cast<std::uint16_t>(F::apply(T(a >> 16), T(b >> 16)));
    return low | std::uint32_t{high} << 16;
  }
};

// Sum of products of 8-bit parts of a with 8-bit (dp4a) or 16-bit and 8-bit (dp2a) parts.
template <typename A, typename B>
struct Dp4a {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (unsigned k = 0; k < 4; ++k) {
      c += static_cast<std::uint32_t>(std::int32_t{static_cast<A>(a >> (8 * k))} * std::int32_t{static_cast<B>(b >> (8 * k))});
    }
    return c;
  }
};
template <typename A, typename B, unsigned First>
struct Dp2a {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (unsigned k = 0; k < 2; ++k) {
      c += static_cast<std::uint32_t>(std::int32_t{static_cast<A>(a >> (16 * k))} * std::int32_t{static_cast<B>(b >> (8 * (k + First)))});
    }
    return c;
  }
};

template <typename F, typename T>
Choice two(Type t) {
  return {.fn = lanewise2<F, T, T, T>, .shape = {t, t, t, Type::none}};
}
template <typename F, typename T>
Choice three(Type t) {
  return {.fn = lanewise3<F, T, T, T, T>, .shape = {t, t, t, t, Type::none}};
}

Type wider(Type t) {
  switch (t) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    default:
      return Type::none;
  }
}

// ---- extended precision: the carry of each lane is a bit of Warp::carry

enum class CarryKind : std::uint8_t { add, sub, mad_low, mad_high };

template <typename T, CarryKind K, bool In, bool Out>
void with_carry(Warp& w, const Op& op) {
  using U = Unsigned<T>;
  const auto* a = w.at<const Storage<T>>(op.a);
  const auto* b = w.at<const Storage<T>>(op.b);
  const auto* c = op.c.valid() ? w.at<const Storage<T>>(op.c) : b;
  alignas(64) Storage<T> t[warp_size];
  alignas(64) std::uint32_t carries[warp_size];
  const std::uint32_t carry_in = w.carry;
  TESSERA_EACH_LANE(i) {
    U x = static_cast<U>(a[i]), y = static_cast<U>(b[i]);
    if constexpr (K == CarryKind::mad_low) x = U(MulLow<T>::apply(take<T>(a[i]), take<T>(b[i]))), y = static_cast<U>(c[i]);
    if constexpr (K == CarryKind::mad_high) x = U(MulHigh<T>::apply(take<T>(a[i]), take<T>(b[i]))), y = static_cast<U>(c[i]);
    const U in = In ? U((carry_in >> i) & 1u) : U(0);
    bool out = false;
    U result = 0;
    if constexpr (K == CarryKind::sub) {
      result = U(x - y - in);
      out = x < y || (in != 0 && x == y);
    } else {
      result = U(x + y + in);
      out = result < x || (in != 0 && result == x);
    }
    t[i] = give<T>(T(result));
    carries[i] = out ? ~0u : 0u;
  }
  blend(w.at<Storage<T>>(op.d), t, w.exec);
  if constexpr (Out) w.carry = (w.carry & ~w.exec) | (mask_of(carries) & w.exec);
}

template <typename T, CarryKind K>
Handler carry_handler(bool in, bool out) {
  if (in) return out ? with_carry<T, K, true, true> : with_carry<T, K, true, false>;
  return out ? with_carry<T, K, false, true> : with_carry<T, K, false, false>;
}

Choice extended(const Form& f) {
  const Type t = f.types[0];
  const bool out = f.has(Modifier::cc);
  const bool in = f.opcode == Opcode::addc || f.opcode == Opcode::subc || f.opcode == Opcode::madc;
  if (f.sat || (t != Type::u32 && t != Type::s32 && t != Type::u64 && t != Type::s64)) return {};
  return with_int(t, [&]<typename G>(G) -> Choice {
    using T = typename G::type;
    switch (f.opcode) {
      case Opcode::add:
      case Opcode::addc:
        return {.fn = carry_handler<T, CarryKind::add>(in, out), .shape = {t, t, t, Type::none}};
      case Opcode::sub:
      case Opcode::subc:
        return {.fn = carry_handler<T, CarryKind::sub>(in, out), .shape = {t, t, t, Type::none}};
      case Opcode::mad:
      case Opcode::madc: {
        const Shape shape{t, t, t, t, Type::none};
        if (f.has(Modifier::lo)) return {.fn = carry_handler<T, CarryKind::mad_low>(in, out), .shape = shape};
        if (f.has(Modifier::hi)) return {.fn = carry_handler<T, CarryKind::mad_high>(in, out), .shape = shape};
        return {};
      }
      default:
        return {};
    }
  });
}

Choice multiply(const Form& f) {
  const Type t = f.types[0];
  return with_int(t, [&]<typename G>(G) -> Choice {
    using T = typename G::type;
    const bool mad = f.opcode == Opcode::mad;
    if (f.has(Modifier::wide)) {
      if constexpr (sizeof(T) < 8) {
        const Type w = wider(t);
        if (mad) return {.fn = lanewise3<MadWide<T>, Wider<T>, T, T, Wider<T>>, .shape = {w, t, t, w, Type::none}};
        return {.fn = lanewise2<MulWide<T>, Wider<T>, T, T>, .shape = {w, t, t, Type::none}};
      }
      return {};
    }
    if (f.has(Modifier::hi)) {
      if (!mad) return two<MulHigh<T>, T>(t);
      if (!f.sat) return three<MadHigh<T>, T>(t);
      return t == Type::s32 ? three<MadHighSat<std::int32_t>, std::int32_t>(t) : Choice{};
    }
    if (!f.has(Modifier::lo) || f.sat) return {};
    return mad ? three<MadLow<T>, T>(t) : two<MulLow<T>, T>(t);
  });
}

Choice multiply24(const Form& f) {
  const Type t = f.types[0];
  if (t != Type::u32 && t != Type::s32) return {};
  return with_int(t, [&]<typename G>(G) -> Choice {
    using T = typename G::type;
    if constexpr (sizeof(T) == 4) {
      const bool high = f.has(Modifier::hi);
      if (f.opcode == Opcode::mul24) return high ? two<Mul24High<T>, T>(t) : two<Mul24Low<T>, T>(t);
      if (!f.sat) return high ? three<Mad24High<T>, T>(t) : three<Mad24Low<T>, T>(t);
      return high && t == Type::s32 ? three<Mad24HighSat<T>, T>(t) : Choice{};
    }
    return {};
  });
}

template <template <typename> class F>
Choice pairwise(Type t) {
  const Shape shape{Type::b32, Type::b32, Type::b32, Type::none};
  if (t == Type::s16x2)
    return {.fn = lanewise2<Pairwise<F<std::int16_t>, std::int16_t>, std::uint32_t, std::uint32_t, std::uint32_t>, .shape = shape};
  return {.fn = lanewise2<Pairwise<F<std::uint16_t>, std::uint16_t>, std::uint32_t, std::uint32_t, std::uint32_t>, .shape = shape};
}

Choice packed16(const Form& f) {
  const Type t = f.types[0];
  switch (f.opcode) {
    case Opcode::add:
      return f.sat ? Choice{} : pairwise<Add>(t);
    case Opcode::sub:
      return f.sat ? Choice{} : pairwise<Sub>(t);
    case Opcode::min:
      return f.has(Modifier::relu) ? pairwise<MinRelu>(t) : pairwise<Min>(t);
    case Opcode::max:
      return f.has(Modifier::relu) ? pairwise<MaxRelu>(t) : pairwise<Max>(t);
    default:
      return {};
  }
}

template <template <typename, typename> class F>
Handler dot(Type a, Type b) {
  using U = std::uint8_t;
  using S = std::int8_t;
  const auto h = []<typename X>() { return Handler{lanewise3<X, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>}; };
  const bool sa = a == Type::s32, sb = b == Type::s32;
  if (sa) return sb ? h.template operator()<F<S, S>>() : h.template operator()<F<S, U>>();
  return sb ? h.template operator()<F<U, S>>() : h.template operator()<F<U, U>>();
}
template <typename A, typename B, unsigned First>
Handler dp2a_handler() {
  return lanewise3<Dp2a<A, B, First>, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
}

Choice dot_product(const Form& f) {
  if (f.type_count != 2) return {};
  Choice choice{.shape = {Type::b32, Type::b32, Type::b32, Type::b32, Type::none}};
  const bool sa = f.types[0] == Type::s32, sb = f.types[1] == Type::s32;
  if (f.opcode == Opcode::dp4a) {
    choice.fn = dot<Dp4a>(f.types[0], f.types[1]);
    return choice;
  }
  using U = std::uint8_t;
  using S = std::int8_t;
  using U2 = std::uint16_t;
  using S2 = std::int16_t;
  if (f.has(Modifier::hi)) {
    choice.fn =
        sa ? (sb ? dp2a_handler<S2, S, 2>() : dp2a_handler<S2, U, 2>()) : (sb ? dp2a_handler<U2, S, 2>() : dp2a_handler<U2, U, 2>());
  } else {
    choice.fn =
        sa ? (sb ? dp2a_handler<S2, S, 0>() : dp2a_handler<S2, U, 0>()) : (sb ? dp2a_handler<U2, S, 0>() : dp2a_handler<U2, U, 0>());
  }
  return choice;
}

template <typename T>
Choice simple(const Form& f) {
  const Type t = f.types[0];
  switch (f.opcode) {
    case Opcode::add:
      if (f.sat) return t == Type::s32 ? two<AddSat<std::int32_t>, std::int32_t>(t) : Choice{};
      return two<Add<T>, T>(t);
    case Opcode::sub:
      if (f.sat) return t == Type::s32 ? two<SubSat<std::int32_t>, std::int32_t>(t) : Choice{};
      return two<Sub<T>, T>(t);
    case Opcode::div:
      return two<Div<T>, T>(t);
    case Opcode::rem:
      return two<Rem<T>, T>(t);
    case Opcode::min:
      if (f.has(Modifier::relu)) return t == Type::s32 ? two<MinRelu<T>, T>(t) : Choice{};
      return two<Min<T>, T>(t);
    case Opcode::max:
      if (f.has(Modifier::relu)) return t == Type::s32 ? two<MaxRelu<T>, T>(t) : Choice{};
      return two<Max<T>, T>(t);
    case Opcode::sad:
      return three<Sad<T>, T>(t);
    case Opcode::abs:
      return {.fn = lanewise1<Abs<T>, T, T>, .shape = {t, t, Type::none}};
    case Opcode::neg:
      return {.fn = lanewise1<Neg<T>, T, T>, .shape = {t, t, Type::none}};
    default:
      return {};
  }
}

}  // namespace

Choice integer_class(const Form& f) {
  const Type t = f.types[0];
  if (ptx::is_float(t)) return {};
  switch (f.opcode) {
    case Opcode::mul:
      return multiply(f);
    case Opcode::mad:
      return f.has(Modifier::cc) ? extended(f) : multiply(f);
    case Opcode::mul24:
    case Opcode::mad24:
      return multiply24(f);
    case Opcode::addc:
    case Opcode::subc:
    case Opcode::madc:
      return extended(f);
    case Opcode::dp4a:
    case Opcode::dp2a:
      return dot_product(f);
    case Opcode::add:
    case Opcode::sub:
      if (f.has(Modifier::cc)) return extended(f);
      break;
    default:
      break;
  }
  if (t == Type::u16x2 || t == Type::s16x2) return packed16(f);
  return with_int(t, [&]<typename G>(G) { return simple<typename G::type>(f); });
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
