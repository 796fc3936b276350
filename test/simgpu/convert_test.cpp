// Conversions between integers and floats: roundings, clamping, widths of registers.
#include <cfenv>
#include <cmath>

#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;
__extension__ using I128 = __int128;

struct IntRow {
  const char* name;
  unsigned bytes;
  bool sign;
};
constexpr IntRow ints[] = {{"u8", 1, false},  {"s8", 1, true},  {"u16", 2, false}, {"s16", 2, true},
                           {"u32", 4, false}, {"s32", 4, true}, {"u64", 8, false}, {"s64", 8, true}};

unsigned reg_bytes(const IntRow& t) { return t.bytes == 1 ? 4 : t.bytes; }
U64 cut(U64 v, unsigned bytes) { return bytes == 8 ? v : v & ((U64{1} << (8 * bytes)) - 1); }
I128 number(U64 v, const IntRow& t) {
  if (!t.sign) return I128{cut(v, t.bytes)};
  const unsigned shift = 64 - 8 * t.bytes;
  return I128{static_cast<std::int64_t>(v << shift) >> shift};
}
I128 lowest(const IntRow& t) { return t.sign ? -(I128{1} << (8 * t.bytes - 1)) : I128{0}; }
I128 highest(const IntRow& t) { return (I128{1} << (8 * t.bytes - (t.sign ? 1 : 0))) - 1; }

TEST_CASE("integers to integers: cut, extended, saturated") {
  for (const IntRow& from : ints) {
    const Bits a = corners_and_random(reg_bytes(from), 2048, 91);
    for (const IntRow& to : ints) {
      for (const bool sat : {false, true}) {
        const std::string text = fmt::format("cvt{}.{}.{} %d, %a;", sat ? ".sat" : "", to.name, from.name);
        compare_bits(text, run_instruction(text, {reg_bytes(to), reg_bytes(from)}, a), a, {}, {}, [&](U64 x, U64, U64) {
          I128 v = number(x, from);
          if (sat) v = std::clamp(v, lowest(to), highest(to));
          return cut(static_cast<U64>(number(static_cast<U64>(v), to)), reg_bytes(to));
        });
      }
    }
  }
}

TEST_CASE("registers may be wider than the types of a conversion") {
  const Bits a = corners_and_random(8, 1024, 92);
  compare_bits("cvt.s64.s8", run_instruction("cvt.s64.s8 %d, %a;", {8, 8}, a), a, {}, {},
               [](U64 x, U64, U64) { return static_cast<U64>(std::int64_t{static_cast<std::int8_t>(x)}); });
  compare_bits("cvt.u32.u16 from 64 bits", run_instruction("cvt.u32.u16 %d, %a;", {4, 8}, a), a, {}, {},
               [](U64 x, U64, U64) { return x & 0xffff; });
  compare_bits("cvt.s16.s8 to 64 bits", run_instruction("cvt.s16.s8 %d, %a;", {8, 4}, a), a, {}, {},
               [](U64 x, U64, U64) { return static_cast<U64>(std::int64_t{static_cast<std::int8_t>(x)}); });
}

int mode_of(const std::string& m) { return m == ".rz" ? FE_TOWARDZERO : m == ".rm" ? FE_DOWNWARD : m == ".rp" ? FE_UPWARD : FE_TONEAREST; }

template <typename T>
T opaque(T v) {
  volatile T x = v;
  return x;
}

template <typename F, typename I>
F converted(I v, const std::string& mode) {
  std::fesetround(mode_of(mode));
  const F r = opaque(static_cast<F>(opaque(v)));
  std::fesetround(FE_TONEAREST);
  return r;
}

TEST_CASE("integers to floats round as asked") {
  for (const std::string mode : {".rn", ".rz", ".rm", ".rp"}) {
    for (const IntRow& from : ints) {
      const Bits a = corners_and_random(reg_bytes(from), 4096, 93);
      for (const bool wide : {false, true}) {
        const std::string text = fmt::format("cvt{}.{}.{} %d, %a;", mode, wide ? "f64" : "f32", from.name);
        compare_bits(text, run_instruction(text, {wide ? 8u : 4u, reg_bytes(from)}, a), a, {}, {}, [&](U64 x, U64, U64) {
          const I128 v = number(x, from);
          U64 r = 0;
          if (wide) {
            const double d =
                from.sign ? converted<double>(static_cast<std::int64_t>(v), mode) : converted<double>(static_cast<U64>(v), mode);
            std::memcpy(&r, &d, 8);
          } else {
            const float f = from.sign ? converted<float>(static_cast<std::int64_t>(v), mode) : converted<float>(static_cast<U64>(v), mode);
            std::memcpy(&r, &f, 4);
          }
          // A zero of a directed rounding has no sign here.
          return v == 0 ? U64{0} : r;
        });
      }
    }
  }
}

TEST_CASE("floats to integers clamp, and NaN gives what the ISA says") {
  Bits singles, doubles;
  std::mt19937_64 random(94);
  for (int i = 0; i < 8192; ++i) {
    const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -static_cast<int>(random() % 70));
    const float f = static_cast<float>(i % 5 == 0 ? std::floor(x) + 0.5 : x);
    const double d = i % 5 == 0 ? std::floor(x) + 0.5 : x;
    U32 w;
    U64 v;
    std::memcpy(&w, &f, 4);
    std::memcpy(&v, &d, 8);
    singles.push_back(w);
    doubles.push_back(v);
  }
  for (const U64 special :
       {U64{0x7fc00000u}, U64{0x7f800000u}, U64{0xff800000u}, U64{1}, U64{0x80000001u}, U64{0x4f000000u}, U64{0x5f000000u}})
    singles.push_back(special);
  for (const U64 special :
       {0x7ff8000000000000ull, 0x7ff0000000000000ull, 0xfff0000000000000ull, 0x43e0000000000000ull, 0x41e0000000000000ull})
    doubles.push_back(special);
  const auto rounded = [](double x, const std::string& mode) {
    return mode == ".rni" ? std::nearbyint(x) : mode == ".rzi" ? std::trunc(x) : mode == ".rmi" ? std::floor(x) : std::ceil(x);
  };
  for (const std::string mode : {".rni", ".rzi", ".rmi", ".rpi"}) {
    for (const IntRow& to : ints) {
      for (const bool wide : {false, true}) {
        const Bits& a = wide ? doubles : singles;
        const std::string text = fmt::format("cvt{}.{}.{} %d, %a;", mode, to.name, wide ? "f64" : "f32");
        compare_bits(text, run_instruction(text, {reg_bytes(to), wide ? 8u : 4u}, a), a, {}, {}, [&](U64 v, U64, U64) {
          double x = 0;
          if (wide) {
            std::memcpy(&x, &v, 8);
          } else {
            float f;
            const auto w = static_cast<U32>(v);
            std::memcpy(&f, &w, 4);
            x = static_cast<double>(f);
          }
          I128 r = 0;
          if (std::isnan(x)) {
            r = wide || to.bytes == 8 ? I128{1} << (8 * to.bytes - 1) : I128{0};
          } else {
            const double i = rounded(x, mode);
            r = i >= 0x1p64 ? highest(to) : i <= -0x1p64 ? lowest(to) : std::clamp(static_cast<I128>(i), lowest(to), highest(to));
          }
          return cut(static_cast<U64>(number(static_cast<U64>(r), to)), reg_bytes(to));
        });
      }
    }
  }
}

TEST_CASE("f64 to f32 rounds as asked, f32 to f32 rounds to integers") {
  const Bits a = corners_and_random(8, 8192, 95);
  for (const std::string mode : {".rn", ".rz", ".rm", ".rp"}) {
    const std::string text = "cvt" + mode + ".f32.f64 %d, %a;";
    compare_bits(text, run_instruction(text, {4, 8}, a), a, {}, {}, [&](U64 v, U64, U64) {
      double x;
      std::memcpy(&x, &v, 8);
      const float r = converted<float>(x, mode);
      U32 w;
      std::memcpy(&w, &r, 4);
      return std::isnan(r) ? U64{0x7fffffffu} : U64{w};
    });
  }
  const Bits b = corners_and_random(4, 8192, 96);
  compare_bits("cvt.rni.f32.f32", run_instruction("cvt.rni.f32.f32 %d, %a;", {4, 4}, b), b, {}, {}, [&](U64 v, U64, U64) {
    float x;
    const auto w = static_cast<U32>(v);
    std::memcpy(&x, &w, 4);
    const float r = std::nearbyint(x);
    U32 out;
    std::memcpy(&out, &r, 4);
    return std::isnan(x) ? U64{0x7fffffffu} : U64{out};
  });
}

TEST_CASE("pairs: the first source is the upper half") {
  const Bits a = corners_and_random(4, 4096, 97), b = corners_and_random(4, 4096, 98);
  for (const char* t : {"f16", "bf16"}) {
    const Bits pair = run_instruction(fmt::format("cvt.rn.{}x2.f32 %d, %a, %b;", t), {4, 4, 4}, a, b);
    const Bits high = run_instruction(fmt::format("cvt.rn.{}.f32 %d, %a;", t), {2, 4}, a),
               low = run_instruction(fmt::format("cvt.rn.{}.f32 %d, %a;", t), {2, 4}, b);
    unsigned wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i) wrong += pair[i] != (high[i] << 16 | low[i]);
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace tessera::simgpu
