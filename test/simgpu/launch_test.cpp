// Whole kernels: vectors, blocks, threads, counters.
#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

constexpr std::string_view vector_add = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $done;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2;
  add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3;
  add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$done:
  ret;
}
)";

TEST_CASE("a vector addition adds vectors, with and without a partial last warp") {
  Machine machine;
  const ExecKernel& kernel = *machine.load(vector_add).kernel("add");
  for (const unsigned n : {1u, 31u, 32u, 100u, 4096u, 5000u}) {
    std::vector<float> a(n), b(n), c(n, -1.0f);
    for (unsigned i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = 0.5f * static_cast<float>(i);
    const std::uint64_t da = machine.put(a), db = machine.put(b), dc = machine.put(c);
    const LaunchOutcome outcome = launch(kernel, {(n + 127) / 128, 1, 1}, {128, 1, 1}, Params().add(da).add(db).add(dc).add(n));
    require_ok(outcome);
    const auto got = machine.get<float>(dc, n);
    for (unsigned i = 0; i < n; ++i) REQUIRE(got[i] == a[i] + b[i]);
    CHECK(outcome.counters.global_read_bytes == 8u * n);
    CHECK(outcome.counters.global_written_bytes == 4u * n);
    CHECK(outcome.counters.global_written_sectors == (4u * n + 31) / 32);
    CHECK(outcome.counters.ops(Unit::fp32) == n);
  }
}

}  // namespace
}  // namespace tessera::simgpu
