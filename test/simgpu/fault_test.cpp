// What goes wrong is reported where it went wrong: kernel, line, block, thread, address, nearest allocation.
#include <fmt/core.h>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

// Thread (3, 0, 0) of block (1, 0, 0) touches `address`; the others don't.
constexpr const char* touch = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 address) {
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  setp.ne.u32 %p1, %r1, 3;
  @%p1 ret;
  setp.ne.u32 %p2, %r2, 1;
  @%p2 ret;
  ld.param.u64 %rd1, [address];
  INSTRUCTION
  ret;
}
)";
constexpr unsigned fault_line = 15;

std::string with(const std::string& instruction) {
  std::string text = touch;
  text.replace(text.find("INSTRUCTION"), 11, instruction);
  return text;
}

LaunchOutcome touch_at(Machine& machine, const std::string& instruction, std::uint64_t address, unsigned threads = 1) {
  return launch(*machine.load(with(instruction)).kernel("touch"), {4, 1, 1}, {64, 1, 1}, Params().add(address), 0, threads);
}

void expect_fault(const LaunchOutcome& outcome, FaultKind kind, std::uint64_t address, std::uint32_t width, Access access) {
  REQUIRE(outcome.fault);
  const Fault& f = *outcome.fault;
  INFO(f.text());
  CHECK(f.kind == kind);
  CHECK(f.kernel == "touch");
  CHECK(f.line == fault_line);
  CHECK(f.block == std::array<std::uint32_t, 3>{1, 0, 0});
  CHECK(f.thread == std::array<std::uint32_t, 3>{3, 0, 0});
  CHECK(f.address == address);
  CHECK(f.width == width);
  CHECK(f.access == access);
}

TEST_CASE("an access behind the end of an allocation is found, to the byte") {
  Machine machine;
  const std::uint64_t a = machine.put(std::vector<std::uint8_t>(100));
  CHECK(touch_at(machine, "ld.global.u32 %r3, [%rd1];", a + 96).ok());
  expect_fault(touch_at(machine, "ld.global.u32 %r3, [%rd1];", a + 100), FaultKind::illegal_address, a + 100, 4, Access::read);
  expect_fault(touch_at(machine, "st.global.v2.u32 [%rd1], {%r1, %r2};", a + 96), FaultKind::illegal_address, a + 96, 8, Access::write);
  const LaunchOutcome outcome = touch_at(machine, "ld.u8 %r3, [%rd1];", a + 107);
  expect_fault(outcome, FaultKind::illegal_address, a + 107, 1, Access::read);
  CHECK(outcome.fault->text().find("7 bytes behind the end of allocation") != std::string::npos);
  CHECK(outcome.fault->instruction == "ld.u8");
}

TEST_CASE("null, freed memory and another device's memory are faults") {
  Machine machine, other(1);
  expect_fault(touch_at(machine, "ld.global.u32 %r3, [%rd1];", 0), FaultKind::illegal_address, 0, 4, Access::read);
  const std::uint64_t freed = machine.put(std::vector<std::uint32_t>(8));
  REQUIRE(machine.device().memory->free(freed).ok());
  expect_fault(touch_at(machine, "atom.global.add.u32 %r3, [%rd1], 1;", freed), FaultKind::illegal_address, freed, 4, Access::atomic);
  const std::uint64_t theirs = other.put(std::vector<std::uint32_t>(8));
  expect_fault(touch_at(machine, "ld.global.u32 %r3, [%rd1];", theirs), FaultKind::illegal_address, theirs, 4, Access::read);
  int on_the_host = 0;
  const auto host = reinterpret_cast<std::uint64_t>(&on_the_host);
  expect_fault(touch_at(machine, "ld.u32 %r3, [%rd1];", host), FaultKind::illegal_address, host, 4, Access::read);
  REQUIRE(machine.device().memory->map_external(host, sizeof on_the_host, "pinned").ok());
  CHECK(touch_at(machine, "st.u32 [%rd1], %r1;", host).ok());
  CHECK(on_the_host == 3);
}

TEST_CASE("a misaligned access is a fault of its own") {
  Machine machine;
  const std::uint64_t a = machine.put(std::vector<std::uint32_t>(64));
  expect_fault(touch_at(machine, "ld.global.u32 %r3, [%rd1];", a + 2), FaultKind::misaligned_address, a + 2, 4, Access::read);
  expect_fault(touch_at(machine, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", a + 8), FaultKind::misaligned_address, a + 8, 16,
               Access::read);
}

TEST_CASE("shared and local memory have bounds too") {
  Machine machine;
  const std::string shared = "{ .shared .align 4 .b8 s[64]; .reg .b32 %a; mov.u32 %a, s; st.shared.u32 [%a+64], %r1; }";
  const LaunchOutcome outcome = touch_at(machine, shared, 0);
  REQUIRE(outcome.fault);
  CHECK(outcome.fault->space == ptx::Space::shared);
  const std::string local = "{ .local .align 4 .b8 s[64]; .reg .b64 %a; mov.u64 %a, s; cvta.local.u64 %a, %a; ld.u32 %r1, [%a+4096]; }";
  const LaunchOutcome second = touch_at(machine, local, 0);
  REQUIRE(second.fault);
  CHECK(second.fault->space == ptx::Space::local);
}

TEST_CASE("the fault of the first block wins, whatever the number of threads") {
  const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 address) {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, %ctaid.x;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 ret;
  mul.wide.u32 %rd2, %r1, 4096;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
})";
  for (const unsigned threads : {1u, 4u}) {
    Machine machine;
    const std::uint64_t a = machine.put(std::vector<std::uint32_t>(4));
    const LaunchOutcome outcome = launch(*machine.load(text).kernel("k"), {64, 1, 1}, {256, 1, 1}, Params().add(a), 0, threads);
    REQUIRE(outcome.fault);
    CHECK(outcome.fault->block[0] == 5);
    CHECK(outcome.fault->address == a + 5 * 4096);
  }
}

TEST_CASE("trap and failed assertions end the kernel") {
  Machine machine;
  const LaunchOutcome outcome = touch_at(machine, "trap;", 0);
  REQUIRE(outcome.fault);
  CHECK(outcome.fault->kind == FaultKind::trap);
  const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 function[2] = {102, 0};
.visible .entry k() {
  .reg .b64 %rd<4>;
  mov.u64 %rd1, message; mov.u64 %rd2, file; mov.u64 %rd3, function;
  { .param .b64 a; st.param.b64 [a], %rd1; .param .b64 b; st.param.b64 [b], %rd2; .param .b32 c; st.param.b32 [c], 17;
    .param .b64 d; st.param.b64 [d], %rd3; .param .b64 e; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e); }
  ret;
})";
  const LaunchOutcome failed = launch(*machine.load(text).kernel("k"), {1, 1, 1}, {1, 1, 1}, Params());
  REQUIRE(failed.fault);
  CHECK(failed.fault->kind == FaultKind::assertion);
  CHECK(failed.fault->message == "a.cu:17: f: assertion `x > 0` failed");
}

TEST_CASE("an instruction that isn't simulated fails the launch by name and line, not the load") {
  Machine machine;
  ExecModule& module = machine.load(with("tcgen05.wait::ld.sync.aligned;"));
  const LaunchOutcome outcome = launch(*module.kernel("touch"), {1, 1, 1}, {1, 1, 1}, Params().add(std::uint64_t{0}));
  REQUIRE(outcome.refused);
  CHECK(outcome.refused->code == ErrorCode::unsupported);
  CHECK(outcome.refused->what.find("tcgen05.wait::ld.sync.aligned") != std::string::npos);
  CHECK(outcome.refused->where.find(fmt::format("line {}", fault_line)) != std::string::npos);
}

TEST_CASE("launches that can't be are refused with a reason") {
  Machine machine;
  const ExecKernel& k = *machine.load(with("ret;")).kernel("touch");
  const Params params = Params().add(std::uint64_t{0});
  CHECK(launch(k, {1, 1, 1}, {2048, 1, 1}, params).refused);
  CHECK(launch(k, {1, 1, 1}, {0, 1, 1}, params).refused);
  CHECK(launch(k, {1, 1, 1}, {32, 1, 1}, params, 300 * 1024).refused);
  CHECK(launch(k, {1, 1, 1}, {32, 1, 1}, Params()).refused);
}

}  // namespace
}  // namespace tessera::simgpu
