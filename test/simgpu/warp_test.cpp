// Exchange between lanes: shuffles, votes, matches, reductions; waiting for lanes that are elsewhere; matrix fragments.
#include "test/simgpu/instruction.h"

namespace tessera::simgpu {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;

// PTX ISA's pseudocode of shfl.sync, for one lane.
U32 shuffled(const std::string& mode, const Bits& a, unsigned lane, U32 b, U32 c, bool& p) {
  const int clamp = static_cast<int>(c & 31), segment = static_cast<int>((c >> 8) & 31), by = static_cast<int>(b & 31),
            me = static_cast<int>(lane);
  const int highest = (me & segment) | (clamp & ~segment), lowest = me & segment;
  int j = 0;
  if (mode == "up") j = me - by, p = j >= highest;
  if (mode == "down") j = me + by, p = j <= highest;
  if (mode == "bfly") j = me ^ by, p = j <= highest;
  if (mode == "idx") j = lowest | (by & ~segment), p = j <= highest;
  return static_cast<U32>(a[static_cast<std::size_t>(p ? j : me)]);
}

TEST_CASE("shuffles in every mode, width and distance") {
  Bits a;
  for (unsigned i = 0; i < 32; ++i) a.push_back(1000 + i * i);
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    for (const unsigned width : {32u, 16u, 8u}) {
      for (const unsigned by : {0u, 1u, 5u, 8u, 31u}) {
        const U32 c = (mode == "up" ? 0u : 31u) | (32 - width) << 8;
        const std::string text =
            fmt::format("shfl.sync.{}.b32 %s0|%p, %a, {}, {}, -1; selp.u32 %s1, 0x80000000, 0, %p; or.b32 %d, %s0, %s1;", mode, by, c);
        const Bits got = run_instruction(text, {4, 4}, a);
        for (unsigned i = 0; i < 32; ++i) {
          bool p = false;
          const U32 value = shuffled(mode, a, i, by, c, p);
          INFO(text << " lane " << i);
          CHECK(got[i] == (value | (p ? 0x80000000u : 0u)));
        }
      }
    }
  }
}

TEST_CASE("votes, ballots, matches and reductions over a warp") {
  Bits a;
  for (unsigned i = 0; i < 32; ++i) a.push_back(i % 5);
  const auto all_equal = [&](const std::string& text, auto&& wanted) {
    const Bits got = run_instruction(text, {4, 4}, a);
    INFO(text);
    for (unsigned i = 0; i < 32; ++i) CHECK(got[i] == wanted(i));
  };
  U32 below3 = 0, sum = 0;
  for (unsigned i = 0; i < 32; ++i) below3 |= (i % 5 < 3 ? 1u : 0u) << i, sum += i % 5;
  all_equal("setp.lt.u32 %p, %a, 3; vote.sync.ballot.b32 %d, %p, -1;", [&](unsigned) { return U64{below3}; });
  all_equal("setp.lt.u32 %p, %a, 3; vote.sync.any.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;", [](unsigned) { return U64{1}; });
  all_equal("setp.lt.u32 %p, %a, 3; vote.sync.all.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;", [](unsigned) { return U64{0}; });
  all_equal("setp.lt.u32 %p, %a, 9; vote.sync.uni.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;", [](unsigned) { return U64{1}; });
  all_equal("match.any.sync.b32 %d, %a, -1;", [](unsigned i) {
    U64 m = 0;
    for (unsigned k = 0; k < 32; ++k) m |= U64{k % 5 == i % 5} << k;
    return m;
  });
  all_equal("match.all.sync.b32 %s0|%p, %a, -1; selp.u32 %d, 1, %s0, %p;", [](unsigned) { return U64{0}; });
  all_equal("redux.sync.add.u32 %d, %a, -1;", [&](unsigned) { return U64{sum}; });
  all_equal("redux.sync.max.s32 %d, %a, -1;", [&](unsigned) { return U64{4}; });
  all_equal("redux.sync.xor.b32 %d, %a, -1;", [&](unsigned) {
    U64 x = 0;
    for (const U64 v : a) x ^= v;
    return x;
  });
  all_equal("elect.sync %s0|%p, -1; selp.u32 %d, 1, 2, %p;", [](unsigned i) { return i == 0 ? U64{1} : U64{2}; });
}

TEST_CASE("a warp-wide instruction waits for the lanes of its mask") {
  // Lanes 0…15 come late, by a branch of their own; the shuffle must still see all 32.
  Bits a;
  for (unsigned i = 0; i < 32; ++i) a.push_back(i);
  const Bits got = run_instruction(
      "mov.u32 %s1, 0; setp.ge.u32 %p, %a, 16; @%p bra HIGH;\n"
      "LOOP: add.u32 %s1, %s1, 1; setp.lt.u32 %q, %s1, %a; @%q bra LOOP;\n"
      "bar.warp.sync -1; bra MEET;\n"
      "HIGH: bar.warp.sync -1;\n"
      "MEET: shfl.sync.bfly.b32 %d, %a, 16, 31, -1;",
      {4, 4}, a);
  for (unsigned i = 0; i < 32; ++i) CHECK(got[i] == (i ^ 16));
}

TEST_CASE("lanes that have ended aren't waited for") {
  Bits a;
  for (unsigned i = 0; i < 32; ++i) a.push_back(i);
  const Bits got = run_instruction("setp.ge.u32 %p, %a, 20; @%p exit; vote.sync.ballot.b32 %d, 1, -1;", {4, 4}, a);
  for (unsigned i = 0; i < 32; ++i) CHECK(got[i] == (i < 20 ? U64{0xfffff} : U64{0}));
}

// ldmatrix feeds mma from row-major matrices in shared memory; the result must be the matrix product.
TEST_CASE("ldmatrix and mma multiply matrices") {
  const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pd) {
  .shared .align 16 .b8 sa[512];
  .shared .align 16 .b8 sb[256];
  .reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .f32 %f<8>;
  ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pd];
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 4;
  cvt.u64.u32 %rd4, %r1;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];
  mov.u32 %r6, sa;
  add.u32 %r7, %r6, %r1;
  st.shared.v4.u32 [%r7], {%r2, %r3, %r4, %r5};
  shl.b32 %r8, %r0, 3;
  cvt.u64.u32 %rd6, %r8;
  add.s64 %rd7, %rd2, %rd6;
  mov.u32 %r9, sb;
  add.u32 %r10, %r9, %r8;
  cp.async.ca.shared.global [%r10], [%rd7], 8;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  and.b32 %r11, %r0, 15;
  shl.b32 %r11, %r11, 5;
  shr.u32 %r12, %r0, 4;
  shl.b32 %r12, %r12, 4;
  add.u32 %r13, %r6, %r11;
  add.u32 %r13, %r13, %r12;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r14, %r15, %r16, %r17}, [%r13];
  and.b32 %r18, %r0, 15;
  shl.b32 %r18, %r18, 4;
  add.u32 %r19, %r9, %r18;
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r20, %r21}, [%r19];
  mov.f32 %f1, 0f3F800000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r14, %r15, %r16, %r17}, {%r20, %r21}, {%f1, %f1, %f1, %f1};
  shr.u32 %r22, %r0, 2;
  shl.b32 %r22, %r22, 5;
  and.b32 %r23, %r0, 3;
  shl.b32 %r23, %r23, 3;
  add.u32 %r24, %r22, %r23;
  cvt.u64.u32 %rd8, %r24;
  add.s64 %rd9, %rd3, %rd8;
  st.global.v2.f32 [%rd9], {%f2, %f3};
  st.global.v2.f32 [%rd9+256], {%f4, %f5};
  ret;
})";
  Machine machine;
  // Small integers: exact in f16, and their products in f32.
  const auto half = [](int v) {
    return static_cast<std::uint16_t>(v == 0 ? 0 : [v] {
      const int m = v < 0 ? -v : v;
      int e = 0;
      while ((m >> (e + 1)) != 0) ++e;
      return (v < 0 ? 0x8000 : 0) | (e + 15) << 10 | ((m << (10 - e)) & 0x3ff);
    }());
  };
  std::mt19937 random(5);
  int a[16][16], b[16][8];
  std::vector<std::uint16_t> ha, hb;
  for (auto& row : a)
    for (int& v : row) v = static_cast<int>(random() % 17) - 8, ha.push_back(half(v));
  for (auto& row : b)
    for (int& v : row) v = static_cast<int>(random() % 17) - 8, hb.push_back(half(v));
  const std::uint64_t out = machine.put(std::vector<float>(128));
  const LaunchOutcome outcome =
      launch(*machine.load(text).kernel("k"), {1, 1, 1}, {32, 1, 1}, Params().add(machine.put(ha)).add(machine.put(hb)).add(out));
  require_ok(outcome);
  const auto d = machine.get<float>(out, 128);
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned j = 0; j < 8; ++j) {
      int sum = 1;
      for (unsigned k = 0; k < 16; ++k) sum += a[i][k] * b[k][j];
      CHECK(d[i * 8 + j] == static_cast<float>(sum));
    }
  }
  CHECK(outcome.counters.tensor_ops(TensorType::f16) == 16 * 8 * 16);
}

}  // namespace
}  // namespace tessera::simgpu
