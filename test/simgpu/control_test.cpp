// Control flow: lanes part and meet again, loops, early exits, calls, barriers, locks.
#include <fmt/core.h>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

// A kernel of one u32 result a thread: `body` computes %r1 from %r0 = the thread's number.
std::string kernel(const std::string& body, const std::string& before = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 out) {\n.reg .pred %p<10>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<10>;\n"
         ".shared .align 4 .b8 buffer[8192];\n"
         "mov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\n" +
         body +
         "\nSTORE:\nld.param.u64 %rd1, [out];\nmov.u32 %r28, %ctaid.x;\nmov.u32 %r29, %ntid.x;\nmad.lo.u32 %r28, %r28, %r29, %r0;\n"
         "mul.wide.u32 %rd2, %r28, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
}

struct Ran {
  std::vector<std::uint32_t> values;
  Counters counters;
};

Ran run_kernel(const std::string& text, unsigned threads, unsigned blocks = 1) {
  Machine machine;
  const std::uint64_t out = machine.put(std::vector<std::uint32_t>(threads * blocks, 0xdeadbeefu));
  const LaunchOutcome outcome = launch(*machine.load(text).kernel("k"), {blocks, 1, 1}, {threads, 1, 1}, Params().add(out));
  require_ok(outcome);
  return {machine.get<std::uint32_t>(out, threads * blocks), outcome.counters};
}

TEST_CASE("nested branches: each lane takes its own way, and they meet again") {
  const Ran ran = run_kernel(kernel(R"(
    and.b32 %r2, %r0, 1;
    and.b32 %r3, %r0, 2;
    setp.eq.u32 %p1, %r2, 0;
    setp.eq.u32 %p2, %r3, 0;
    @%p1 bra EVEN;
    @%p2 bra ODD_LOW;
    add.u32 %r1, %r1, 3;
    bra JOIN;
  ODD_LOW:
    add.u32 %r1, %r1, 1;
    bra JOIN;
  EVEN:
    @%p2 bra EVEN_LOW;
    add.u32 %r1, %r1, 2;
  EVEN_LOW:
    add.u32 %r1, %r1, 10;
  JOIN:
    activemask.b32 %r4;
    popc.b32 %r5, %r4;
    mad.lo.u32 %r1, %r5, 100, %r1;
  )"),
                             32);
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned way = (i & 1) == 0 ? ((i & 2) == 0 ? 10 : 12) : ((i & 2) == 0 ? 1 : 3);
    CHECK(ran.values[i] == 3200 + way);  // all 32 lanes are together again at JOIN
  }
  CHECK(ran.counters.divergent_branches == 3);
}

TEST_CASE("loops with different trip counts leave together behind the loop") {
  const Ran ran = run_kernel(kernel(R"(
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    setp.le.u32 %p1, %r2, %r0;
    @%p1 bra LOOP;
    activemask.b32 %r4;
    popc.b32 %r5, %r4;
    mad.lo.u32 %r1, %r5, 10000, %r1;
  )"),
                             64);
  for (unsigned i = 0; i < 64; ++i) CHECK(ran.values[i] == 320000 + i * (i + 1) / 2);
}

TEST_CASE("break out of an inner loop, continue, and an early return") {
  const Ran ran = run_kernel(kernel(R"(
    setp.gt.u32 %p9, %r0, 60;
    @%p9 ret;
    mov.u32 %r2, 0;
  OUTER:
    mov.u32 %r3, 0;
  INNER:
    add.u32 %r3, %r3, 1;
    and.b32 %r4, %r3, 1;
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra CONTINUE;
    setp.gt.u32 %p2, %r3, %r0;
    @%p2 bra OUT;
    add.u32 %r1, %r1, %r3;
  CONTINUE:
    setp.lt.u32 %p3, %r3, 9;
    @%p3 bra INNER;
  OUT:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p4, %r2, 3;
    @%p4 bra OUTER;
  )"),
                             64);
  for (unsigned i = 0; i < 64; ++i) {
    if (i > 60) {
      CHECK(ran.values[i] == 0xdeadbeefu);
      continue;
    }
    unsigned sum = 0;
    for (unsigned outer = 0; outer < 3; ++outer) {
      for (unsigned j = 1; j <= 9; ++j) {
        if (j % 2 == 0) continue;
        if (j > i) break;
        sum += j;
      }
    }
    CHECK(ran.values[i] == sum);
  }
}

TEST_CASE("guarded instructions touch only lanes whose guard holds") {
  const Ran ran = run_kernel(kernel(R"(
    setp.lt.u32 %p1, %r0, 7;
    @%p1 add.u32 %r1, %r1, 5;
    @!%p1 mov.u32 %r1, 9;
  )"),
                             48);
  for (unsigned i = 0; i < 48; ++i) CHECK(ran.values[i] == (i < 7 ? 5u : 9u));
}

TEST_CASE("an indexed branch goes to each lane's target") {
  const Ran ran = run_kernel(kernel(R"(
    rem.u32 %r2, %r0, 3;
    TARGETS: .branchtargets A, B, C;
    brx.idx %r2, TARGETS;
  A: mov.u32 %r1, 11; bra STORE;
  B: mov.u32 %r1, 22; bra STORE;
  C: mov.u32 %r1, 33;
  )"),
                             32);
  for (unsigned i = 0; i < 32; ++i) CHECK(ran.values[i] == 11 * (i % 3 + 1));
}

constexpr const char* factorial = R"(
.func (.param .b32 result) factorial(.param .b32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  mov.u32 %r4, 1;
  @!%p1 bra DONE;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 a;
    st.param.b32 [a], %r2;
    .param .b32 r;
    call.uni (r), factorial, (a);
    ld.param.b32 %r3, [r];
  }
  mul.lo.u32 %r4, %r1, %r3;
DONE:
  st.param.b32 [result], %r4;
  ret;
}
)";

TEST_CASE("calls recurse, each lane to its own depth") {
  const Ran ran = run_kernel(kernel(R"(
    rem.u32 %r2, %r0, 11;
    {
      .param .b32 a;
      st.param.b32 [a], %r2;
      .param .b32 r;
      call.uni (r), factorial, (a);
      ld.param.b32 %r1, [r];
    }
    activemask.b32 %r3;
    popc.b32 %r4, %r3;
    setp.ne.u32 %p1, %r4, 32;
    @%p1 mov.u32 %r1, 0;
  )",
                                    factorial),
                             32);
  for (unsigned i = 0; i < 32; ++i) {
    unsigned f = 1;
    for (unsigned k = 2; k <= i % 11; ++k) f *= k;
    CHECK(ran.values[i] == f);
  }
}

TEST_CASE("a recursion without end is a stack overflow") {
  Machine machine;
  const std::string text = kernel(R"(
    { .param .b32 a; st.param.b32 [a], %r0; call.uni forever, (a); }
  )",
                                  ".func forever(.param .b32 n) { .reg .b32 %r<2>; ld.param.u32 %r1, [n]; { .param .b32 a; st.param.b32 "
                                  "[a], %r1; call.uni forever, (a); } ret; }\n");
  const LaunchOutcome outcome =
      launch(*machine.load(text).kernel("k"), {1, 1, 1}, {32, 1, 1}, Params().add(machine.put(std::vector<int>(32))));
  REQUIRE(outcome.fault);
  CHECK(outcome.fault->kind == FaultKind::stack_overflow);
}

TEST_CASE("a reduction through shared memory and barriers") {
  const Ran ran = run_kernel(kernel(R"(
    mov.u32 %r2, buffer;
    shl.b32 %r3, %r0, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    mov.u32 %r5, 128;
  LOOP:
    setp.ge.u32 %p1, %r0, %r5;
    @%p1 bra SKIP;
    shl.b32 %r6, %r5, 2;
    add.u32 %r7, %r4, %r6;
    ld.shared.u32 %r8, [%r7];
    ld.shared.u32 %r9, [%r4];
    add.u32 %r9, %r9, %r8;
    st.shared.u32 [%r4], %r9;
  SKIP:
    bar.sync 0;
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra LOOP;
    ld.shared.u32 %r1, [buffer];
  )"),
                             256, 3);
  for (const std::uint32_t v : ran.values) CHECK(v == 255 * 256 / 2);
}

TEST_CASE("warps that have ended aren't waited for at a barrier") {
  const Ran ran = run_kernel(kernel(R"(
    setp.ge.u32 %p1, %r0, 64;
    @%p1 ret;
    bar.sync 0;
    mov.u32 %r1, 1;
  )"),
                             128);
  for (unsigned i = 0; i < 128; ++i) CHECK(ran.values[i] == (i < 64 ? 1u : 0xdeadbeefu));
}

TEST_CASE("barriers with counts, arrivals and reductions") {
  const Ran ran = run_kernel(kernel(R"(
    setp.lt.u32 %p1, %r0, 64;
    @%p1 bra CONSUMER;
    mov.u32 %r2, 77;
    st.shared.u32 [buffer], %r2;
    bar.arrive 3, 128;
    bra TOGETHER;
  CONSUMER:
    bar.sync 3, 128;
    ld.shared.u32 %r1, [buffer];
  TOGETHER:
    setp.lt.u32 %p2, %r0, 10;
    bar.red.popc.u32 %r3, 0, %p2;
    bar.red.and.pred %p3, 0, %p2;
    bar.red.or.pred %p4, 0, %p2;
    mad.lo.u32 %r1, %r3, 1000, %r1;
    @%p3 add.u32 %r1, %r1, 100000;
    @%p4 add.u32 %r1, %r1, 1000000;
  )"),
                             128);
  for (unsigned i = 0; i < 128; ++i) CHECK(ran.values[i] == 1010000 + (i < 64 ? 77u : 0u));
}

TEST_CASE("a barrier that can't complete is reported, not waited for") {
  Machine machine;
  const std::string text = kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64; bar.sync 0;");
  const LaunchOutcome outcome =
      launch(*machine.load(text).kernel("k"), {1, 1, 1}, {64, 1, 1}, Params().add(machine.put(std::vector<int>(64))));
  REQUIRE(outcome.fault);
  CHECK(outcome.fault->kind == FaultKind::barrier_deadlock);
}

TEST_CASE("a lock between lanes of one warp makes progress") {
  const Ran ran = run_kernel(kernel(R"(
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra AFTER_INIT;
    st.shared.u32 [buffer], 0;
    st.shared.u32 [buffer+4], 0;
  AFTER_INIT:
    bar.sync 0;
  SPIN:
    atom.shared.cas.b32 %r2, [buffer], 0, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra SPIN;
    ld.shared.u32 %r3, [buffer+4];
    add.u32 %r3, %r3, 1;
    st.shared.u32 [buffer+4], %r3;
    atom.shared.exch.b32 %r4, [buffer], 0;
    bar.sync 0;
    ld.shared.u32 %r1, [buffer+4];
  )"),
                             8);
  for (const std::uint32_t v : ran.values) CHECK(v == 8);
}

TEST_CASE("a cooperative launch keeps all blocks running: a grid barrier completes") {
  Machine machine;
  const std::string text = R"(
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 counter, .param .u64 out) {
      .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
      ld.param.u64 %rd1, [counter];
      ld.param.u64 %rd2, [out];
      atom.global.add.u32 %r1, [%rd1], 1;
    SPIN:
      ld.volatile.global.u32 %r2, [%rd1];
      mov.u32 %r3, %nctaid.x;
      setp.lt.u32 %p1, %r2, %r3;
      @%p1 bra SPIN;
      mov.u32 %r4, %ctaid.x;
      mul.wide.u32 %rd3, %r4, 4;
      add.s64 %rd4, %rd2, %rd3;
      st.global.u32 [%rd4], %r2;
      ret;
    })";
  const std::uint64_t counter = machine.put(std::vector<std::uint32_t>(1)), out = machine.put(std::vector<std::uint32_t>(20));
  Params params;
  params.add(counter).add(out);
  LaunchConfig config;
  config.grid = {20, 1, 1};
  config.params = params.bytes();
  config.cooperative = true;
  require_ok(run(*machine.load(text).kernel("k"), config));
  for (const std::uint32_t v : machine.get<std::uint32_t>(out, 20)) CHECK(v == 20);
}

TEST_CASE("a cooperative launch has a fresh workspace of its grid at %envreg1:%envreg2, any other launch has none") {
  Machine machine;
  const std::string text = R"(
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 out) {
      .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
      ld.param.u64 %rd1, [out];
      mov.u32 %r1, %envreg1;
      mov.u32 %r2, %envreg2;
      mov.b64 %rd2, {%r2, %r1};
      setp.eq.s64 %p1, %rd2, 0;
      mov.u32 %r3, 99;
      @%p1 bra DONE;
      ld.u32 %r4, [%rd2];
      atom.add.u32 %r3, [%rd2+4], %r4;
    DONE:
      atom.global.add.u32 %r5, [%rd1], %r3;
      ret;
    })";
  const ExecKernel& kernel = *machine.load(text).kernel("k");
  const std::uint64_t out = machine.put(std::vector<std::uint32_t>(1));
  Params params;
  params.add(out);
  LaunchConfig config;
  config.grid = {4, 1, 1};
  config.params = params.bytes();
  require_ok(run(kernel, config));
  CHECK(machine.get<std::uint32_t>(out, 1)[0] == 4 * 99);
  config.cooperative = true;
  for (int i = 1; i <= 2; ++i) {  // each launch finds a barrier word of zero: 0 + 8 + 16 + 24
    require_ok(run(kernel, config));
    CHECK(machine.get<std::uint32_t>(out, 1)[0] == static_cast<std::uint32_t>(4 * 99 + i * 48));
  }
}

}  // namespace
}  // namespace tessera::simgpu
