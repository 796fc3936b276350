// Logic, shifts and bit fields: and or xor not cnot lop3 shl shr shf popc clz bfind brev bfe bfi bmsk szext prmt fns.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/lanes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;
using U32 = std::uint32_t;

template <typename T>
struct And {
  static T apply(T a, T b) { return T(a & b); }
};
template <typename T>
struct Or {
  static T apply(T a, T b) { return T(a | b); }
};
template <typename T>
struct Xor {
  static T apply(T a, T b) { return T(a ^ b); }
};
template <typename T>
struct Not {
  static T apply(T a) { return T(~a); }
};
template <typename T>
struct Cnot {
  static T apply(T a) { return a == 0 ? T(1) : T(0); }
};

// Shift amounts at and above the width give 0, or the sign.
template <typename T>
struct ShiftLeft {
  static T apply(T a, U32 n) { return n >= 8 * sizeof(T) ? T(0) : T(a << (n & (8 * sizeof(T) - 1))); }
};
template <typename T>
struct ShiftRight {
  static T apply(T a, U32 n) {
    constexpr U32 width = 8 * sizeof(T);
    if constexpr (T(-1) < T(0)) return T(a >> (n >= width ? width - 1 : n));
    return n >= width ? T(0) : T(a >> (n & (width - 1)));
  }
};

template <bool Left, bool Wrap>
struct Funnel {
  static U32 apply(U32 low, U32 high, U32 n) {
    n = Wrap ? n & 31u : (n > 32u ? 32u : n);
    const std::uint64_t both = std::uint64_t{high} << 32 | low;
    return Left ? static_cast<U32>((both << n) >> 32) : static_cast<U32>(both >> n);
  }
};

template <typename T>
struct PopCount {
  static U32 apply(T a) { return static_cast<U32>(__builtin_popcountll(Unsigned<T>(a))); }
};
template <typename T>
struct LeadingZeros {
  static U32 apply(T a) {
    if constexpr (sizeof(T) == 8) return a == 0 ? 64u : static_cast<U32>(__builtin_clzll(a));
    return a == 0 ? 32u : static_cast<U32>(__builtin_clz(static_cast<U32>(a)));
  }
};
template <typename T, bool ShiftAmount>
struct FindMsb {
  static U32 apply(T a) {
    constexpr U32 top = 8 * sizeof(T) - 1;
    if constexpr (T(-1) < T(0)) a = a < 0 ? T(~a) : a;
    if (a == 0) return ~0u;
    const U32 zeros = LeadingZeros<Unsigned<T>>::apply(Unsigned<T>(a));
    return ShiftAmount ? zeros : top - zeros;
  }
};
template <typename T>
struct Reverse {
  static T apply(T a) {
    T r = a;
    if constexpr (sizeof(T) == 8) {
      r = __builtin_bswap64(r);
      r = T((r >> 4) & 0x0f0f0f0f0f0f0f0full) | T((r & 0x0f0f0f0f0f0f0f0full) << 4);
      r = T((r >> 2) & 0x3333333333333333ull) | T((r & 0x3333333333333333ull) << 2);
      return T((r >> 1) & 0x5555555555555555ull) | T((r & 0x5555555555555555ull) << 1);
    } else {
      r = __builtin_bswap32(r);
      r = T((r >> 4) & 0x0f0f0f0fu) | T((r & 0x0f0f0f0fu) << 4);
      r = T((r >> 2) & 0x33333333u) | T((r & 0x33333333u) << 2);
      return T((r >> 1) & 0x55555555u) | T((r & 0x55555555u) << 1);
    }
  }
};

// Field of `length` bits from `position` (both taken modulo 256); bits beyond the top are the sign, or zero.
template <typename T>
struct ExtractField {
  static T apply(T a, U32 position, U32 length) {
    constexpr U32 width = 8 * sizeof(T);
    constexpr U32 msb = width - 1;
    const U32 pos = position & 0xff, len = length & 0xff;
    using U = Unsigned<T>;
    const U32 last = pos + len - 1 > msb ? msb : pos + len - 1;
    const bool sign = (T(-1) < T(0)) && len != 0 && ((U(a) >> last) & 1u) != 0;
    const U field = pos > msb ? U(0) : U(U(a) >> pos);
    const U keep = len >= width ? U(~U(0)) : U((U(1) << len) - 1);
    // Beyond the top of a, the sign comes in; it also fills everything above the field.
    const U32 inside = pos > msb ? 0 : (msb - pos + 1 < len ? msb - pos + 1 : len);
    const U inside_mask = inside >= width ? U(~U(0)) : U((U(1) << inside) - 1);
    const U value = U(field & keep & inside_mask);
    return T(sign ? U(value | U(~inside_mask)) : value);
  }
};
template <typename T>
struct InsertField {
  static T apply(T from, T into, U32 position, U32 length) {
    constexpr U32 width = 8 * sizeof(T);
    const U32 pos = position & 0xff, len = length & 0xff;
    if (pos >= width || len == 0) return into;
    const T ones = len >= width ? T(~T(0)) : T((T(1) << len) - 1);
    const T mask = T(ones << pos);
    return T((into & T(~mask)) | (T(from << pos) & mask));
  }
};

template <bool Wrap>
struct BitMask {
  static U32 apply(U32 position, U32 width) {
    if (Wrap) position &= 31u, width &= 31u;
    if (position >= 32 || width == 0) return 0;
    const U32 ones = width >= 32 ? ~0u : (1u << width) - 1;
    return ones << position;
  }
};
template <typename T, bool Wrap>
struct Extend {
  static T apply(T a, U32 width) {
    if (Wrap) width &= 31u;
    if (width >= 32) return a;
    if (width == 0) return 0;
    return T(T(U32(a) << (32 - width)) >> (32 - width));
  }
};

enum class PermuteMode : std::uint8_t { generic, f4e, b4e, rc8, ecl, ecr, rc16 };

inline U32 permute_selector(PermuteMode mode, U32 c) {
  static constexpr U32 table[5][4] = {{0x3210, 0x4321, 0x5432, 0x6543},   // f4e
                                      {0x5670, 0x6701, 0x7012, 0x0123},   // b4e
                                      {0x0000, 0x1111, 0x2222, 0x3333},   // rc8
                                      {0x3210, 0x3211, 0x3222, 0x3333},   // ecl
                                      {0x0000, 0x1110, 0x2210, 0x3210}};  // ecr
  if (mode == PermuteMode::rc16) return (c & 1u) != 0 ? 0x3232 : 0x1010;
  return table[static_cast<unsigned>(mode) - 1][c & 3u];
}

template <PermuteMode M>
struct Permute {
  static U32 apply(U32 a, U32 b, U32 c) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    const U32 selector = M == PermuteMode::generic ? c : permute_selector(M, c);
    U32 result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const U32 nibble = (selector >> (4 * k)) & 0xfu;
      U32 byte = static_cast<U32>(bytes >> (8 * (nibble & 7u))) & 0xffu;
      if ((nibble & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
      result |= byte << (8 * k);
    }
    return result;
  }
};

// Any function of three bits, as a sum of its minterms; the usual ones have their own loop.
void lop3_any(Warp& w, const Op& op) {
  const auto* a = w.at<const U32>(op.a);
  const auto* b = w.at<const U32>(op.b);
  const auto* c = w.at<const U32>(op.c);
  U32 minterm[8];
  for (unsigned k = 0; k < 8; ++k) minterm[k] = ((op.imm >> k) & 1u) != 0 ? ~0u : 0u;
  alignas(64) U32 t[warp_size];
  TESSERA_EACH_LANE(i) {
    const U32 c0 = (minterm[0] & ~c[i]) | (minterm[1] & c[i]), c1 = (minterm[2] & ~c[i]) | (minterm[3] & c[i]);
    const U32 c2 = (minterm[4] & ~c[i]) | (minterm[5] & c[i]), c3 = (minterm[6] & ~c[i]) | (minterm[7] & c[i]);
    const U32 b0 = (c0 & ~b[i]) | (c1 & b[i]), b1 = (c2 & ~b[i]) | (c3 & b[i]);
    t[i] = (b0 & ~a[i]) | (b1 & a[i]);
  }
  blend(w.at<U32>(op.d), t, w.exec);
  if (op.e.valid()) {  // d|p: whether the result is nonzero, combined with q
    U32 nonzero = 0;
    for (unsigned i = 0; i < warp_size; ++i) nonzero |= (t[i] != 0 ? 1u : 0u) << i;
    const U32 q = w.predicate(op.f);
    w.set_predicate(op.e, op.x == 0 ? (nonzero | q) : (nonzero & q));
  }
}

// Position of the n-th set bit from a base, upwards or downwards; ~0 when there is none.
struct FindNthSet {
  static U32 apply(U32 mask, U32 base, std::int32_t offset) {
    if (offset == 0) return base < 32 && ((mask >> base) & 1u) != 0 ? base : ~0u;
    int pos = static_cast<int>(base);
    const int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (; pos >= 0 && pos < 32; pos += step) {
      if (((mask >> pos) & 1u) != 0 && --left == 0) return static_cast<U32>(pos);
    }
    return ~0u;
  }
};

// ---- predicates are lane masks

enum class MaskOp : std::uint8_t { and_, or_, xor_ };
template <MaskOp O>
void logic_predicate(Warp& w, const Op& op) {
  const U32 a = w.predicate(op.a), b = w.predicate(op.b);
  w.set_predicate(op.d, O == MaskOp::and_ ? a & b : O == MaskOp::or_ ? a | b : a ^ b);
}
void not_predicate(Warp& w, const Op& op) { w.set_predicate(op.d, ~w.predicate(op.a)); }

Choice on_predicates(const Form& f) {
  const Shape two{Type::pred, Type::pred, Type::pred, Type::none};
  switch (f.opcode) {
    case Opcode::and_:
      return {.fn = logic_predicate<MaskOp::and_>, .shape = two};
    case Opcode::or_:
      return {.fn = logic_predicate<MaskOp::or_>, .shape = two};
    case Opcode::xor_:
      return {.fn = logic_predicate<MaskOp::xor_>, .shape = two};
    case Opcode::not_:
      return {.fn = not_predicate, .shape = {Type::pred, Type::pred, Type::none}};
    default:
      return {};
  }
}

Choice permute(const Form& f) {
  const Shape shape{Type::b32, Type::b32, Type::b32, Type::b32, Type::none};
  const auto h = []<PermuteMode M>() { return Handler{lanewise3<Permute<M>, U32, U32, U32, U32>}; };
  switch (f.first_of({Modifier::f4e, Modifier::b4e, Modifier::rc8, Modifier::ecl, Modifier::ecr, Modifier::rc16})) {
    case Modifier::f4e:
      return {.fn = h.template operator()<PermuteMode::f4e>(), .shape = shape};
    case Modifier::b4e:
      return {.fn = h.template operator()<PermuteMode::b4e>(), .shape = shape};
    case Modifier::rc8:
      return {.fn = h.template operator()<PermuteMode::rc8>(), .shape = shape};
    case Modifier::ecl:
      return {.fn = h.template operator()<PermuteMode::ecl>(), .shape = shape};
    case Modifier::ecr:
      return {.fn = h.template operator()<PermuteMode::ecr>(), .shape = shape};
    case Modifier::rc16:
      return {.fn = h.template operator()<PermuteMode::rc16>(), .shape = shape};
    default:
      return {.fn = h.template operator()<PermuteMode::generic>(), .shape = shape};
  }
}

Choice funnel(const Form& f) {
  const Shape shape{Type::b32, Type::b32, Type::b32, Type::b32, Type::none};
  const bool left = f.has(Modifier::l), wrap = f.has(Modifier::wrap);
  if (left)
    return {.fn = wrap ? lanewise3<Funnel<true, true>, U32, U32, U32, U32> : lanewise3<Funnel<true, false>, U32, U32, U32, U32>,
            .shape = shape};
  return {.fn = wrap ? lanewise3<Funnel<false, true>, U32, U32, U32, U32> : lanewise3<Funnel<false, false>, U32, U32, U32, U32>,
          .shape = shape};
}

template <typename T>
Choice typed(const Form& f) {
  using U = Unsigned<T>;
  const Type t = f.types[0];
  const Shape two{t, t, t, Type::none}, one{t, t, Type::none}, shift{t, t, Type::u32, Type::none}, count{Type::u32, t, Type::none};
  switch (f.opcode) {
    case Opcode::and_:
      return {.fn = lanewise2<And<U>, U, U, U>, .shape = two};
    case Opcode::or_:
      return {.fn = lanewise2<Or<U>, U, U, U>, .shape = two};
    case Opcode::xor_:
      return {.fn = lanewise2<Xor<U>, U, U, U>, .shape = two};
    case Opcode::not_:
      return {.fn = lanewise1<Not<U>, U, U>, .shape = one};
    case Opcode::cnot:
      return {.fn = lanewise1<Cnot<U>, U, U>, .shape = one};
    case Opcode::shl:
      return {.fn = lanewise2<ShiftLeft<U>, U, U, U32>, .shape = shift};
    case Opcode::shr:
      return {.fn = lanewise2<ShiftRight<T>, T, T, U32>, .shape = shift};
    default:
      break;
  }
  if constexpr (sizeof(T) >= 4) {
    const Shape field{t, t, Type::u32, Type::u32, Type::none};
    switch (f.opcode) {
      case Opcode::popc:
        return {.fn = lanewise1<PopCount<U>, U32, U>, .shape = count};
      case Opcode::clz:
        return {.fn = lanewise1<LeadingZeros<U>, U32, U>, .shape = count};
      case Opcode::bfind:
        if (f.has(Modifier::shiftamt)) return {.fn = lanewise1<FindMsb<T, true>, U32, T>, .shape = count};
        return {.fn = lanewise1<FindMsb<T, false>, U32, T>, .shape = count};
      case Opcode::brev:
        return {.fn = lanewise1<Reverse<U>, U, U>, .shape = one};
      case Opcode::bfe:
        return {.fn = lanewise3<ExtractField<T>, T, T, U32, U32>, .shape = field};
      case Opcode::bfi:
        return {.fn = lanewise4<InsertField<U>, U, U, U, U32, U32>, .shape = {t, t, t, Type::u32, Type::u32, Type::none}};
      default:
        break;
    }
  }
  if constexpr (sizeof(T) == 4) {
    if (f.opcode == Opcode::szext) {
      if (f.has(Modifier::wrap)) return {.fn = lanewise2<Extend<T, true>, T, T, U32>, .shape = shift};
      return {.fn = lanewise2<Extend<T, false>, T, T, U32>, .shape = shift};
    }
  }
  return {};
}

}  // namespace

Choice bits_class(const Form& f) {
  const Type t = f.types[0];
  const Shape words{Type::b32, Type::b32, Type::b32, Type::none};
  if (t == Type::pred) return on_predicates(f);
  switch (f.opcode) {
    case Opcode::lop3:
      return {.fn = lop3_any,
              .shape = {Type::b32, Type::b32, Type::b32, Type::b32, Type::none},
              .x = f.has(Modifier::and_) ? std::uint16_t{1} : std::uint16_t{0}};
    case Opcode::prmt:
      return permute(f);
    case Opcode::shf:
      return funnel(f);
    case Opcode::fns:
      return {.fn = lanewise3<FindNthSet, U32, U32, U32, std::int32_t>, .shape = {Type::b32, Type::b32, Type::b32, Type::s32, Type::none}};
    case Opcode::bmsk:
      return {.fn = f.has(Modifier::wrap) ? lanewise2<BitMask<true>, U32, U32, U32> : lanewise2<BitMask<false>, U32, U32, U32>,
              .shape = words};
    default:
      break;
  }
  return with_int(t, [&]<typename G>(G) { return typed<typename G::type>(f); });
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
