// 16-bit and 8-bit formats: exhaustive over one operand, against references in __float128.
#include <cmath>

#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;
__extension__ using Quad = __float128;

struct Format {
  const char* name;
  int mantissa, bias;
  U32 infinity, nan;
};
constexpr Format f16{"f16", 10, 15, 0x7c00, 0x7fff};
constexpr Format bf16{"bf16", 7, 127, 0x7f80, 0x7fff};

Quad power(int e) {
  Quad p = 1;
  for (; e > 0; --e) p *= 2;
  for (; e < 0; ++e) p /= 2;
  return p;
}

bool is_nan(const Format& f, U64 h) { return (h & 0x7fff) > f.infinity; }

Quad value(const Format& f, U64 h) {
  const int exponent = static_cast<int>((h & 0x7fff) >> f.mantissa);
  const U64 fraction = h & ((U64{1} << f.mantissa) - 1);
  const Quad magnitude = exponent == 0 ? static_cast<Quad>(fraction) * power(1 - f.bias - f.mantissa)
                                       : static_cast<Quad>(fraction | U64{1} << f.mantissa) * power(exponent - f.bias - f.mantissa);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

// Nearest even, by search: the reference shares nothing with the code under test.
U64 round_to(const Format& f, Quad x) {
  const Quad m = x < 0 ? -x : x;
  U64 low = 0, high = f.infinity;  // value(infinity) as if the exponent went on: what rounds up to it overflows
  while (high - low > 1) {
    const U64 middle = (low + high) / 2;
    (value(f, middle) <= m ? low : high) = middle;
  }
  const Quad below = value(f, low), above = value(f, high);
  const Quad to_low = m - below, to_high = above - m;
  const U64 r = to_low < to_high ? low : to_high < to_low ? high : (low & 1) == 0 ? low : high;
  return x < 0 ? r | 0x8000 : r;
}

template <typename F>
void check_binary(const Format& f, const char* op, F&& exact) {
  Bits a, b;
  std::mt19937_64 random(81);
  for (U64 h = 0; h < 0x10000; h += 1) {
    a.push_back(h);
    b.push_back(random() % 4 == 0 ? (h ^ (random() % 64)) & 0xffff : random() & 0xffff);
  }
  const std::string text = fmt::format("{}.rn.{} %d, %a, %b;", op, f.name);
  compare_bits(text, run_instruction(text, {2, 2, 2}, a, b), a, b, {}, [&](U64 x, U64 y, U64) -> U64 {
    if (is_nan(f, x) || is_nan(f, y)) return f.nan;
    if ((x & 0x7fff) == f.infinity || (y & 0x7fff) == f.infinity) {
      const double r = exact(static_cast<double>((x & 0x7fff) == f.infinity ? INFINITY : 0) * ((x & 0x8000) != 0 ? -1 : 1) +
                                 ((x & 0x7fff) == f.infinity ? 0.0 : static_cast<double>(value(f, x))),
                             static_cast<double>((y & 0x7fff) == f.infinity ? INFINITY : 0) * ((y & 0x8000) != 0 ? -1 : 1) +
                                 ((y & 0x7fff) == f.infinity ? 0.0 : static_cast<double>(value(f, y))));
      return std::isnan(r) ? f.nan : r > 0 ? f.infinity : f.infinity | 0x8000u;
    }
    const Quad r = exact(value(f, x), value(f, y));
    if (r != 0) return round_to(f, r);
    const double zero = exact(std::copysign(static_cast<double>(value(f, x)), (x & 0x8000) != 0 ? -1.0 : 1.0),
                              std::copysign(static_cast<double>(value(f, y)), (y & 0x8000) != 0 ? -1.0 : 1.0));
    return std::signbit(zero) ? 0x8000u : 0u;
  });
}

TEST_CASE("f16 and bf16 sums and products are rounded once") {
  for (const Format& f : {f16, bf16}) {
    check_binary(f, "add", [](auto x, auto y) { return x + y; });
    check_binary(f, "sub", [](auto x, auto y) { return x - y; });
    check_binary(f, "mul", [](auto x, auto y) { return x * y; });
  }
}

TEST_CASE("f16 and bf16 fused multiply-adds are rounded once") {
  for (const Format& f : {f16, bf16}) {
    Bits a, b, c;
    std::mt19937_64 random(82);
    for (int i = 0; i < 60000; ++i) {
      // Finite values; sums that cancel or sit on a tie are frequent.
      const auto finite = [&] { return (random() & 0x8000) | random() % f.infinity; };
      a.push_back(finite());
      b.push_back(finite());
      Quad p = value(f, a.back()) * value(f, b.back());
      c.push_back(random() % 2 == 0 ? finite() : (round_to(f, -p) + random() % 3) & 0xffff);
      if (is_nan(f, c.back()) || (c.back() & 0x7fff) == f.infinity) c.back() = 1;
    }
    const std::string text = fmt::format("fma.rn.{} %d, %a, %b, %c;", f.name);
    compare_bits(text, run_instruction(text, {2, 2, 2, 2}, a, b, c), a, b, c, [&](U64 x, U64 y, U64 z) -> U64 {
      // The sum may need more than the 113 bits of the reference: what is lost decides ties.
      const Quad p = value(f, x) * value(f, y), addend = value(f, z);
      Quad r = p + addend;
      const Quad back = r - p, lost = (p - (r - back)) + (addend - back);
      if (lost != 0 && (r == p || r == addend)) r += (lost > 0 ? 1 : -1) * (r < 0 ? -r : r) * power(-112);
      if (r != 0) return round_to(f, r);
      const double zero = std::copysign(0.0, ((x ^ y) & 0x8000) != 0 ? -1.0 : 1.0) + std::copysign(0.0, (z & 0x8000) != 0 ? -1.0 : 1.0);
      return std::signbit(zero) ? 0x8000u : 0u;
    });
  }
}

TEST_CASE("pairs are two halves") {
  const Bits a = corners_and_random(4, 8192, 83), b = corners_and_random(4, 8192, 84);
  for (const char* op : {"add.rn", "mul.rn", "min", "max"}) {
    const Bits pair = run_instruction(fmt::format("{}.f16x2 %d, %a, %b;", op), {4, 4, 4}, a, b);
    const auto half = [&](unsigned shift) {
      Bits x, y;
      for (std::size_t i = 0; i < a.size(); ++i) x.push_back((a[i] >> shift) & 0xffff), y.push_back((b[i] >> shift) & 0xffff);
      return run_instruction(fmt::format("{}.f16 %d, %a, %b;", op), {2, 2, 2}, x, y);
    };
    const Bits low = half(0), high = half(16);
    unsigned wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i) wrong += pair[i] != (low[i] | high[i] << 16);
    INFO(op);
    CHECK(wrong == 0);
  }
}

TEST_CASE("widening a half is exact, and narrowing gives it back: exhaustive") {
  Bits all;
  for (U64 h = 0; h < 0x10000; ++h) all.push_back(h);
  for (const Format& f : {f16, bf16}) {
    const Bits wide = run_instruction(fmt::format("cvt.f32.{} %d, %a;", f.name), {4, 2}, all);
    for (U64 h = 0; h < 0x10000; ++h) {
      float x;
      const auto w = static_cast<U32>(wide[h]);
      std::memcpy(&x, &w, 4);
      if (is_nan(f, h))
        REQUIRE(std::isnan(x));
      else if ((h & 0x7fff) == f.infinity)
        REQUIRE((std::isinf(x) && std::signbit(x) == ((h & 0x8000) != 0)));
      else
        REQUIRE((static_cast<Quad>(x) == value(f, h) && std::signbit(x) == ((h & 0x8000) != 0)));
    }
    const Bits back = run_instruction(fmt::format("cvt.rn.{}.f32 %d, %a;", f.name), {2, 4}, wide);
    for (U64 h = 0; h < 0x10000; ++h) REQUIRE(back[h] == (is_nan(f, h) ? U64{f.nan} : h));
  }
}

TEST_CASE("narrowing f32 rounds to nearest even") {
  Bits a;
  std::mt19937_64 random(85);
  for (int i = 0; i < 100000; ++i) {
    U64 v = random() & 0xffffffffu;
    if (i % 2 == 0) v = (v & 0xffff8000u) | (random() % 3 == 0 ? 0x1000u : 0u);  // ties, for both formats
    if (i % 4 == 1) v = (v & 0x807fffffu) | (U64{96 + random() % 50} << 23);     // the range of f16, subnormals included
    if ((v & 0x7f800000u) == 0x7f800000u) v &= 0xbfffffffu;
    a.push_back(v);
  }
  for (const Format& f : {f16, bf16}) {
    const std::string text = fmt::format("cvt.rn.{}.f32 %d, %a;", f.name);
    compare_bits(text, run_instruction(text, {2, 4}, a), a, {}, {}, [&](U64 v, U64, U64) {
      float x;
      const auto w = static_cast<U32>(v);
      std::memcpy(&x, &w, 4);
      return x == 0 ? (v >> 16) & 0x8000 : round_to(f, static_cast<Quad>(x));
    });
  }
}

}  // namespace
}  // namespace tessera::simgpu
