// f32 and f64 arithmetic: every rounding mode against the processor's own under fesetround, flushing, saturation, NaN rules.
#include <cfenv>
#include <cmath>

#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;

constexpr std::size_t count = 20000;

float f32(U64 v) {
  const auto w = static_cast<U32>(v);
  float f;
  std::memcpy(&f, &w, 4);
  return f;
}
double f64(U64 v) {
  double f;
  std::memcpy(&f, &v, 8);
  return f;
}
U64 bits(float f) {
  U32 w;
  std::memcpy(&w, &f, 4);
  return w;
}
U64 bits(double f) {
  U64 w;
  std::memcpy(&w, &f, 8);
  return w;
}
U64 canonical(float f) { return std::isnan(f) ? 0x7fffffffu : bits(f); }
float flush(float f) { return std::fpclassify(f) == FP_SUBNORMAL ? std::copysign(0.0f, f) : f; }
float saturate(float f) { return f > 0 ? (f < 1 ? f : 1.0f) : 0.0f; }

// Random floats: mostly of nearby exponents, so that sums and products are interesting; specials, subnormals, any bits.
Bits floats(unsigned bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const unsigned mantissa = bytes == 4 ? 23 : 52;
  const U64 bias = bytes == 4 ? 127 : 1023, top = bytes == 4 ? 255 : 2047;
  Bits values(count);
  for (U64& v : values) {
    const U64 r = random(), fraction = random() & ((U64{1} << mantissa) - 1);
    U64 exponent = bias - 16 + random() % 32;
    switch (r % 16) {
      case 0:
        exponent = 0;
        break;
      case 1:
        exponent = random() % (top + 1);
        break;
      case 2:
        exponent = top;
        break;
      default:
        break;
    }
    const U64 kept = r % 5 == 0 ? 0 : r % 7 == 0 ? U64{1} << (random() % mantissa) : fraction;
    v = (r >> 63) << (8 * bytes - 1) | exponent << mantissa | kept;
  }
  return values;
}

class Rounded {
 public:
  explicit Rounded(const std::string& mode) {
    std::fesetround(mode == ".rz" ? FE_TOWARDZERO : mode == ".rm" ? FE_DOWNWARD : mode == ".rp" ? FE_UPWARD : FE_TONEAREST);
  }
  ~Rounded() { std::fesetround(FE_TONEAREST); }
};

// The reference must not be folded or moved out of the rounding mode.
template <typename T>
T opaque(T v) {
  volatile T x = v;
  return x;
}

template <typename F>
void check_single(const std::string& op, const std::string& mode, unsigned operands, F&& f) {
  const Bits a = floats(4, 11), b = floats(4, 12), c = floats(4, 13);
  for (const bool ftz : {false, true}) {
    for (const bool sat : {false, true}) {
      const std::string text = op + mode + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + ".f32 %d, %a" + (operands > 1 ? ", %b" : "") +
                               (operands > 2 ? ", %c" : "") + ";";
      if (sat && operands == 1) continue;
      const Bits got = run_instruction(text, {4, 4, 4, 4}, a, b, c);
      compare_bits(text, got, a, b, c, [&](U64 x, U64 y, U64 z) {
        const auto in = [&](U64 v) { return opaque(ftz ? flush(f32(v)) : f32(v)); };
        float r = 0;
        {
          const Rounded scope(mode);
          r = opaque(f(in(x), in(y), in(z)));
        }
        if (ftz) r = flush(r);
        return sat ? bits(saturate(r)) : canonical(r);
      });
    }
  }
}
template <typename F>
void check_double(const std::string& op, const std::string& mode, unsigned operands, F&& f) {
  const Bits a = floats(8, 21), b = floats(8, 22), c = floats(8, 23);
  const std::string text = op + mode + ".f64 %d, %a" + (operands > 1 ? ", %b" : "") + (operands > 2 ? ", %c" : "") + ";";
  const Bits got = run_instruction(text, {8, 8, 8, 8}, a, b, c);
  unsigned wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Rounded scope(mode);
    const double r = opaque(f(opaque(f64(a[i])), opaque(f64(b[i])), opaque(f64(c[i]))));
    wrong += std::isnan(r) ? !std::isnan(f64(got[i])) : got[i] != bits(r);
  }
  INFO(text);
  CHECK(wrong == 0);
}

TEST_CASE("sums, products, fused multiply-adds, quotients and roots round as asked") {
  for (const std::string mode : {".rn", ".rz", ".rm", ".rp"}) {
    check_single("add", mode, 2, [](auto x, auto y, auto) { return x + y; });
    check_single("sub", mode, 2, [](auto x, auto y, auto) { return x - y; });
    check_single("mul", mode, 2, [](auto x, auto y, auto) { return x * y; });
    check_single("fma", mode, 3, [](auto x, auto y, auto z) { return std::fma(x, y, z); });
    check_single("sqrt", mode, 1, [](auto x, auto, auto) { return std::sqrt(x); });
    check_single("rcp", mode, 1, [](auto x, auto, auto) { return decltype(x)(1) / x; });
    check_double("add", mode, 2, [](auto x, auto y, auto) { return x + y; });
    check_double("mul", mode, 2, [](auto x, auto y, auto) { return x * y; });
    check_double("fma", mode, 3, [](auto x, auto y, auto z) { return std::fma(x, y, z); });
    check_double("div", mode, 2, [](auto x, auto y, auto) { return x / y; });
    check_double("sqrt", mode, 1, [](auto x, auto, auto) { return std::sqrt(x); });
    check_double("rcp", mode, 1, [](auto x, auto, auto) { return 1.0 / x; });
  }
  const Bits a = floats(4, 31), b = floats(4, 32);
  for (const std::string mode : {".rn", ".rz", ".rm", ".rp"}) {
    compare_bits("div", run_instruction("div" + mode + ".f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {}, [&](U64 x, U64 y, U64) {
      const Rounded scope(mode);
      return canonical(opaque(opaque(f32(x)) / opaque(f32(y))));
    });
  }
}

TEST_CASE("minimum and maximum: a NaN loses unless .NaN is written, and -0 is below +0") {
  Bits a = floats(4, 41), b = floats(4, 42);
  a[0] = 0x80000000u, b[0] = 0, a[1] = 0, b[1] = 0x80000000u, a[2] = 0x7fc00000u, b[2] = 0x7fc00001u;
  const auto reference = [](U64 x, U64 y, bool max, bool nan) -> U64 {
    const float p = f32(x), q = f32(y);
    if (std::isnan(p) || std::isnan(q)) return nan || (std::isnan(p) && std::isnan(q)) ? 0x7fffffffu : std::isnan(p) ? y : x;
    if (p == 0 && q == 0) return max ? (x & y) : (x | y);
    return max ? bits(std::max(p, q)) : bits(std::min(p, q));
  };
  compare_bits("min", run_instruction("min.f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {},
               [&](U64 x, U64 y, U64) { return reference(x, y, false, false); });
  compare_bits("max", run_instruction("max.f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {},
               [&](U64 x, U64 y, U64) { return reference(x, y, true, false); });
  compare_bits("min.NaN", run_instruction("min.NaN.f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {},
               [&](U64 x, U64 y, U64) { return reference(x, y, false, true); });
  compare_bits("max.NaN", run_instruction("max.NaN.f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {},
               [&](U64 x, U64 y, U64) { return reference(x, y, true, true); });
}

TEST_CASE("signs are bits") {
  const Bits a = floats(4, 51), b = floats(4, 52), c = floats(8, 53);
  compare_bits("neg", run_instruction("neg.f32 %d, %a;", {4, 4}, a), a, {}, {}, [](U64 x, U64, U64) { return x ^ 0x80000000u; });
  compare_bits("abs", run_instruction("abs.f32 %d, %a;", {4, 4}, a), a, {}, {}, [](U64 x, U64, U64) { return x & 0x7fffffffu; });
  compare_bits("copysign", run_instruction("copysign.f32 %d, %a, %b;", {4, 4, 4}, a, b), a, b, {},
               [](U64 x, U64 y, U64) { return (y & 0x7fffffffu) | (x & 0x80000000u); });
  compare_bits("neg.f64", run_instruction("neg.f64 %d, %a;", {8, 8}, c), c, {}, {}, [](U64 x, U64, U64) { return x ^ U64 { 1 } << 63; });
}

TEST_CASE("comparisons know NaN") {
  const Bits a = floats(4, 61);
  Bits b = floats(4, 62);
  for (std::size_t i = 0; i < b.size(); i += 3) b[i] = a[i];
  struct Row {
    const char* name;
    bool (*holds)(float, float, bool);
  };
  const Row rows[] = {{"eq", [](float x, float y, bool) { return x == y; }},
                      {"ne", [](float x, float y, bool u) { return !u && x != y; }},
                      {"lt", [](float x, float y, bool) { return x < y; }},
                      {"ge", [](float x, float y, bool) { return x >= y; }},
                      {"equ", [](float x, float y, bool u) { return u || x == y; }},
                      {"neu", [](float x, float y, bool) { return x != y; }},
                      {"ltu", [](float x, float y, bool u) { return u || x < y; }},
                      {"leu", [](float x, float y, bool u) { return u || x <= y; }},
                      {"gtu", [](float x, float y, bool u) { return u || x > y; }},
                      {"geu", [](float x, float y, bool u) { return u || x >= y; }},
                      {"num", [](float, float, bool u) { return !u; }},
                      {"nan", [](float, float, bool u) { return u; }}};
  for (const Row& row : rows) {
    for (const bool ftz : {false, true}) {
      const std::string text = fmt::format("setp.{}{}.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", row.name, ftz ? ".ftz" : "");
      compare_bits(text, run_instruction(text, {4, 4, 4}, a, b), a, b, {}, [&](U64 x, U64 y, U64) {
        const float p = ftz ? flush(f32(x)) : f32(x), q = ftz ? flush(f32(y)) : f32(y);
        return U64{row.holds(p, q, std::isnan(p) || std::isnan(q))};
      });
    }
  }
}

TEST_CASE("approximate functions stay within a unit in the last place or two") {
  Bits a;
  std::mt19937_64 random(71);
  for (int i = 0; i < 20000; ++i)
    a.push_back(bits(static_cast<float>(std::ldexp(static_cast<double>(random() % 2000001) - 1e6, static_cast<int>(random() % 24) - 20))));
  const auto check = [&](const std::string& op, double relative, double absolute, double (*f)(double), bool positive) {
    const Bits got = run_instruction(op + " %d, %a;", {4, 4}, a);
    unsigned wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = static_cast<double>(f32(a[i]));
      if (positive && !(x > 0)) continue;
      const double wanted = f(x), r = static_cast<double>(f32(got[i]));
      if (std::isinf(static_cast<float>(wanted)) && std::isinf(r)) continue;
      if (!(std::abs(r - wanted) <= relative * std::abs(wanted) + absolute)) ++wrong;
    }
    INFO(op);
    CHECK(wrong == 0);
  };
  check(
      "ex2.approx.f32", 0x1p-23, 0x1p-149, [](double x) { return std::exp2(x); }, false);
  check(
      "lg2.approx.f32", 0x1p-23, 0x1p-40, [](double x) { return std::log2(x); }, true);
  check(
      "rsqrt.approx.f32", 0x1p-23, 0, [](double x) { return 1 / std::sqrt(x); }, true);
  check(
      "tanh.approx.f32", 0x1p-22, 0, [](double x) { return std::tanh(x); }, false);
  check(
      "sin.approx.f32", 0x1p-23, 0x1p-23, [](double x) { return std::sin(x); }, false);
  check(
      "cos.approx.f32", 0x1p-23, 0x1p-23, [](double x) { return std::cos(x); }, false);
}

}  // namespace
}  // namespace tessera::simgpu
