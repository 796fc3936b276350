// Integer and bit instructions against references in C++, over corners and random inputs.
#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

__extension__ using I128 = __int128;

constexpr std::size_t count = 4096;

std::int64_t sign_extend(std::uint64_t v, unsigned bytes) {
  const unsigned shift = 64 - 8 * bytes;
  return static_cast<std::int64_t>(v << shift) >> shift;
}
std::uint64_t cut(std::uint64_t v, unsigned bytes) { return bytes == 8 ? v : v & ((std::uint64_t{1} << (8 * bytes)) - 1); }
I128 as_number(std::uint64_t v, unsigned bytes, bool sign) { return sign ? I128{sign_extend(v, bytes)} : I128{v}; }

struct TypeRow {
  const char* name;
  unsigned bytes;
  bool sign;
};
constexpr TypeRow types[] = {{"u16", 2, false}, {"s16", 2, true}, {"u32", 4, false}, {"s32", 4, true}, {"u64", 8, false}, {"s64", 8, true}};

template <typename F>
void binary(const std::string& op, const TypeRow& t, unsigned d_bytes, F&& f) {
  const Bits a = corners_and_random(t.bytes, count, 1), b = corners_and_random(t.bytes, count, 2);
  const std::string text = op + "." + t.name + " %d, %a, %b;";
  const Bits got = run_instruction(text, {d_bytes, t.bytes, t.bytes}, a, b);
  compare_bits(text, got, a, b, {}, [&](std::uint64_t x, std::uint64_t y, std::uint64_t) {
    return cut(static_cast<std::uint64_t>(f(as_number(x, t.bytes, t.sign), as_number(y, t.bytes, t.sign))), d_bytes);
  });
}

TEST_CASE("integer arithmetic of every width") {
  for (const TypeRow& t : types) {
    const unsigned bits = 8 * t.bytes;
    binary("add", t, t.bytes, [](I128 x, I128 y) { return x + y; });
    binary("sub", t, t.bytes, [](I128 x, I128 y) { return x - y; });
    binary("min", t, t.bytes, [](I128 x, I128 y) { return x < y ? x : y; });
    binary("max", t, t.bytes, [](I128 x, I128 y) { return x > y ? x : y; });
    binary("mul.lo", t, t.bytes,
           [](I128 x, I128 y) { return static_cast<I128>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)); });
    binary("mul.hi", t, t.bytes, [&](I128 x, I128 y) {
      if (t.bytes < 8 || t.sign) return (x * y) >> bits;
      __extension__ using U128 = unsigned __int128;
      return static_cast<I128>((static_cast<U128>(x) * static_cast<U128>(y)) >> 64);
    });
    if (t.bytes < 8) binary("mul.wide", t, 2 * t.bytes, [](I128 x, I128 y) { return x * y; });
    binary("div", t, t.bytes, [](I128 x, I128 y) { return y == 0 ? I128{-1} : x / y; });
    binary("rem", t, t.bytes, [](I128 x, I128 y) { return y == 0 ? x : x % y; });
  }
}

template <typename F>
void ternary(const std::string& text, const Sizes& sizes, F&& f) {
  const Bits a = corners_and_random(sizes.a, count, 3), b = corners_and_random(sizes.b, count, 4),
             c = corners_and_random(sizes.c, count, 5);
  compare_bits(text, run_instruction(text, sizes, a, b, c), a, b, c, f);
}

using U64 = std::uint64_t;
using U32 = std::uint32_t;
using S32 = std::int32_t;

TEST_CASE("multiply-add, sum of differences, dot products") {
  ternary("mad.lo.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) { return U64{static_cast<U32>(x * y + z)}; });
  ternary("mad.hi.u32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) { return U64{static_cast<U32>((x * y >> 32) + z)}; });
  ternary("mad.wide.s32 %d, %a, %b, %c;", {8, 4, 4, 8},
          [](U64 x, U64 y, U64 z) { return static_cast<U64>(std::int64_t{static_cast<S32>(x)} * static_cast<S32>(y)) + z; });
  ternary("mad.lo.s64 %d, %a, %b, %c;", {8, 8, 8, 8}, [](U64 x, U64 y, U64 z) { return x * y + z; });
  ternary("sad.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) {
    const std::int64_t p = static_cast<S32>(x), q = static_cast<S32>(y);
    return U64{static_cast<U32>(z + static_cast<U64>(p < q ? q - p : p - q))};
  });
  ternary("dp4a.s32.u32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) {
    for (unsigned k = 0; k < 4; ++k)
      z += static_cast<U64>(std::int64_t{static_cast<std::int8_t>(x >> (8 * k))} * static_cast<std::uint8_t>(y >> (8 * k)));
    return U64{static_cast<U32>(z)};
  });
  ternary("dp2a.hi.s32.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) {
    for (unsigned k = 0; k < 2; ++k)
      z += static_cast<U64>(std::int64_t{static_cast<std::int16_t>(x >> (16 * k))} * static_cast<std::int8_t>(y >> (16 + 8 * k)));
    return U64{static_cast<U32>(z)};
  });
  ternary("mad24.lo.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) {
    const auto low = [](U64 v) { return std::int64_t{static_cast<S32>(static_cast<U32>(v) << 8) >> 8}; };
    return U64{static_cast<U32>(static_cast<U64>(low(x) * low(y)) + z)};
  });
  ternary("mul24.hi.u32 %d, %a, %b;", {4, 4, 4, 4},
          [](U64 x, U64 y, U64) { return U64{static_cast<U32>(((x & 0xffffff) * (y & 0xffffff)) >> 16)}; });
}

TEST_CASE("saturating sums") {
  const auto clamp = [](std::int64_t v) { return U64{static_cast<U32>(std::clamp<std::int64_t>(v, -0x80000000ll, 0x7fffffffll))}; };
  ternary("add.sat.s32 %d, %a, %b;", {4, 4, 4, 4},
          [&](U64 x, U64 y, U64) { return clamp(std::int64_t{static_cast<S32>(x)} + static_cast<S32>(y)); });
  ternary("sub.sat.s32 %d, %a, %b;", {4, 4, 4, 4},
          [&](U64 x, U64 y, U64) { return clamp(std::int64_t{static_cast<S32>(x)} - static_cast<S32>(y)); });
}

TEST_CASE("carries chain through extended precision") {
  // 128-bit sums and differences of (a, b) and (b, c); the upper word is what the test sees.
  ternary("{ .reg .b64 %lo; add.cc.u64 %lo, %a, %b; addc.u64 %d, %b, %c; }", {8, 8, 8, 8},
          [](U64 x, U64 y, U64 z) { return y + z + (x + y < x ? 1 : 0); });
  ternary("{ .reg .b64 %lo; sub.cc.u64 %lo, %a, %b; subc.u64 %d, %b, %c; }", {8, 8, 8, 8},
          [](U64 x, U64 y, U64 z) { return y - z - (x < y ? 1 : 0); });
  ternary("{ .reg .b32 %lo; mad.lo.cc.u32 %lo, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0; }", {4, 4, 4, 4},
          [](U64 x, U64 y, U64 z) { return U64{static_cast<U32>((x * y + z) >> 32)}; });
}

TEST_CASE("logic and shifts") {
  for (const unsigned bytes : {2u, 4u, 8u}) {
    const std::string t = fmt::format(".b{} %d, %a, %b;", 8 * bytes);
    const U64 ones = cut(~U64{0}, bytes);
    ternary("and" + t, {bytes, bytes, bytes, bytes}, [](U64 x, U64 y, U64) { return x & y; });
    ternary("or" + t, {bytes, bytes, bytes, bytes}, [](U64 x, U64 y, U64) { return x | y; });
    ternary("xor" + t, {bytes, bytes, bytes, bytes}, [](U64 x, U64 y, U64) { return x ^ y; });
    ternary(fmt::format("not.b{} %d, %a;", 8 * bytes), {bytes, bytes, bytes, bytes}, [&](U64 x, U64, U64) { return ~x & ones; });
    ternary(fmt::format("cnot.b{} %d, %a;", 8 * bytes), {bytes, bytes, bytes, bytes}, [](U64 x, U64, U64) { return U64{x == 0}; });
    const unsigned width = 8 * bytes;
    ternary("shl" + t, {bytes, bytes, 4, bytes}, [&](U64 x, U64 n, U64) { return n >= width ? 0 : cut(x << n, bytes); });
    ternary(fmt::format("shr.u{} %d, %a, %b;", width), {bytes, bytes, 4, bytes},
            [&](U64 x, U64 n, U64) { return n >= width ? 0 : x >> n; });
    ternary(fmt::format("shr.s{} %d, %a, %b;", width), {bytes, bytes, 4, bytes},
            [&](U64 x, U64 n, U64) { return cut(static_cast<U64>(sign_extend(x, bytes) >> (n >= width ? 63 : n)), bytes); });
  }
  const auto funnel = [](U64 low, U64 high, U64 n, bool left) {
    const U64 both = high << 32 | low;
    return U64{static_cast<U32>(left ? (both << n) >> 32 : both >> n)};
  };
  ternary("shf.l.wrap.b32 %d, %a, %b, %c;", {4, 4, 4, 4}, [&](U64 x, U64 y, U64 n) { return funnel(x, y, n & 31, true); });
  ternary("shf.r.wrap.b32 %d, %a, %b, %c;", {4, 4, 4, 4}, [&](U64 x, U64 y, U64 n) { return funnel(x, y, n & 31, false); });
  ternary("shf.l.clamp.b32 %d, %a, %b, %c;", {4, 4, 4, 4}, [&](U64 x, U64 y, U64 n) { return funnel(x, y, std::min<U64>(n, 32), true); });
  ternary("shf.r.clamp.b32 %d, %a, %b, %c;", {4, 4, 4, 4}, [&](U64 x, U64 y, U64 n) { return funnel(x, y, std::min<U64>(n, 32), false); });
  for (const unsigned table : {0x00u, 0x80u, 0x96u, 0xe8u, 0xcau, 0x1bu, 0xffu}) {
    ternary(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table), {4, 4, 4, 4}, [&](U64 x, U64 y, U64 z) {
      U64 r = 0;
      for (unsigned i = 0; i < 32; ++i) r |= U64{(table >> (4 * ((x >> i) & 1) + 2 * ((y >> i) & 1) + ((z >> i) & 1))) & 1u} << i;
      return r;
    });
  }
}

// PTX ISA's own definitions, bit by bit.
U64 bfe(U64 a, U64 b, U64 c, unsigned bytes, bool sign) {
  const int msb = static_cast<int>(8 * bytes) - 1, pos = static_cast<int>(b & 0xff), len = static_cast<int>(c & 0xff);
  const bool sbit = sign && len != 0 && ((a >> std::min(pos + len - 1, msb)) & 1) != 0;
  U64 d = 0;
  for (int i = 0; i <= msb; ++i) d |= U64{i < len && pos + i <= msb ? ((a >> (pos + i)) & 1) != 0 : sbit} << i;
  return d;
}
U64 bfi(U64 from, U64 into, U64 c, U64 d, unsigned bytes) {
  const int msb = static_cast<int>(8 * bytes) - 1, pos = static_cast<int>(c & 0xff), len = static_cast<int>(d & 0xff);
  for (int i = 0; i < len && pos + i <= msb; ++i) into = (into & ~(U64{1} << (pos + i))) | ((from >> i) & 1) << (pos + i);
  return into;
}

TEST_CASE("bit fields") {
  ternary("bfe.u32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) { return bfe(x, y, z, 4, false); });
  ternary("bfe.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) { return bfe(x, y, z, 4, true); });
  ternary("bfe.u64 %d, %a, %b, %c;", {8, 8, 4, 4}, [](U64 x, U64 y, U64 z) { return bfe(x, y, z, 8, false); });
  ternary("bfe.s64 %d, %a, %b, %c;", {8, 8, 4, 4}, [](U64 x, U64 y, U64 z) { return bfe(x, y, z, 8, true); });
  for (const unsigned pos : {0u, 5u, 31u, 40u}) {
    for (const unsigned len : {0u, 1u, 8u, 32u, 200u}) {
      ternary(fmt::format("bfi.b32 %d, %a, %b, {}, {};", pos, len), {4, 4, 4, 4},
              [&](U64 x, U64 y, U64) { return bfi(x, y, pos, len, 4); });
      ternary(fmt::format("bfi.b64 %d, %a, %b, {}, {};", pos, len), {8, 8, 8, 4},
              [&](U64 x, U64 y, U64) { return bfi(x, y, pos, len, 8); });
    }
  }
  ternary("popc.b64 %d, %a;", {4, 8, 4, 4}, [](U64 x, U64, U64) { return static_cast<U64>(__builtin_popcountll(x)); });
  ternary("clz.b32 %d, %a;", {4, 4, 4, 4},
          [](U64 x, U64, U64) { return x == 0 ? U64{32} : static_cast<U64>(__builtin_clz(static_cast<U32>(x))); });
  ternary("clz.b64 %d, %a;", {4, 8, 4, 4}, [](U64 x, U64, U64) { return x == 0 ? U64{64} : static_cast<U64>(__builtin_clzll(x)); });
  ternary("brev.b32 %d, %a;", {4, 4, 4, 4}, [](U64 x, U64, U64) {
    U64 r = 0;
    for (unsigned i = 0; i < 32; ++i) r |= ((x >> i) & 1) << (31 - i);
    return r;
  });
  ternary("brev.b64 %d, %a;", {8, 8, 4, 4}, [](U64 x, U64, U64) {
    U64 r = 0;
    for (unsigned i = 0; i < 64; ++i) r |= ((x >> i) & 1) << (63 - i);
    return r;
  });
  const auto bfind = [](U64 v, unsigned bytes, bool sign, bool shift) -> U64 {
    const int msb = static_cast<int>(8 * bytes) - 1;
    if (sign && ((v >> msb) & 1) != 0) v = cut(~v, bytes);
    for (int i = msb; i >= 0; --i) {
      if (((v >> i) & 1) != 0) return static_cast<U64>(shift ? msb - i : i);
    }
    return 0xffffffffu;
  };
  ternary("bfind.u32 %d, %a;", {4, 4, 4, 4}, [&](U64 x, U64, U64) { return bfind(x, 4, false, false); });
  ternary("bfind.s32 %d, %a;", {4, 4, 4, 4}, [&](U64 x, U64, U64) { return bfind(x, 4, true, false); });
  ternary("bfind.shiftamt.s64 %d, %a;", {4, 8, 4, 4}, [&](U64 x, U64, U64) { return bfind(x, 8, true, true); });
  ternary("bmsk.clamp.b32 %d, %a, %b;", {4, 4, 4, 4}, [](U64 x, U64 y, U64) {
    U64 r = 0;
    for (U64 i = x; i < 32 && i - x < y; ++i) r |= U64{1} << i;
    return r;
  });
}

TEST_CASE("byte permutation") {
  ternary("prmt.b32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 c) {
    U64 r = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned nibble = (c >> (4 * k)) & 15;
      U64 byte = ((y << 32 | x) >> (8 * (nibble & 7))) & 0xff;
      if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      r |= byte << (8 * k);
    }
    return r;
  });
  ternary("prmt.b32.b4e %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 c) {
    U64 r = 0;
    for (unsigned k = 0; k < 4; ++k) r |= (((y << 32 | x) >> (8 * (((c & 3) + 8 - k) & 7))) & 0xff) << (8 * k);
    return r;
  });
}

TEST_CASE("comparison, selection and boolean combination") {
  struct Row {
    const char* name;
    bool (*holds)(I128, I128);
  };
  const Row rows[] = {{"eq", [](I128 x, I128 y) { return x == y; }}, {"ne", [](I128 x, I128 y) { return x != y; }},
                      {"lt", [](I128 x, I128 y) { return x < y; }},  {"le", [](I128 x, I128 y) { return x <= y; }},
                      {"gt", [](I128 x, I128 y) { return x > y; }},  {"ge", [](I128 x, I128 y) { return x >= y; }}};
  for (const TypeRow& t : types) {
    for (const Row& row : rows) {
      ternary(
          fmt::format("setp.{}.{} %p|%q, %a, %b; selp.u32 %s0, 1, 0, %p; selp.u32 %s1, 2, 0, %q; or.b32 %d, %s0, %s1;", row.name, t.name),
          {4, t.bytes, t.bytes, 4},
          [&](U64 x, U64 y, U64) { return row.holds(as_number(x, t.bytes, t.sign), as_number(y, t.bytes, t.sign)) ? U64{1} : U64{2}; });
    }
  }
  ternary("setp.ne.u32 %q, %c, 0; setp.lt.and.s32 %p, %a, %b, !%q; selp.u32 %d, 1, 0, %p;", {4, 4, 4, 4},
          [](U64 x, U64 y, U64 z) { return U64{static_cast<S32>(x) < static_cast<S32>(y) && z == 0}; });
  ternary("set.gt.u32.s32 %d, %a, %b;", {4, 4, 4, 4},
          [](U64 x, U64 y, U64) { return static_cast<S32>(x) > static_cast<S32>(y) ? U64{0xffffffffu} : U64{0}; });
  ternary("slct.b32.s32 %d, %a, %b, %c;", {4, 4, 4, 4}, [](U64 x, U64 y, U64 z) { return static_cast<S32>(z) >= 0 ? x : y; });
}

}  // namespace
}  // namespace tessera::simgpu
