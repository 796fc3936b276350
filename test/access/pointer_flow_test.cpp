#include "placement/access/pointer_flow.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "placement/ptx/parse.h"

using namespace tessera;
using namespace tessera::access;

namespace {

constexpr std::uint64_t memory_begin = 0x7f0000000000, memory_end = 0x7f0000100000;
bool in_memory(std::uint64_t address) { return address >= memory_begin && address < memory_end; }

// One kernel k(p0 … p7: u64, n: u32 at 64) around `body`.
std::string kernel(const std::string& body, const std::string& globals = "") {
  std::string params;
  for (int i = 0; i < 8; ++i) params += ".param .u64 p" + std::to_string(i) + ",\n";
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + globals + ".visible .entry k(\n" + params +
         ".param .u32 n\n)\n{\n.reg .b64 %rd<64>;\n.reg .b32 %r<64>;\n.reg .f32 %f<16>;\n.reg .pred %p<16>;\n" + body + "\nret;\n}\n";
}

KernelAccess flow(const std::string& text) {
  const ptx::Module module = ptx::parse(text);
  for (const auto& d : module.diagnostics) UNSCOPED_INFO(d.place.line << ": " << d.message);
  REQUIRE(module.diagnostics.empty());
  return analyse(module, *module.find_function("k"));
}

// Parameter words by value; those not given are 0.
LaunchAccess launch(const KernelAccess& kernel_access, const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> block(68);
  if (!words.empty()) std::memcpy(block.data(), words.data(), words.size() * 8);
  LaunchAccess result;
  evaluate(kernel_access, block, in_memory, result);
  return result;
}
std::string shown(const LaunchAccess& a) {
  if (a.refusal != Refusal::none) return std::string(name_of(a.refusal));
  std::string text;
  for (const auto& p : a.pointers)
    text += (text.empty() ? "" : " ") + std::to_string(p.offset) + ":" + (p.read ? "r" : "") + (p.written ? "w" : "");
  return text;
}
std::string run(const std::string& body, const std::vector<std::uint64_t>& words, const std::string& globals = "") {
  const KernelAccess k = flow(kernel(body, globals));
  if (!k.understood()) {
    CHECK(k.line > 0);
    CHECK_FALSE(k.reason.empty());
    return std::string(name_of(k.refusal));
  }
  return shown(launch(k, words));
}

constexpr std::uint64_t A = memory_begin, B = memory_begin + 0x1000, C = memory_begin + 0x2000;
const std::string load01 = "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\n";

}  // namespace

TEST_CASE("pointers are followed through conversions, offsets and index arithmetic") {
  CHECK(run(load01 + "cvta.to.global.u64 %rd3, %rd1;\nmov.u32 %r1, %tid.x;\nmul.wide.s32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd3, %rd4;\n"
                     "ld.global.f32 %f1, [%rd5+8];\nst.global.f32 [%rd2], %f1;",
            {A, B}) == "0:r 8:w");
  CHECK(run(load01 + "mad.wide.u32 %rd3, %r1, 4, %rd1;\nld.global.v2.f32 {%f1, %f2}, [%rd3];\nst.global.f32 [%rd3], %f1;", {A, B}) ==
        "0:rw");
  CHECK(run(load01 + "ld.param.u64 %rd3, [p2];\nmad.lo.s64 %rd4, %rd3, 8, %rd1;\nadd.s64 %rd5, %rd4, %rd3;\nld.global.f32 %f1, [%rd5];",
            {A, B, 16}) == "0:r");
}

TEST_CASE("a word that is an offset at launch is no pointer, and the base may be the other summand") {
  const std::string body = load01 + "add.s64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f1;";
  CHECK(run(body, {A, 64}) == "0:w");
  CHECK(run(body, {64, A}) == "8:w");
  CHECK(run(body, {64, 64}) == "unknown_base");
}

TEST_CASE("a choice between pointers touches all that it may choose") {
  CHECK(run(load01 + "setp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;\nld.global.f32 %f1, [%rd3];", {A, B}) == "0:r 8:r");
  CHECK(run(load01 + "mov.u64 %rd3, %rd1;\n@%p1 mov.u64 %rd3, %rd2;\nst.global.f32 [%rd3], %f1;", {A, B}) == "0:w 8:w");
  CHECK(run(load01 + "mov.u64 %rd3, 0;\n@%p1 mov.u64 %rd3, %rd2;\n@%p1 st.global.f32 [%rd3], %f1;", {A, B}) == "8:w");
}

TEST_CASE("loops that advance a pointer reach a fixpoint") {
  CHECK(run(load01 + "L:\nld.global.f32 %f1, [%rd1];\nadd.s64 %rd1, %rd1, 4;\nadd.s64 %rd1, %rd1, %rd3;\nmov.b64 %rd3, %rd4;\nsetp.lt.s32 "
                     "%p1, %r1, %r2;\n@%p1 bra L;",
            {A}) == "0:r");
}

TEST_CASE("an index that was loaded is fine, a base that was loaded isn't") {
  CHECK(run(load01 + "ld.global.u32 %r1, [%rd1];\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.f32 [%rd4], %f1;",
            {A, B}) == "0:r 8:w");
  CHECK(run(load01 + "ld.global.u64 %rd3, [%rd1];\nadd.s64 %rd4, %rd2, %rd3;\nst.global.f32 [%rd4], %f1;", {A, B}) == "0:r 8:w");
  CHECK(run(load01 + "ld.global.u64 %rd3, [%rd1];\nst.global.f32 [%rd3], %f1;", {A, B}) == "loaded_base");
  CHECK(run(load01 + "ld.global.u64 %rd3, [%rd1];\nselp.b64 %rd4, %rd3, %rd2, %p1;\nst.global.f32 [%rd4], %f1;", {A, B}) == "loaded_base");
}

TEST_CASE("parameter space is bytes: structs, register-addressed loads, conversions of its address") {
  CHECK(run("mov.b64 %rd1, p0;\nadd.s64 %rd2, %rd1, 8;\nld.param.u64 %rd3, [%rd2+8];\nld.global.f32 %f1, [%rd3];", {0, 0, A}) == "16:r");
  CHECK(run("ld.param.v2.u64 {%rd1, %rd2}, [p2];\nst.global.f32 [%rd2], %f1;\nld.global.f32 %f1, [%rd1];", {0, 0, A, B}) == "24:w 16:r");
  CHECK(run("mov.b64 %rd1, p0;\nmul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd2, %rd1, %rd4;\nld.param.u64 %rd3, [%rd2];\nld.global.f32 %f1, "
            "[%rd3];",
            {A}) == "unsupported_form");
}

TEST_CASE("what shows a pointer's value keeps the launch home") {
  CHECK(run(load01 + "st.global.u64 [%rd1], %rd2;", {A, B}) == "pointer_escapes");
  CHECK(run(load01 + "st.global.u64 [%rd1], %rd2;", {A, 77}) == "0:w");
  CHECK(run(load01 + "sub.s64 %rd3, %rd1, %rd2;\nst.global.u64 [%rd1], %rd3;", {A, B}) == "pointer_escapes");
  CHECK(run(load01 + "setp.lt.u64 %p1, %rd1, %rd2;\n@%p1 st.global.f32 [%rd1], %f1;", {A, B}) == "pointer_arithmetic");
  CHECK(run(load01 + "setp.lt.u64 %p1, %rd1, %rd2;\n@%p1 st.global.f32 [%rd1], %f1;", {A, 5}) == "pointer_arithmetic");
  CHECK(run(load01 + "xor.b64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f1;", {A, B}) == "unknown_base");
  CHECK(run(load01 + "cvt.u32.u64 %r1, %rd1;\nst.global.u32 [%rd2], %r1;", {A, B}) == "pointer_escapes");
  CHECK(run(load01 + "cvt.u32.u64 %r1, %rd1;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r2;", {A, B}) ==
        "pointer_arithmetic");
}

TEST_CASE("a pointer that is null at launch touches nothing") {
  const std::string optional = load01 + "@%p1 ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;";
  CHECK(run(optional, {0, B}) == "8:w");
  CHECK(run(optional, {A, B}) == "0:r 8:w");
  CHECK(run(optional, {64, B}) == "unknown_base");
}

TEST_CASE("null checks, alignment tests and end pointers of the same array are harmless") {
  CHECK(run(load01 + "setp.eq.s64 %p1, %rd1, 0;\n@%p1 st.global.f32 [%rd2], %f1;", {A, B}) == "8:w");
  CHECK(run(load01 + "and.b64 %rd3, %rd1, 15;\nsetp.eq.s64 %p1, %rd3, 0;\n@%p1 st.global.f32 [%rd1], %f1;", {A, B}) == "0:w");
  CHECK(run(load01 + "add.s64 %rd3, %rd1, 64;\nsetp.lt.u64 %p1, %rd1, %rd3;\n@%p1 st.global.f32 [%rd1], %f1;", {A, B}) == "0:w");
}

TEST_CASE("pointers that pass through local or shared memory come out again") {
  const std::string locals = ".local .align 8 .b8 depot[64];\n.shared .align 8 .b8 tile[64];\n";
  CHECK(run(locals + load01 + "mov.u64 %rd5, depot;\nst.local.u64 [%rd5], %rd1;\nld.local.u64 %rd6, [%rd5];\nst.global.f32 [%rd6], %f1;",
            {A, B}) == "0:w");
  CHECK(run(locals + load01 + "mov.u64 %rd5, tile;\nst.shared.u64 [%rd5], %rd1;\nld.shared.u64 %rd6, [%rd5];\nst.global.f32 [%rd6], %f1;",
            {A, B}) == "0:w");
  CHECK(run(locals + load01 + "mov.u64 %rd5, tile;\nld.shared.f32 %f1, [%rd5];\nst.global.f32 [%rd1], %f1;", {A, B}) == "0:w");
}

TEST_CASE("generic accesses count as global; atomics read and write; cp.async reads its source") {
  CHECK(run(load01 + "ld.f32 %f1, [%rd1];\nst.f32 [%rd2], %f1;", {A, B}) == "0:r 8:w");
  CHECK(run(load01 + "atom.global.add.u32 %r1, [%rd1], 1;\nred.global.add.u32 [%rd2], 1;", {A, B}) == "0:rw 8:rw");
  CHECK(run(".shared .align 16 .b8 tile[64];\n" + load01 +
                "mov.u32 %r1, tile;\ncp.async.cg.shared.global [%r1], [%rd1], 16;\ncp.async.wait_all;\nst.global.f32 [%rd2], %f1;",
            {A, B}) == "0:r 8:w");
  CHECK(run(load01 + "prefetch.global.L2 [%rd2];\nld.global.f32 %f1, [%rd1];", {A, B}) == "0:r");
}

TEST_CASE("a guard on a store doesn't narrow the load beside it") {
  CHECK(run(load01 + "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n@%p1 st.global.f32 [%rd2], %f1;", {A, B}) == "0:r 8:w");
}

TEST_CASE("what can't be followed is refused by name") {
  CHECK(run(load01 + "ld.global.f32 %f1, [g];", {A}, ".global .f32 g;\n") == "module_variable");
  CHECK(run(load01 + "mov.u64 %rd3, g;\nst.global.u64 [%rd1], %rd3;", {A}, ".global .f32 g;\n") == "module_variable");
  CHECK(run(load01 + "ld.const.f32 %f1, [c];", {A}, ".const .f32 c;\n") == "module_variable");
  CHECK(run(load01 + "frobnicate.b32 %r1, %r2;", {A}) == "unknown_opcode");
  CHECK(run(load01 + "membar.sys;", {A}) == "system_scope");
  CHECK(run(load01 + "ld.volatile.global.u32 %r1, [%rd1];", {A}) == "system_scope");
  CHECK(run(load01 + "atom.sys.global.add.u32 %r1, [%rd1], 1;", {A}) == "system_scope");
  CHECK(run("call.uni other, ();", {A}, ".func other()\n{\nret;\n}\n") == "call");
  CHECK(run("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];", {A}) == "texture");
  CHECK(run("mov.u64 %rd1, 4096;\nst.global.f32 [%rd1], %f1;", {A}) == "unknown_base");
}

TEST_CASE("a kernel that could not be parsed is refused, its neighbours aren't") {
  const ptx::Module module = ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry bad()\n{\nadd.s32 ((;\nret;\n}\n.visible .entry k()\n{\nret;\n}\n");
  CHECK(analyse(module, *module.find_function("bad")).refusal == Refusal::broken);
  CHECK(analyse(module, *module.find_function("k")).understood());
}
