// Speed of the PTX machine: lane-instructions a second on one thread.
//
// Kernels as nvcc writes them (fma-heavy tiled matrix product through shared memory; elementwise with one load and store; a loop whose
// lanes leave at different times). The counter lane_instructions/s is what the issue's aims are about.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "placement/ptx/parse.h"
#include "tools/simgpu/exec/launch.h"

namespace tessera::simgpu {
namespace {

constexpr std::string_view text = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry scale(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n, .param .f32 p_a) {
  .reg .pred %p<2>;
  .reg .f32 %f<5>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [p_in];
  ld.param.u64 %rd2, [p_out];
  ld.param.u32 %r1, [p_n];
  ld.param.f32 %f1, [p_a];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd1;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.global.nc.f32 %f2, [%rd5];
  fma.rn.f32 %f3, %f2, %f1, 0f3F800000;
  cvta.to.global.u64 %rd6, %rd2;
  add.s64 %rd7, %rd6, %rd4;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;
}

.visible .entry product(.param .u64 p_a, .param .u64 p_b, .param .u64 p_c, .param .u32 p_n) {
  .reg .pred %p<3>;
  .reg .f32 %f<60>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .shared .align 4 .b8 sa[1024];
  .shared .align 4 .b8 sb[1024];
  ld.param.u64 %rd1, [p_a];
  ld.param.u64 %rd2, [p_b];
  ld.param.u64 %rd3, [p_c];
  ld.param.u32 %r1, [p_n];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ctaid.y;
  shl.b32 %r6, %r5, 4;
  add.s32 %r6, %r6, %r3;
  shl.b32 %r7, %r4, 4;
  add.s32 %r7, %r7, %r2;
  mov.f32 %f1, 0f00000000;
  shl.b32 %r8, %r3, 6;
  mov.u32 %r9, sa;
  add.s32 %r10, %r9, %r8;
  shl.b32 %r11, %r2, 2;
  add.s32 %r12, %r10, %r11;
  mov.u32 %r13, sb;
  add.s32 %r14, %r13, %r11;
  add.s32 %r15, %r14, %r8;
  mov.u32 %r16, 0;
TILE:
  mad.lo.s32 %r17, %r6, %r1, %r16;
  add.s32 %r17, %r17, %r2;
  mul.wide.s32 %rd4, %r17, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.nc.f32 %f2, [%rd5];
  st.shared.f32 [%r12], %f2;
  add.s32 %r18, %r16, %r3;
  mad.lo.s32 %r18, %r18, %r1, %r7;
  mul.wide.s32 %rd6, %r18, 4;
  add.s64 %rd7, %rd2, %rd6;
  ld.global.nc.f32 %f3, [%rd7];
  st.shared.f32 [%r15], %f3;
  bar.sync 0;
  ld.shared.f32 %f4, [%r10];
  ld.shared.f32 %f5, [%r14];
  fma.rn.f32 %f1, %f4, %f5, %f1;
  ld.shared.f32 %f6, [%r10+4];
  ld.shared.f32 %f7, [%r14+64];
  fma.rn.f32 %f1, %f6, %f7, %f1;
  ld.shared.f32 %f8, [%r10+8];
  ld.shared.f32 %f9, [%r14+128];
  fma.rn.f32 %f1, %f8, %f9, %f1;
  ld.shared.f32 %f10, [%r10+12];
  ld.shared.f32 %f11, [%r14+192];
  fma.rn.f32 %f1, %f10, %f11, %f1;
  ld.shared.f32 %f12, [%r10+16];
  ld.shared.f32 %f13, [%r14+256];
  fma.rn.f32 %f1, %f12, %f13, %f1;
  ld.shared.f32 %f14, [%r10+20];
  ld.shared.f32 %f15, [%r14+320];
  fma.rn.f32 %f1, %f14, %f15, %f1;
  ld.shared.f32 %f16, [%r10+24];
  ld.shared.f32 %f17, [%r14+384];
  fma.rn.f32 %f1, %f16, %f17, %f1;
  ld.shared.f32 %f18, [%r10+28];
  ld.shared.f32 %f19, [%r14+448];
  fma.rn.f32 %f1, %f18, %f19, %f1;
  ld.shared.f32 %f20, [%r10+32];
  ld.shared.f32 %f21, [%r14+512];
  fma.rn.f32 %f1, %f20, %f21, %f1;
  ld.shared.f32 %f22, [%r10+36];
  ld.shared.f32 %f23, [%r14+576];
  fma.rn.f32 %f1, %f22, %f23, %f1;
  ld.shared.f32 %f24, [%r10+40];
  ld.shared.f32 %f25, [%r14+640];
  fma.rn.f32 %f1, %f24, %f25, %f1;
  ld.shared.f32 %f26, [%r10+44];
  ld.shared.f32 %f27, [%r14+704];
  fma.rn.f32 %f1, %f26, %f27, %f1;
  ld.shared.f32 %f28, [%r10+48];
  ld.shared.f32 %f29, [%r14+768];
  fma.rn.f32 %f1, %f28, %f29, %f1;
  ld.shared.f32 %f30, [%r10+52];
  ld.shared.f32 %f31, [%r14+832];
  fma.rn.f32 %f1, %f30, %f31, %f1;
  ld.shared.f32 %f32, [%r10+56];
  ld.shared.f32 %f33, [%r14+896];
  fma.rn.f32 %f1, %f32, %f33, %f1;
  ld.shared.f32 %f34, [%r10+60];
  ld.shared.f32 %f35, [%r14+960];
  fma.rn.f32 %f1, %f34, %f35, %f1;
  bar.sync 0;
  add.s32 %r16, %r16, 16;
  setp.lt.s32 %p1, %r16, %r1;
  @%p1 bra TILE;
  mad.lo.s32 %r20, %r6, %r1, %r7;
  mul.wide.s32 %rd8, %r20, 4;
  add.s64 %rd9, %rd3, %rd8;
  st.global.f32 [%rd9], %f1;
  ret;
}

.visible .entry collatz(.param .u64 p_out, .param .u32 p_n) {
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [p_out];
  ld.param.u32 %r1, [p_n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  add.s32 %r6, %r5, 1;
  mov.u32 %r7, 0;
LOOP:
  setp.le.u32 %p2, %r6, 1;
  @%p2 bra STORE;
  and.b32 %r8, %r6, 1;
  setp.eq.s32 %p3, %r8, 0;
  @%p3 bra EVEN;
  mad.lo.s32 %r6, %r6, 3, 1;
  bra NEXT;
EVEN:
  shr.u32 %r6, %r6, 1;
NEXT:
  add.s32 %r7, %r7, 1;
  bra LOOP;
STORE:
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r7;
DONE:
  ret;
}
)";

struct World {
  std::unique_ptr<Device> device;
  std::unique_ptr<ExecModule> module;
};

World& world() {
  static World w = [] {
    World made;
    made.device = std::move(Device::create({})).value();
    made.module = std::move(load(std::make_shared<ptx::Module>(ptx::parse(text)), *made.device)).value();
    return made;
  }();
  return w;
}

void launch_again(benchmark::State& state, const char* kernel, LaunchConfig config) {
  config.threads = 1;
  std::uint64_t lanes = 0, warps = 0;
  for (auto _ : state) {
    const LaunchOutcome outcome = run(*world().module->kernel(kernel), config);
    if (!outcome.ok()) {
      state.SkipWithError(outcome.refused ? outcome.refused->message().c_str() : outcome.fault->text().c_str());
      return;
    }
    lanes += outcome.counters.lane_instructions;
    warps += outcome.counters.warp_instructions;
  }
  state.counters["lane_instructions/s"] = benchmark::Counter(static_cast<double>(lanes), benchmark::Counter::kIsRate);
  state.counters["time/warp_instruction"] =
      benchmark::Counter(static_cast<double>(warps), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <typename T>
void add(std::vector<std::byte>& bytes, T value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof value);
}

void elementwise(benchmark::State& state) {
  const std::uint32_t n = 1u << 20;
  const std::uint64_t in = world().device->memory->allocate(4 * n).value(), out = world().device->memory->allocate(4 * n).value();
  std::vector<std::byte> params;
  add(params, in);
  add(params, out);
  add(params, n);
  add(params, 2.0f);
  launch_again(state, "scale", {.grid = {n / 256, 1, 1}, .block = {256, 1, 1}, .params = params});
}
BENCHMARK(elementwise)->Unit(benchmark::kMillisecond);

void matrix_product(benchmark::State& state) {
  const std::uint32_t n = 256;
  std::vector<std::byte> params;
  for (int i = 0; i < 3; ++i) add(params, world().device->memory->allocate(4 * n * n).value());
  add(params, n);
  launch_again(state, "product", {.grid = {n / 16, n / 16, 1}, .block = {16, 16, 1}, .params = params});
}
BENCHMARK(matrix_product)->Unit(benchmark::kMillisecond);

void divergent(benchmark::State& state) {
  const std::uint32_t n = 1u << 14;
  std::vector<std::byte> params;
  add(params, world().device->memory->allocate(4 * n).value());
  add(params, n);
  launch_again(state, "collatz", {.grid = {n / 128, 1, 1}, .block = {128, 1, 1}, .params = params});
}
BENCHMARK(divergent)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::simgpu
