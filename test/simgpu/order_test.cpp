// The same bytes, counters and text whatever the number of threads and the instruction set; atomics; printf; module variables.
#include <random>

#include "test/simgpu/instruction.h"
#include "tools/simgpu/exec/decode.h"
#include "tools/simgpu/exec/semantics.h"

namespace tessera::simgpu {
namespace {

// Every thread adds to a float, bumps an integer and a histogram, and says so in a buffer.
constexpr const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 sum, .param .u64 count, .param .u64 histogram, .param .u64 out) {
  .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [sum]; ld.param.u64 %rd2, [count]; ld.param.u64 %rd3, [histogram]; ld.param.u64 %rd4, [out];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.rn.f32.u32 %f1, %r4;
  rcp.rn.f32 %f2, %f1;
  add.f32 %f2, %f2, 0f3F800000;
  min.f32 %f2, %f2, 0f41200000;
  FLOAT
  red.global.add.u32 [%rd2], 3;
  rem.u32 %r5, %r4, 7;
  mul.wide.u32 %rd5, %r5, 4;
  add.s64 %rd6, %rd3, %rd5;
  red.global.max.u32 [%rd6], %r4;
  mul.wide.u32 %rd7, %r4, 4;
  add.s64 %rd8, %rd4, %rd7;
  st.global.f32 [%rd8], %f2;
  ret;
})";

struct Result {
  std::vector<std::uint32_t> bytes;
  Counters counters;
};

Result run_with(const std::string& program, unsigned threads) {
  Machine machine;
  constexpr unsigned blocks = 96, block = 192;
  const std::uint64_t sum = machine.put(std::vector<float>(1)), count = machine.put(std::vector<std::uint32_t>(1));
  const std::uint64_t histogram = machine.put(std::vector<std::uint32_t>(7)), out = machine.put(std::vector<float>(blocks * block));
  const LaunchOutcome outcome = launch(*machine.load(program).kernel("k"), {blocks, 1, 1}, {block, 1, 1},
                                       Params().add(sum).add(count).add(histogram).add(out), 0, threads);
  require_ok(outcome);
  Result r{machine.get<std::uint32_t>(out, blocks * block), outcome.counters};
  for (const auto& [address, n] : {std::pair{sum, 1u}, std::pair{count, 1u}, std::pair{histogram, 7u}}) {
    for (const std::uint32_t v : machine.get<std::uint32_t>(address, n)) r.bytes.push_back(v);
  }
  CHECK(machine.get<std::uint32_t>(count, 1)[0] == 3 * blocks * block);
  return r;
}

TEST_CASE("bytes and counters don't depend on the number of threads") {
  for (const std::string instruction : {"red.global.add.f32 [%rd1], %f2;", "atom.global.add.f32 %f3, [%rd1], %f2;", ""}) {
    std::string program = text;
    program.replace(program.find("FLOAT"), 5, instruction);
    const Result one = run_with(program, 1);
    for (const unsigned threads : {2u, 3u, 8u}) {
      const Result many = run_with(program, threads);
      CHECK(many.bytes == one.bytes);
      CHECK(many.counters == one.counters);
    }
  }
}

TEST_CASE("atomic operations give the old value and leave the new one") {
  struct Row {
    const char* op;
    std::uint32_t start, operand, result;
  };
  // 32 lanes, one after the other, on one place in shared memory.
  const Row rows[] = {{"add.u32", 5, 3, 5 + 96}, {"min.s32", 5, 0xfffffff0u, 0xfffffff0u},
                      {"max.u32", 5, 9, 9},      {"and.b32", 0xff, 0x0f, 0x0f},
                      {"or.b32", 1, 6, 7},       {"xor.b32", 1, 6, 1},
                      {"exch.b32", 1, 6, 6},     {"inc.u32", 0, 9, 2},
                      {"dec.u32", 0, 9, 8}};
  for (const Row& row : rows) {
    const std::string body = fmt::format(
        "{{ .shared .align 4 .b8 s[4]; mov.u32 %s3, %laneid; setp.eq.u32 %p, %s3, 0; @%p st.shared.u32 [s], {}; bar.warp.sync -1;\n"
        "atom.shared.{} %s0, [s], {}; bar.warp.sync -1; ld.shared.u32 %d, [s]; @%p xor.b32 %s1, %s0, {}; @%p or.b32 %d, %d, %s1; }}",
        row.start, row.op, row.operand, row.start);
    const Bits got = run_instruction(body, {4, 4}, Bits(32));
    for (const std::uint64_t v : got) CHECK(v == row.result);
  }
}

TEST_CASE("device printf writes block after block, and understands the conversions") {
  const char* program = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 format[] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 32, 37, 108, 108, 120, 37, 37, 10, 0};
.global .align 1 .b8 word[3] = {104, 105, 0};
.visible .entry k() {
  .local .align 8 .b8 depot[32];
  .reg .b64 %SP, %SPL; .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f64 %fd<3>;
  mov.u64 %SPL, depot;
  cvta.local.u64 %SP, %SPL;
  mov.u32 %r1, %ctaid.x;
  cvt.rn.f64.u32 %fd1, %r1;
  mov.u64 %rd1, word;
  cvta.global.u64 %rd1, %rd1;
  st.local.u32 [%SPL], %r1;
  st.local.f64 [%SPL+8], %fd1;
  st.local.u64 [%SPL+16], %rd1;
  st.local.u64 [%SPL+24], 255;
  mov.u64 %rd2, format;
  { .param .b64 a; st.param.b64 [a], %rd2; .param .b64 b; st.param.b64 [b], %SP; .param .b32 r; call.uni (r), vprintf, (a, b); ld.param.b32 %r2, [r]; }
  ret;
})";
  for (const unsigned threads : {1u, 4u}) {
    Machine machine;
    const LaunchOutcome outcome = launch(*machine.load(program).kernel("k"), {3, 1, 1}, {1, 1, 1}, Params(), 0, threads);
    require_ok(outcome);
    CHECK(outcome.output == "0  0.00 hi ff%\n1  1.00 hi ff%\n2  2.00 hi ff%\n");
  }
}

TEST_CASE("module variables hold their initialisers, also the addresses of others") {
  const char* program = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 table[4] = {10, 20, 30};
.const .align 8 .u64 where = table;
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.const.u64 %rd1, [where];
  ld.u32 %r1, [%rd1+8];
  ld.global.u32 %r2, [table+4];
  mov.u64 %rd2, table;
  ld.global.u32 %r3, [%rd2+12];
  ld.param.u64 %rd3, [out];
  st.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r3};
  ret;
})";
  Machine machine;
  ExecModule& module = machine.load(program);
  REQUIRE(module.global("table") != nullptr);
  CHECK(module.global("table")->size == 16);
  const std::uint64_t out = machine.put(std::vector<std::uint32_t>(4, 9));
  require_ok(launch(*module.kernel("k"), {1, 1, 1}, {1, 1, 1}, Params().add(out)));
  CHECK(machine.get<std::uint32_t>(out, 4) == std::vector<std::uint32_t>{30, 20, 0, 0});
}

TEST_CASE("all instruction sets of this machine offer the same instructions") {
  unsigned count = 0;
  const Semantics* const* all = runnable_semantics(count);
  REQUIRE(count >= 1);
  const ptx::Module module =
      ptx::parse(kernel_for("fma.rn.ftz.sat.f32 %d, %a, %b, %c; cvt.rzi.s32.f32 %s0, %d; lop3.b32 %d, %a, %b, %c, 0x96;", {4, 4, 4, 4}));
  REQUIRE(module.diagnostics.empty());
  for (unsigned i = 0; i < count; ++i) {
    INFO(all[i]->name);
    const auto nowhere = [](const ptx::Variable&) { return std::optional<std::uint64_t>{}; };
    CHECK(decode(module, module.functions[0], nowhere, *all[i]).ok());
  }
}

}  // namespace
}  // namespace tessera::simgpu
