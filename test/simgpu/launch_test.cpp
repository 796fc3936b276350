// Whole kernels: vectors, blocks, threads, counters.
#include <set>

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
    CHECK(outcome.counters.unique_read_sectors == 2 * ((4u * n + 31) / 32));
    CHECK(outcome.counters.unique_written_sectors == (4u * n + 31) / 32);
    CHECK(outcome.counters.external_sectors == 0);
  }
}

TEST_CASE("distinct sectors are counted once a launch, whatever the number of workers, and those of the host apart") {
  Machine machine;
  const ExecKernel& kernel = *machine
                                  .load(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 out, .param .u32 stride) {
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [table];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [stride];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mul.lo.u32 %r4, %r2, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u32 %r5, [%rd4];
  mul.wide.u32 %rd5, %r3, 4;
  add.s64 %rd6, %rd2, %rd5;
  red.global.add.u32 [%rd6], %r5;
  ret;
})")
                                  .kernel("k");
  constexpr unsigned blocks = 300, threads = 128, elements = 16 * threads;
  std::vector<std::uint32_t> host(elements + 8, 3);
  const std::uint64_t pinned = reinterpret_cast<std::uint64_t>(host.data() + 7) & ~std::uint64_t{31};
  REQUIRE(machine.device().memory->map_external(pinned, 4 * elements, "pinned").ok());
  for (const bool outside : {false, true}) {
    for (const unsigned stride : {1u, 3u, 8u, 16u}) {
      const std::uint64_t table = outside ? pinned : machine.put(std::vector<std::uint32_t>(elements, 3));
      const std::uint64_t out = machine.put(std::vector<std::uint32_t>(blocks, 0));
      std::set<std::uint64_t> sectors;
      for (unsigned i = 0; i < threads; ++i) sectors.insert((table + 4 * i * stride) / 32);
      std::vector<Counters> seen;
      for (const unsigned workers : {1u, 4u}) {
        LaunchConfig config;
        const Params params = Params().add(table).add(out).add(stride);
        config.grid = {blocks, 1, 1}, config.block = {threads, 1, 1}, config.threads = workers, config.params = params.bytes();
        const LaunchOutcome outcome = run(kernel, config);
        require_ok(outcome);
        CHECK(outcome.counters.unique_read_sectors == sectors.size() + (4 * blocks + 31) / 32);
        CHECK(outcome.counters.unique_written_sectors == (4 * blocks + 31) / 32);
        CHECK(outcome.counters.external_sectors == (outside ? sectors.size() : 0));
        CHECK(outcome.counters.global_read_sectors >= blocks * sectors.size());
        seen.push_back(outcome.counters);
      }
      CHECK(seen[0] == seen[1]);
    }
  }
}

}  // namespace
}  // namespace tessera::simgpu
