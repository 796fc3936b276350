// Runs one instruction (or a few) over many inputs and gives the results back as bits: for tests against references.
//
// The text sees registers %a, %b, %c (inputs) and %d (result) of the sizes in Sizes, predicates %p, %q, and scratch %s0…%s3 (.b32) and
// %w0…%w3 (.b64). One thread an input; inputs and results travel in 64-bit slots, zero-extended.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {

struct Sizes {  // bytes: 2, 4, 8; 0 = not used
  unsigned d = 4, a = 4, b = 0, c = 0;
};

inline std::string kernel_for(const std::string& body, const Sizes& sizes) {
  const auto bits = [](unsigned bytes) { return 8 * (bytes == 0 ? 4 : bytes); };
  std::string text = fmt::format(
      ".version 8.6\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u32 n) {{\n"
      ".reg .b{} %d;\n.reg .b{} %a;\n.reg .b{} %b;\n.reg .b{} %c;\n"
      ".reg .pred %p, %q, %in;\n.reg .b32 %s<4>;\n.reg .b64 %w<4>;\n.reg .b32 %i<5>;\n.reg .b64 %x<6>;\n"
      "mov.u32 %i1, %ctaid.x;\nmov.u32 %i2, %ntid.x;\nmov.u32 %i3, %tid.x;\nmad.lo.s32 %i0, %i1, %i2, %i3;\n"
      "ld.param.u32 %i4, [n];\nsetp.ge.u32 %in, %i0, %i4;\n@%in ret;\nmul.wide.u32 %x0, %i0, 8;\n",
      bits(sizes.d), bits(sizes.a), bits(sizes.b), bits(sizes.c));
  const auto load = [&](const char* name, unsigned bytes, int at) {
    if (bytes == 0) return;
    text += fmt::format("ld.param.u64 %x{0}, [p{1}];\nadd.s64 %x{0}, %x{0}, %x0;\nld.global.b{2} %{1}, [%x{0}];\n", at, name, 8 * bytes);
  };
  load("a", sizes.a, 1);
  load("b", sizes.b, 2);
  load("c", sizes.c, 3);
  text += body;
  text += fmt::format("\nld.param.u64 %x4, [pd];\nadd.s64 %x4, %x4, %x0;\nst.global.b{} [%x4], %d;\nret;\n}}\n", 8 * sizes.d);
  return text;
}

using Bits = std::vector<std::uint64_t>;

inline Bits run_instruction(Machine& machine, const std::string& body, const Sizes& sizes, const Bits& a, const Bits& b = {},
                            const Bits& c = {}) {
  INFO(body);
  const ExecKernel& kernel = *machine.load(kernel_for(body, sizes)).kernel("k");
  const auto n = static_cast<std::uint32_t>(a.size());
  const std::uint64_t pa = machine.put(a), pb = machine.put(b), pc = machine.put(c), pd = machine.put(Bits(n));
  const LaunchOutcome outcome = launch(kernel, {(n + 255) / 256, 1, 1}, {256, 1, 1}, Params().add(pa).add(pb).add(pc).add(pd).add(n));
  require_ok(outcome);
  Bits got = machine.get<std::uint64_t>(pd, n);
  for (const std::uint64_t p : {pa, pb, pc, pd}) REQUIRE(machine.device().memory->free(p).ok());
  return got;
}

inline Bits run_instruction(const std::string& body, const Sizes& sizes, const Bits& a, const Bits& b = {}, const Bits& c = {}) {
  Machine machine;
  return run_instruction(machine, body, sizes, a, b, c);
}

// Random bits of that size, with the corners mixed in: zeros, ones, extremes, small numbers, single bits.
inline Bits corners_and_random(unsigned bytes, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  const std::uint64_t top = std::uint64_t{1} << (8 * bytes - 1);
  Bits values(count);
  for (std::uint64_t& v : values) {
    switch (random() % 8) {
      case 0:
        v = random() % 4 - 2;
        break;
      case 1:
        v = top + random() % 4 - 2;
        break;
      case 2:
        v = std::uint64_t{1} << (random() % (8 * bytes));
        break;
      case 3:
        v = random() % 70;
        break;
      default:
        v = random() >> (random() % 64);
        break;
    }
    v &= mask;
  }
  return values;
}

// Checks each result against reference(a, b, c), showing the first few that differ.
template <typename F>
void compare_bits(const std::string& what, const Bits& got, const Bits& a, const Bits& b, const Bits& c, F&& reference) {
  unsigned wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::uint64_t x = a[i], y = b.empty() ? 0 : b[i], z = c.empty() ? 0 : c[i];
    const std::uint64_t wanted = reference(x, y, z);
    if (got[i] == wanted) continue;
    if (++wrong <= 3) UNSCOPED_INFO(fmt::format("{}: a={:#x} b={:#x} c={:#x}: got {:#x}, expected {:#x}", what, x, y, z, got[i], wanted));
  }
  INFO(what);
  CHECK(wrong == 0);
}

}  // namespace tessera::simgpu
