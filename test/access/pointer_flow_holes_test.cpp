#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "placement/access/pointer_flow.h"
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

TEST_CASE("table entry + a zero byte offset given as a parameter") {
  const std::string body = load01 + "ld.global.u64 %rd3, [%rd1];\nadd.s64 %rd4, %rd3, %rd2;\nst.global.f32 [%rd4], %f1;";
  CHECK(run(body, {A, 64}) == "loaded_base");
  CHECK(run(body, {A, 0}) == "loaded_base");  // any refusal would do
}
TEST_CASE("batched or strided: flag ? table[i] + offset : base") {
  const std::string body = load01 +
                           "ld.param.u64 %rd6, [p2];\nld.global.u64 %rd3, [%rd1];\nadd.s64 %rd4, %rd3, %rd2;\n@%p1 mov.u64 %rd4, "
                           "%rd6;\nst.global.f32 [%rd4], %f1;";
  CHECK(run(body, {A, 64, B}) == "loaded_base");
  CHECK(run(body, {A, 0, 0}) == "loaded_base");
}
TEST_CASE("generic load from parameter space at an offset that isn't known") {
  const std::string body =
      "mov.b64 %rd1, p0;\ncvta.param.u64 %rd2, %rd1;\nmul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd3, %rd2, %rd4;\nld.u64 %rd5, "
      "[%rd3];\nld.param.u64 %rd7, [p3];\nadd.s64 %rd8, %rd5, %rd7;\nst.global.f32 [%rd8], %f1;";
  CHECK(run(body, {A, B, C, 0}) == "unsupported_form");
}
TEST_CASE("bar.red result as an index, met with another pointer") {
  const std::string body = load01 +
                           "mov.u64 %rd9, %rd1;\nbar.red.popc.u32 %r1, 0, %p1;\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd2, "
                           "%rd4;\n@%p2 mov.u64 %rd9, %rd5;\nst.global.f32 [%rd9], %f1;";
  CHECK(run(body, {A, B}) == "0:w 8:w");
}
TEST_CASE("ballot/popc as an index, met with another pointer") {
  const std::string body =
      load01 +
      "mov.u64 %rd9, %rd1;\nsetp.lt.s32 %p1, %r2, %r3;\nvote.sync.ballot.b32 %r1, %p1, -1;\npopc.b32 %r4, %r1;\nmul.wide.u32 %rd4, %r4, "
      "4;\nadd.s64 %rd5, %rd2, %rd4;\n@%p2 mov.u64 %rd9, %rd5;\nst.global.f32 [%rd9], %f1;";
  CHECK(run(body, {A, B}) == "0:w 8:w");
}
TEST_CASE("ballot as an index alone") {
  const std::string body = load01 +
                           "setp.lt.s32 %p1, %r2, %r3;\nvote.sync.ballot.b32 %r1, %p1, -1;\npopc.b32 %r4, %r1;\nmul.wide.u32 %rd4, %r4, "
                           "4;\nadd.s64 %rd5, %rd2, %rd4;\nst.global.f32 [%rd5], %f1;";
  CHECK(run(body, {A, B}) == "8:w");
}
TEST_CASE("wmma.mma result as an index, met with another pointer") {
  const std::string body =
      load01 +
      "mov.u64 %rd9, %rd1;\nwmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};\nmul.wide.u32 %rd4, "
      "%r1, 4;\nadd.s64 %rd5, %rd2, %rd4;\n@%p2 mov.u64 %rd9, %rd5;\nst.global.f32 [%rd9], %f1;";
  CHECK(run(body, {A, B}) == "0:w 8:w");
}
TEST_CASE("a pointer compared with a loaded value, or with a number that isn't null") {
  CHECK(run(load01 + "ld.global.u64 %rd3, [%rd2];\nsetp.eq.u64 %p1, %rd1, %rd3;\n@%p1 st.global.f32 [%rd1], %f1;", {A, B}) ==
        "pointer_arithmetic");
  CHECK(run(load01 + "setp.lt.u64 %p1, %rd1, 139637976727552;\n@%p1 st.global.f32 [%rd1], %f1;", {A, B}) == "pointer_arithmetic");
}
TEST_CASE("two choices between the same two pointers, compared") {
  const std::string body =
      load01 +
      "selp.b64 %rd3, %rd1, %rd2, %p1;\nselp.b64 %rd4, %rd1, %rd2, %p2;\nsetp.lt.u64 %p3, %rd3, %rd4;\n@%p3 st.global.f32 [%rd1], %f1;";
  CHECK(run(body, {A, B}) == "pointer_arithmetic");
}
TEST_CASE("two device pointers in one sum") {
  CHECK(run(load01 + "add.s64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f1;", {A, B}) == "pointer_arithmetic");
}
TEST_CASE("alignment mask that is not an alignment: and with a small register constant; or'd back") {
  CHECK(run(load01 + "and.b64 %rd3, %rd1, 255;\nst.global.u64 [%rd2], %rd3;", {A, B}) == "8:w");
  CHECK(run(load01 + "and.b64 %rd3, %rd1, -256;\nst.global.u64 [%rd2], %rd3;", {A, B}) == "pointer_escapes");
}
TEST_CASE("carry of an address") {
  const std::string body = load01 + "mov.b64 {%r1, %r2}, %rd1;\nadd.cc.u32 %r3, %r1, 256;\naddc.u32 %r4, 0, 0;\nst.global.u32 [%rd2], %r4;";
  CHECK(run(body, {A, B}) == "pointer_escapes");
}
TEST_CASE("jump table indexed by a pointer's bits") {
  const std::string body = load01 +
                           "shr.u64 %rd3, %rd1, 12;\ncvt.u32.u64 %r1, %rd3;\nand.b32 %r1, %r1, 1;\nts: .branchtargets L0, L1;\nbrx.idx "
                           "%r1, ts;\nL0:\nst.global.f32 [%rd2], %f1;\nL1:";
  CHECK(run(body, {A, B}) == "pointer_arithmetic");
}
TEST_CASE("null pointer with an access outside its guard is as home") {
  CHECK(run(load01 + "ld.param.u64 %rd3, [p2];\nadd.s64 %rd4, %rd1, %rd3;\nst.global.f32 [%rd4], %f1;\n", {0, B, 0}) == "");
}
TEST_CASE("discard, ldmatrix, stored through shared as 32-bit halves") {
  const std::string l = ".shared .align 16 .b8 tile[64];\n";
  CHECK(run(l + load01 +
                "mov.u64 %rd5, tile;\nmov.b64 {%r1, %r2}, %rd1;\nst.shared.v2.u32 [%rd5], {%r1, %r2};\nld.shared.u64 %rd6, "
                "[%rd5];\nst.global.f32 [%rd6], %f1;",
            {A, B}) != "");
  CHECK(run(l + load01 +
                "mov.u32 %r9, tile;\nmov.b64 {%r1, %r2}, %rd1;\nst.shared.v2.u32 [%r9], {%r1, "
                "%r2};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r9];\nst.global.u32 [%rd2], %r3;",
            {A, B}) == "pointer_escapes");
}
TEST_CASE("parameters as u32 halves; register-addressed param with a loop") {
  CHECK(run("ld.param.v2.u32 {%r1, %r2}, [p0];\nmov.b64 %rd1, {%r1, %r2};\nst.global.f32 [%rd1], %f1;", {A}) != "");
  CHECK(run("mov.b64 %rd1, p0;\nL:\nld.param.u64 %rd3, [%rd1];\nst.global.f32 [%rd3], %f1;\nadd.s64 %rd1, %rd1, 8;\n@%p1 bra L;", {A, B}) ==
        "unsupported_form");
}
