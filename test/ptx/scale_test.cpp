// Texts as large and as deep as real ones get, scaled to seconds.
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"

namespace tessera::ptx {
namespace {

const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string repeat(const std::string& text, std::size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST_CASE("a module of 320 entries is indexed, and one of them is read alone") {
  const std::string instrs = repeat("\tfma.rn.f32 %f1, %f2, %f3, %f4;\n\tld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];\n", 1000);
  std::string text = head;
  for (int i = 0; i < 320; ++i) {
    text += fmt::format(".visible .entry kernel_{}(.param .u64 a)\n{{\n\t.reg .f32 %f<9999>;\n\t.reg .b64 %rd<2>;\n", i);
    text += instrs;
    text += "\tret;\n}\n";
  }
  const auto index = index_entries(text);
  REQUIRE(index.size() == 320);
  CHECK(index[319].name == "kernel_319");
  const std::string_view wanted[] = {"kernel_200"};
  const Module part = parse(text, {wanted, 16});
  CHECK(part.diagnostics.empty());
  CHECK(part.functions.size() == 320);
  CHECK(part.functions[200].instrs.size() == 2001);
  CHECK(part.functions[199].body_skipped);
  const std::string alone = head + text.substr(index[200].begin, index[200].end - index[200].begin);
  CHECK(parse(alone).functions.at(0).instrs.size() == 2001);
}

TEST_CASE("one entry of half a million instructions") {
  const std::size_t count = 500'000;
  const Module m = parse(head + ".entry k()\n{\n.reg .b32 %r<4>;\n" + repeat("add.s32 %r1, %r2, %r3;\n", count) + "ret;\n}\n");
  CHECK(m.diagnostics.empty());
  REQUIRE(m.functions.at(0).instrs.size() == count + 1);
  CHECK(build_cfg(m.functions[0]).blocks.size() == 1);
}

TEST_CASE("a hundred thousand open braces, labels and registers") {
  const std::size_t deep = 100'000;
  std::string text = head + ".entry k()\n{\n.reg .b32 r;\n";
  for (std::size_t i = 0; i < deep; ++i) text += "{ .reg .b32 %r<2>; L: bra L; bra out;";
  text += "mov.u32 r, %r1;";
  text += repeat("}", deep);
  text += "\nout: ret;\n}\n";
  const Module m = parse(text);
  REQUIRE(m.diagnostics.empty());
  CHECK(m.functions.at(0).scope_parents.size() == deep + 1);
  CHECK(check(m).empty());
  CHECK(same(m, parse(print(m))));
  CHECK(parse(head + ".entry k()\n{\n" + repeat("{", deep)).functions.at(0).broken);
  CHECK(parse(head + ".entry k()\n{\n mov.b32 x, " + repeat("{", deep)).functions.at(0).broken);
  CHECK(parse(head + ".entry k()\n{\n mov.b32 x, " + repeat("[", deep)).functions.at(0).broken);
  CHECK(parse(head + ".global .u32 x[1] = " + repeat("{", deep)).diagnostics.size() > 0);
  CHECK(parse(head + ".entry k(" + repeat("(", deep)).diagnostics.size() > 0);
}

TEST_CASE("many names cost no more than their text") {
  std::string text = head + ".entry k()\n{\n";
  const int count = 50'000;
  for (int i = 0; i < count; ++i)
    text += fmt::format(".reg .b32 name_{}x;\nL{}: mov.b32 name_{}x, {};\nbra L{};\n", i, i, i, i, count - 1 - i);
  text += "}\n";
  const Module m = parse(text);
  REQUIRE(m.diagnostics.empty());
  CHECK(m.functions.at(0).instrs.size() == 2 * count);
  CHECK(check(m).empty());
}

TEST_CASE("declarations can't ask for memory that their text doesn't pay for") {
  std::string text = head;
  for (int i = 0; i < 100; ++i) text += fmt::format(".entry k{}() {{ .reg .b32 %r<1000000>; ret; }}\n", i);
  text += ".global .u8 wide[1000000000][1000000000] = {{1}, {2}};\n.global .u8 big[18446744073709551615][2];\n.shared .u32 s<4000000>;\n";
  const Module m = parse(text);
  std::size_t registers = 0;
  for (const Function& f : m.functions) registers += f.registers.size();
  CHECK(registers < 3'000'000);
  CHECK(m.functions.back().broken);
  CHECK(m.variables.back().size() == ~std::uint64_t{0});
}

}  // namespace
}  // namespace tessera::ptx
