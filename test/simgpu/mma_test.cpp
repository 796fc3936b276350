// mma.sync of every shape and type that is simulated, against a product of matrices. Where an element lies is written down here as the
// PTX ISA does: by groupID = lane / 4, threadID_in_group = lane % 4, and conditions on the index of the fragment's element.
#include <cmath>
#include <functional>

#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

struct Where {
  unsigned row, column;
};
using Place = std::function<Where(unsigned lane, unsigned element)>;

// One form: its text, the shape, the bits of an input's element, the registers' width, how elements and sums are coded.
struct Form {
  std::string text;
  unsigned m, k, bits;  // n is 8
  std::function<std::uint64_t(int)> code_a, code_b;
  std::function<int(std::uint64_t)> value_a, value_b;  // of a code
  bool is_double = false, half_sum = false, integer_sum = false;
  std::function<int(int, int)> times = [](int x, int y) { return x * y; };
};

// a: element i of the fragment. For 8 rows: row = groupID. For 16: alternating runs of what a register holds lie 8 rows below.
Where place_a(const Form& f, unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, thread = lane % 4, per_register = f.is_double ? 1 : 32 / f.bits, r = i / per_register;
  const unsigned row = f.m == 8 || r % 2 == 0 ? group : group + 8;
  const unsigned chunk = f.m == 8 ? r : r / 2;
  return {row, thread * per_register + i % per_register + chunk * 4 * per_register};
}
Where place_b(const Form& f, unsigned lane, unsigned i) {
  const unsigned per_register = f.is_double ? 1 : 32 / f.bits;
  return {lane % 4 * per_register + i % per_register + i / per_register * 4 * per_register, lane >> 2};
}
Where place_c(unsigned lane, unsigned i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }

std::uint64_t code_of(double v, unsigned mantissa, int bias, unsigned bits) {  // exact values only
  if (v == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(v), &exponent);  // in [0.5, 1)
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, static_cast<int>(mantissa) + 1));
  return (v < 0 ? 1ull << (bits - 1) : 0) | static_cast<std::uint64_t>(exponent - 1 + bias) << mantissa |
         (significand & ((1ull << mantissa) - 1));
}

std::string registers(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

void check(const Form& f) {
  INFO(f.text);
  const unsigned n = 8, width = f.is_double ? 8 : 4;
  const unsigned a_elements = f.m * f.k / 32, b_elements = f.k * n / 32, c_elements = f.m * n / 32;
  const unsigned per = f.is_double ? 1 : 32 / f.bits, a_count = a_elements / per, b_count = b_elements / per;
  const unsigned c_count = f.half_sum ? c_elements / 2 : c_elements;
  // Register r of lane l is word r · 32 + l of its array.
  std::string body;
  const std::string type = fmt::format("b{}", 8 * width);
  for (const auto& [name, count] : {std::pair{"a", a_count}, {"b", b_count}, {"c", c_count}, {"d", c_count}})
    body += fmt::format(".reg .{} %{}<{}>;\n", type, name, count);
  body += fmt::format("mov.u32 %i, %tid.x; mul.wide.u32 %x, %i, {};\n", width);
  for (const auto& [name, count] : {std::pair{"a", a_count}, {"b", b_count}, {"c", c_count}}) {
    body += fmt::format("ld.param.u64 %y, [p{}]; add.u64 %y, %y, %x;\n", name);
    for (unsigned r = 0; r < count; ++r) body += fmt::format("ld.global.{} %{}{}, [%y+{}];\n", type, name, r, r * 32 * width);
  }
  body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\nld.param.u64 %y, [pd]; add.u64 %y, %y, %x;\n", f.text, registers("d", c_count),
                      registers("a", a_count), registers("b", b_count), registers("c", c_count));
  for (unsigned r = 0; r < c_count; ++r) body += fmt::format("st.global.{} [%y+{}], %d{};\n", type, r * 32 * width, r);
  const std::string text =
      ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
      ".u64 pd) {\n.reg .b32 %i; .reg .b64 %x, %y;\n" +
      body + "ret;\n}\n";

  std::mt19937 random(7);
  std::vector<std::vector<std::uint64_t>> a(f.m, std::vector<std::uint64_t>(f.k)), b(f.k, std::vector<std::uint64_t>(n));
  std::vector<std::vector<int>> c(f.m, std::vector<int>(n));
  for (auto& row : a)
    for (auto& v : row) v = f.code_a(static_cast<int>(random() % 64));
  for (auto& row : b)
    for (auto& v : row) v = f.code_b(static_cast<int>(random() % 64));
  for (auto& row : c)
    for (auto& v : row) v = static_cast<int>(random() % 41) - 20;

  const auto sum_code = [&](int v) -> std::uint64_t {
    if (f.integer_sum) return static_cast<std::uint32_t>(v);
    if (f.is_double) return code_of(v, 52, 1023, 64);
    return f.half_sum ? code_of(v, 10, 15, 16) : code_of(v, 23, 127, 32);
  };
  const auto gather = [&](unsigned count, unsigned bits, const std::function<std::uint64_t(unsigned, unsigned)>& element) {
    const unsigned parts = 8 * width / bits;
    std::vector<std::uint64_t> words(count * 32);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned e = 0; e < count * parts; ++e) words[e / parts * 32 + lane] |= element(lane, e) << (bits * (e % parts));
    }
    return words;
  };
  const unsigned in_bits = f.is_double ? 64 : f.bits, sum_bits = f.is_double ? 64 : f.half_sum ? 16 : 32;
  const auto words_a = gather(a_count, in_bits, [&](unsigned l, unsigned e) {
    const Where p = place_a(f, l, e);
    return a[p.row][p.column];
  });
  const auto words_b = gather(b_count, in_bits, [&](unsigned l, unsigned e) {
    const Where p = place_b(f, l, e);
    return b[p.row][p.column];
  });
  const auto words_c = gather(c_count, sum_bits, [&](unsigned l, unsigned e) {
    const Where p = place_c(l, e);
    return sum_code(c[p.row][p.column]);
  });
  const auto wanted = gather(c_count, sum_bits, [&](unsigned l, unsigned e) {
    const Where p = place_c(l, e);
    int sum = c[p.row][p.column];
    for (unsigned k = 0; k < f.k; ++k) sum += f.times(f.value_a(a[p.row][k]), f.value_b(b[k][p.column]));
    return sum_code(sum);
  });
  Machine machine;
  const auto put = [&](const std::vector<std::uint64_t>& words) {
    return width == 8 ? machine.put(words) : machine.put(std::vector<std::uint32_t>(words.begin(), words.end()));
  };
  const std::uint64_t out = put(std::vector<std::uint64_t>(c_count * 32));
  require_ok(launch(*machine.load(text).kernel("k"), {1, 1, 1}, {32, 1, 1},
                    Params().add(put(words_a)).add(put(words_b)).add(put(words_c)).add(out)));
  if (width == 8) {
    CHECK(machine.get<std::uint64_t>(out, c_count * 32) == wanted);
  } else {
    CHECK(machine.get<std::uint32_t>(out, c_count * 32) == std::vector<std::uint32_t>(wanted.begin(), wanted.end()));
  }
}

// Integers of `bits` as codes of themselves.
void check_integers(const std::string& shape, unsigned m, unsigned k, unsigned bits) {
  const auto code = [bits](int v) { return static_cast<std::uint64_t>(v * 5) & ((1ull << bits) - 1); };
  const auto value = [bits](bool is_signed) {
    return [bits, is_signed](std::uint64_t c) {
      return static_cast<int>(is_signed && (c >> (bits - 1)) != 0 ? static_cast<int>(c) - (1 << bits) : static_cast<int>(c));
    };
  };
  for (const bool a : {true, false}) {
    for (const bool b : {true, false}) {
      Form f{fmt::format("{}.row.col.satfinite.s32.{}{}.{}{}.s32", shape, a ? "s" : "u", bits, b ? "s" : "u", bits),
             m,
             k,
             bits,
             code,
             code,
             value(a),
             value(b)};
      f.integer_sum = true;
      check(f);
    }
  }
}

TEST_CASE("mma: integers of 8 and 4 bits") {
  check_integers("m16n8k32", 16, 32, 8);
  check_integers("m16n8k16", 16, 16, 8);
  check_integers("m8n8k16", 8, 16, 8);
  check_integers("m16n8k64", 16, 64, 4);
  check_integers("m16n8k32", 16, 32, 4);
  check_integers("m8n8k32", 8, 32, 4);
}

TEST_CASE("mma: single bits, by and and by xor") {
  for (const bool exclusive : {true, false}) {
    for (const auto& [shape, m, k] : {std::tuple{"m16n8k256", 16u, 256u}, {"m16n8k128", 16u, 128u}, {"m8n8k128", 8u, 128u}}) {
      const auto code = [](int v) { return static_cast<std::uint64_t>(v % 3 == 0); };
      const auto value = [](std::uint64_t c) { return static_cast<int>(c); };
      Form f{fmt::format("{}.row.col.s32.b1.b1.s32.{}.popc", shape, exclusive ? "xor" : "and"), m, k, 1, code, code, value, value};
      f.integer_sum = true;
      f.times = [exclusive](int x, int y) { return exclusive ? x ^ y : x & y; };
      check(f);
    }
  }
}

// Floats: the codes of small integers.
void check_floats(const std::string& text, unsigned m, unsigned k, unsigned bits, unsigned a_mantissa, int a_bias, unsigned b_mantissa,
                  int b_bias, bool half_sum = false) {
  const auto number = [](int v) { return v % 5 - 2; };
  const auto code = [=](unsigned mantissa, int bias) { return [=](int v) { return code_of(number(v), mantissa, bias, bits); }; };
  const auto value = [=](unsigned mantissa, int bias) {
    return [=](std::uint64_t c) {
      for (int v = -2; v <= 2; ++v) {
        if (code_of(v, mantissa, bias, bits) == c) return v;
      }
      return 99;
    };
  };
  Form f{text, m, k, bits, code(a_mantissa, a_bias), code(b_mantissa, b_bias), value(a_mantissa, a_bias), value(b_mantissa, b_bias)};
  f.half_sum = half_sum;
  f.is_double = bits == 64;
  check(f);
}

TEST_CASE("mma: f16, bf16, tf32 and f64") {
  check_floats("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 16, 10, 15, 10, 15);
  check_floats("m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 16, 10, 15, 10, 15, true);
  check_floats("m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, 10, 15, 10, 15);
  check_floats("m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 16, 10, 15, 10, 15, true);
  check_floats("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, 7, 127, 7, 127);
  check_floats("m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, 7, 127, 7, 127);
  check_floats("m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 23, 127, 23, 127);
  check_floats("m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, 23, 127, 23, 127);
  check_floats("m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 64, 52, 1023, 52, 1023);
  check_floats("m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 64, 52, 1023, 52, 1023);
  check_floats("m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 64, 52, 1023, 52, 1023);
  check_floats("m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 64, 52, 1023, 52, 1023);
}

TEST_CASE("mma: fp8 in every mixture") {
  struct Type {
    const char* name;
    unsigned mantissa;
    int bias;
  };
  const Type types[] = {{"e4m3", 3, 7}, {"e5m2", 2, 15}};
  for (const Type& a : types) {
    for (const Type& b : types) {
      for (const unsigned k : {16u, 32u}) {
        for (const char* sum : {"f32", "f16"})
          check_floats(fmt::format("m16n8k{}.row.col.{}.{}.{}.{}", k, sum, a.name, b.name, sum), 16, k, 8, a.mantissa, a.bias, b.mantissa,
                       b.bias, std::string(sum) == "f16");
      }
    }
  }
}

}  // namespace
}  // namespace tessera::simgpu
