// What the representation holds for forms of the language that others tripped over.
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"

namespace tessera::ptx {
namespace {

const std::string head = ".version 8.0\n.target sm_90a\n.address_size 64\n";

Module clean(const std::string& text) {
  Module module = parse(head + text);
  INFO(text);
  for (const Diagnostic& d : module.diagnostics) FAIL_CHECK(fmt::format("{}:{} {}", d.place.line, d.place.column, d.message));
  REQUIRE(check(module).empty());
  std::string difference;
  CHECK(same(module, parse(print(module)), &difference));
  CHECK(difference.empty());
  return module;
}

Module body(const std::string& statements) {
  return clean(
      ".global .align 16 .b8 g[64];\n.entry k(.param .u64 a, .param .u32 n)\n{\n.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>; "
      ".reg .f32 %f<8>;\n" +
      statements + "\n}\n");
}

const Operand& operand(const Module& m, std::size_t instr, std::size_t number) {
  const Function& f = m.functions.back();
  return f.operands_of(f.instrs.at(instr))[number];
}

TEST_CASE("pointer hints stand between a parameter's type and its name") {
  const Module m = clean(
      ".entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .u64.ptr.shared c, .param .align 8 .b8 d[20], .param .u16 "
      "e, "
      ".param .u64 .ptr .align 1 f)\n{ ret; }\n");
  const auto& p = m.functions[0].params;
  REQUIRE(p.size() == 6);
  CHECK(p[0].ptr == PtrHint{true, Space::global, 16});
  CHECK(p[0].alignment() == 8);  // the hint is about what it points to
  CHECK(p[1].ptr == PtrHint{true, Space::generic, 0});
  CHECK(p[2].ptr == PtrHint{true, Space::shared, 0});
  CHECK_FALSE(p[3].ptr.present);
  CHECK(p[5].ptr == PtrHint{true, Space::generic, 1});
  CHECK(std::vector<std::uint32_t>{p[0].offset, p[1].offset, p[2].offset, p[3].offset, p[4].offset, p[5].offset} ==
        std::vector<std::uint32_t>{0, 8, 16, 24, 44, 48});
  CHECK(m.functions[0].param_bytes == 56);
}

TEST_CASE("debug information changes nothing but markers") {
  const std::string with =
      "\t.loc 1 3 5 // x.py:3\n$L__tmp0:\n\tmov.u32 %r1, %tid.x;\n\t.loc\t1 4 0\n\t@%p1 ld.global.b32 { %r2 }, [ %rd1 + 0 "
      "];\n\tret;\n$L__func_end0:\n";
  const std::string without = "mov.u32 %r1, %tid.x;\n@%p1 ld.global.b32 {%r2}, [%rd1];\nret;\n";
  const Module a = body(with);
  const Module b = body(without);
  const Function& f = a.functions[0];
  const Function& g = b.functions[0];
  REQUIRE(f.instrs.size() == g.instrs.size());
  for (std::size_t i = 0; i < f.instrs.size(); ++i) CHECK(print_instr(a, f, f.instrs[i]) == print_instr(b, g, g.instrs[i]));
  CHECK(operand(a, 1, 0).kind == OperandKind::vector);
  CHECK(operand(a, 1, 1).kind == OperandKind::address);
  CHECK(operand(a, 1, 1).value == 0);
}

TEST_CASE("immediates of each form stand where each type is expected") {
  for (const char* opcode : {"mov.b32", "mov.u32", "mov.s32"}) {
    for (const auto& [text, value] : std::initializer_list<std::pair<const char*, std::uint64_t>>{{"10", 10},
                                                                                                  {"0x1F", 31},
                                                                                                  {"017", 15},
                                                                                                  {"0b101", 5},
                                                                                                  {"-3", std::uint64_t(-3)},
                                                                                                  {"7U", 7},
                                                                                                  {"0xFFFFFFFFU", 0xffffffffU},
                                                                                                  {"WARP_SZ", 32},
                                                                                                  {"(2+3)*4", 20},
                                                                                                  {"1|2", 3},
                                                                                                  {"1 ? 2 : 3", 2}}) {
      const Module m = body(fmt::format("{} %r1, {};", opcode, text));
      INFO(text);
      CHECK(operand(m, 0, 1).kind == OperandKind::immediate);
      CHECK(operand(m, 0, 1).value == value);
    }
  }
  const Module m = body(
      "mad.lo.s32 %r1, %r2, 4, 0x10;\nsetp.lt.s32 %p1, %r1, -1;\nselp.b32 %r1, 1, 0U, %p1;\nfma.rn.f32 %f1, %f2, 0f3F800000, 2.0;\n"
      "setp.gt.f32 %p1, %f1, 0d3FF0000000000000;");
  CHECK(operand(m, 3, 2).kind == OperandKind::float_imm);
  CHECK(operand(m, 3, 2).type == Type::f32);
  CHECK(operand(m, 3, 3).type == Type::f64);
  CHECK(operand(m, 3, 3).value == 0x4000000000000000U);
  CHECK(operand(m, 4, 2).value == 0x3FF0000000000000U);
}

TEST_CASE("a call over several lines is the same call") {
  const std::string callee = ".func (.param .b32 r) f(.param .b32 a, .param .b32 b);\n.entry k() {\n.param .b32 x, y, z;\n";
  const Module one = clean(callee + "call.uni (x), f, (y, z); call (x), f, (y, z);\nret;\n}\n");
  const Module many = clean(callee + "call.uni // first\n(\nx)\n,/* a\nb */f,\n(y,\n z)\n;call\n(x), f, (y, z);\nret;\n}\n");
  std::string difference;
  CHECK(same(one, many, &difference));
  CHECK(difference.empty());
  CHECK(many.functions[1].instrs[0].place == SourcePlace{7, 1});
  CHECK(many.functions[1].instrs[1].place == SourcePlace{14, 2});
  const Function& f = one.functions[1];
  const auto operands = f.operands_of(f.instrs[0]);
  REQUIRE(operands.size() == 3);
  CHECK(operands[0].kind == OperandKind::list);
  CHECK(operands[1].kind == OperandKind::function);
  CHECK(f.children_of(operands[2]).size() == 2);
}

TEST_CASE("indirect control names its targets") {
  const Module m = clean(
      ".func f() { ret; }\n.entry k(.param .u64 t)\n{\n.reg .b64 %rd<2>; .reg .b32 %r<2>; .param .b32 x;\n"
      "p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;\nq: .calltargets f;\nt: .branchtargets "
      "L1, L2;\n"
      "call (x), %rd1, (x, x), p;\ncall %rd1, (), q;\nbrx.idx %r1, t;\nL1: ret;\nL2: exit;\n}\n");
  const Function& f = m.functions[1];
  REQUIRE(f.prototypes.size() == 3);
  CHECK(f.prototypes[0].params[1].size() == 16);
  CHECK(f.prototypes[0].noreturn);
  CHECK(m.text(f.prototypes[1].targets.at(0)) == "f");
  CHECK(f.labels.at(f.prototypes[2].targets.at(1)).target == 4);
  CHECK(operand(m, 0, 3).kind == OperandKind::proto);
  CHECK(operand(m, 1, 2).kind == OperandKind::proto);
  CHECK(operand(m, 2, 1).kind == OperandKind::proto);
  CHECK(operand(m, 2, 0).kind == OperandKind::reg);
}

TEST_CASE("modifiers are a set, except for their types") {
  const auto instr = [](const std::string& text) { return body(text + " %r1, [%rd1];"); };
  CHECK(same(instr("ld.volatile.global.u32"), instr("ld.u32.volatile.global")));
  CHECK(same(instr("ld.global.u32"), instr("ld .global\n.u32")));
  CHECK_FALSE(same(instr("ld.global.u32"), instr("ld.global.s32")));
  CHECK_FALSE(same(instr("ld.global.u32"), instr("ld.global.ca.u32")));
  CHECK(same(body("cvt.rn.f32.s32 %f1, %r1;"), body("cvt.f32.rn.s32 %f1, %r1;")));
  CHECK_FALSE(same(body("cvt.rn.f32.s32 %f1, %r1;"), body("cvt.rn.s32.f32 %f1, %r1;")));
  const Module m = body("ld.relaxed.gpu.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];");
  const Function& f = m.functions[0];
  CHECK(f.space_of(f.instrs[0]) == Space::global);
  CHECK(f.type_of(f.instrs[0]) == Type::f32);
  CHECK(f.vector_of(f.instrs[0]) == 4);
  CHECK(f.has(f.instrs[0], Modifier::relaxed));
}

TEST_CASE("unknown opcodes and modifiers are kept") {
  const Module m = body("frobnicate.f32.quickly %f1, [%rd1+4];\nadd.f32.quickly.again %f1, %f2, %f3;");
  const Function& f = m.functions[0];
  CHECK(f.instrs[0].opcode == Opcode::unknown);
  CHECK(m.opcode_text(f.instrs[0]) == "frobnicate");
  CHECK(m.unknown_modifiers == std::vector<std::string>{"quickly", "again"});
  CHECK(m.modifier_text(f.modifiers_of(f.instrs[1])[2]) == "again");
  CHECK(f.type_of(f.instrs[0]) == Type::f32);
  CHECK(print_instr(m, f, f.instrs[1]) == "add.f32.quickly.again %f1, %f2, %f3;");
}

TEST_CASE("addresses add up their offsets") {
  for (const auto& [text, offset] : std::initializer_list<std::pair<const char*, std::int64_t>>{{"[%rd1]", 0},
                                                                                                {"[%rd1+8]", 8},
                                                                                                {"[%rd1+-8]", -8},
                                                                                                {"[%rd1-8]", -8},
                                                                                                {"[%rd1+4+4]", 8},
                                                                                                {"[%rd1 + (2*8)]", 16},
                                                                                                {"[%rd1+2*8]", 16},
                                                                                                {"[%rd1 + 0x10 - 1]", 15}}) {
    const Module m = body(fmt::format("ld.global.u32 %r1, {};", text));
    INFO(text);
    CHECK(operand(m, 0, 1).base_kind == BaseKind::reg);
    CHECK(static_cast<std::int64_t>(operand(m, 0, 1).value) == offset);
  }
  const Module m =
      body("ld.global.u8 %r1, [g+3];\nld.global.u8 %r1, g[5];\nmov.u64 %rd1, g+7;\nld.param.u32 %r1, [n];\nld.local.u32 %r1, [16];");
  CHECK(operand(m, 0, 1).base_kind == BaseKind::variable);
  CHECK(operand(m, 0, 1).value == 3);
  CHECK(operand(m, 1, 1).kind == OperandKind::address);
  CHECK(operand(m, 1, 1).value == 5);
  CHECK(operand(m, 2, 1).kind == OperandKind::variable);
  CHECK(m.text(m.variable_of(m.functions[0], operand(m, 2, 1)).name) == "g");
  CHECK(operand(m, 3, 1).symbol_space == SymbolSpace::parameter);
  CHECK(operand(m, 4, 1).base_kind == BaseKind::immediate);
}

TEST_CASE("names belong to the innermost scope that declares them") {
  const Module m = clean(
      ".entry k()\n{\n.reg .b32 r<4>, x;\nmov.u32 r1, x;\n{\n.reg .b32 r<2>, r3;\nmov.u32 r1, r3;\nmov.u32 r2, x;\n}\nmov.u32 r1, "
      "r3;\n}\n");
  const Function& f = m.functions[0];
  const auto decl = [&](std::size_t i, std::size_t n) { return f.registers[operand(m, i, n).ref].decl; };
  CHECK(decl(0, 0) == 0);
  CHECK(decl(1, 0) == 2);
  CHECK(decl(1, 1) == 3);
  CHECK(decl(2, 0) == 0);  // the inner r<2> has no r2
  CHECK(decl(2, 1) == 1);
  CHECK(decl(3, 0) == 0);
  CHECK(decl(3, 1) == 0);
  CHECK(m.register_name(f, operand(m, 2, 0).ref) == "r2");
}

TEST_CASE("labels belong to scopes, and branches leave them") {
  const Module m = clean(".entry k()\n{\nbra out;\nL: {\nbra L;\nL: bra out;\n}\nbra L;\nout:\n}\n");
  const Function& f = m.functions[0];
  CHECK(f.labels.at(operand(m, 1, 0).ref).target == 2);  // the inner L
  CHECK(f.labels.at(operand(m, 3, 0).ref).target == 1);  // the outer one
  CHECK(f.labels.at(operand(m, 2, 0).ref).target == f.instrs.size());
}

TEST_CASE("initialisers are flattened to the variable's layout") {
  const Module m = clean(
      ".global .u16 a[2][3] = {{1}, {2, 3}};\n.global .v2 .f32 b[2] = {{1.0, 2}, {0f40400000}};\n.global .u32 c[] = {1, 2, 3};\n"
      ".global .u64 d[2] = {c, generic(a) + 6};\n.global .u8 e[2] = {0xFF(c), 0xFF00(c+4)};\n.global .f64 f = 1;\n.global .s32 h = -1;\n");
  const auto bits = [&](std::size_t v) {
    std::vector<std::uint64_t> all;
    for (const InitValue& i : m.variables[v].init) all.push_back(i.bits);
    return all;
  };
  CHECK(bits(0) == std::vector<std::uint64_t>{1, 0, 0, 2, 3, 0});
  CHECK(bits(1) == std::vector<std::uint64_t>{0x3F800000, 0x40000000, 0x40400000, 0});
  CHECK(m.variables[2].dims == std::vector<std::uint64_t>{3});
  CHECK(m.variables[2].size() == 12);
  CHECK(m.text(m.variables[3].init[1].symbol) == "a");
  CHECK(m.variables[3].init[1].generic);
  CHECK(m.variables[3].init[1].bits == 6);
  CHECK(m.variables[4].init[1].mask == 0xff00);
  CHECK(m.variables[4].init[1].bits == 4);
  CHECK(bits(5) == std::vector<std::uint64_t>{0x3FF0000000000000});
  CHECK(bits(6) == std::vector<std::uint64_t>{~std::uint64_t{0}});
}

TEST_CASE("a definition is found behind its declaration") {
  const Module m = clean(".func f(.param .b32 a);\n.entry k() { .param .b32 x; call f, (x); ret; }\n.func f(.param .b32 a) { ret; }\n");
  CHECK(m.find_function("f")->has_body);
  const Function& k = m.functions[1];
  const Operand& callee = k.operands_of(k.instrs[0])[0];
  REQUIRE(callee.kind == OperandKind::function);
  CHECK(m.definition_of(callee.ref) == m.find_function("f"));
  CHECK(m.find_function("g") == nullptr);
  CHECK(m.sm() == 90);
}

TEST_CASE("a NUL ends the text") {
  const std::string text = head + ".entry k() { ret; }\n" + std::string(1, '\0') + "garbage {";
  CHECK(parse(text).diagnostics.empty());
  CHECK(index_entries(text).size() == 1);
}

}  // namespace
}  // namespace tessera::ptx
