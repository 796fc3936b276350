// Control flow against definitions taken literally: a dominates b when every path from the entry to b goes through a.
#include "placement/ptx/cfg.h"

#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <random>

#include "placement/ptx/parse.h"

namespace tessera::ptx {
namespace {

Module module_of(const std::string& body) {
  Module m = parse(".version 8.0\n.target sm_80\n.func stop() .noreturn;\n.entry k()\n{\n.reg .pred p; .reg .b32 i;\n" + body + "\n}\n");
  for (const Diagnostic& d : m.diagnostics) FAIL(fmt::format("{}:{} {}", d.place.line, d.place.column, d.message));
  return m;
}

Cfg cfg_of(const Module& m) {
  const Function& f = m.functions.back();
  Cfg cfg = build_cfg(m, f);
  REQUIRE(check_cfg(cfg, f).empty());
  return cfg;
}

// Which blocks are met from `from` without passing `without`; the last one is the virtual exit.
std::vector<bool> reach(const Cfg& cfg, Index from, Index without) {
  const auto end = static_cast<Index>(cfg.blocks.size());
  std::vector<bool> met(end + std::size_t{1});
  std::vector<Index> work;
  const auto visit = [&](Index b) {
    if (b == without || met[b]) return;
    met[b] = true;
    if (b != end) work.push_back(b);
  };
  visit(from);
  while (!work.empty()) {
    const Block& b = cfg.blocks[work.back()];
    work.pop_back();
    for (Index s : b.successors) visit(s);
    if (b.exits) visit(end);
  }
  return met;
}

void compare_with_definitions(const Cfg& cfg) {
  const auto count = static_cast<Index>(cfg.blocks.size());
  const auto reachable = reach(cfg, 0, no_index);
  for (Index a = 0; a < count; ++a) {
    REQUIRE(cfg.blocks[a].reachable == reachable[a]);
    const auto avoiding = reach(cfg, 0, a);
    for (Index b = 0; b < count; ++b) {
      if (!reachable[a] || !reachable[b]) continue;
      REQUIRE(cfg.dominates(a, b) == (a == b || !avoiding[b]));
      const bool ends = reach(cfg, b, no_index)[count];
      if (ends) REQUIRE(cfg.post_dominates(a, b) == (a == b || !reach(cfg, b, a)[count]));
    }
    if (reachable[a]) REQUIRE((cfg.blocks[a].immediate_post_dominator == no_index) == !reach(cfg, a, no_index)[count]);
  }
  // A natural loop: the header, and what reaches a latch without passing the header.
  for (Index l = 0; l < cfg.loops.size(); ++l) {
    const Loop& loop = cfg.loops[l];
    for (Index b = 0; b < count; ++b) {
      if (!reachable[b]) continue;
      bool expected = b == loop.header;
      if (b != loop.header) {
        const auto met = reach(cfg, b, loop.header);
        for (Index latch : loop.latches) expected = expected || met[latch];
      }
      REQUIRE(cfg.inside(b, l) == expected);
    }
    REQUIRE(loop.depth == (loop.parent == no_index ? 1 : cfg.loops[loop.parent].depth + 1));
  }
}

TEST_CASE("a diamond, a loop and what lies behind") {
  const Module m = module_of(
      "@p bra else_;\nmov.u32 i, 1;\nbra join;\nelse_: mov.u32 i, 2;\njoin: mov.u32 i, 3;\nhead: @p bra out;\nadd.u32 i, i, 1;\nbra "
      "head;\nout: ret;\n"
      "mov.u32 i, 9;\n");
  const Cfg cfg = cfg_of(m);
  REQUIRE(cfg.blocks.size() == 8);
  CHECK(cfg.blocks[0].successors == std::vector<Index>{2, 1});
  CHECK(reconvergence_of(cfg, 0) == 4);
  CHECK(reconvergence_of(cfg, 5) == 8);
  CHECK_FALSE(cfg.blocks[7].reachable);
  REQUIRE(cfg.loops.size() == 1);
  CHECK(cfg.loops[0].header == 4);
  CHECK(cfg.loops[0].latches == std::vector<Index>{5});
  CHECK_FALSE(cfg.irreducible);
  CHECK(cfg.blocks[6].immediate_post_dominator == virtual_exit);
  compare_with_definitions(cfg);
}

TEST_CASE("what ends a block and what doesn't") {
  const Module m = module_of(
      "@p ret;\n@p exit;\ncall stop;\ntrap;\nt: .branchtargets a, b, a;\nbrx.idx i, t;\na: brkpt;\nbar.sync 0;\nb: @!p bra end;\nmov.u32 "
      "i, 1;\nend:");
  const Cfg cfg = cfg_of(m);
  CHECK(cfg.blocks[cfg.block_of[0]].exits);
  CHECK(cfg.blocks[cfg.block_of[0]].successors == std::vector<Index>{cfg.block_of[1]});
  CHECK(cfg.blocks[cfg.block_of[2]].successors.empty());  // never returns
  CHECK(cfg.blocks[cfg.block_of[4]].successors == std::vector<Index>{cfg.block_of[5], cfg.block_of[7]});
  CHECK(cfg.block_of[5] == cfg.block_of[6]);  // barriers and brkpt go on
  CHECK(cfg.blocks[cfg.block_of[7]].exits);   // a label at the end is the end
  CHECK(cfg.blocks[cfg.block_of[8]].exits);
  compare_with_definitions(cfg);
  CHECK(build_cfg(module_of("").functions.back()).blocks.empty());
}

TEST_CASE("a cycle with two entries is no natural loop") {
  const Cfg cfg = cfg_of(module_of("@p bra b;\na: mov.u32 i, 1;\nb: @p bra a;\nret;\n"));
  CHECK(cfg.irreducible);
  CHECK(cfg.loops.empty());
  const Cfg endless = cfg_of(module_of("a: bra a;\n"));
  CHECK(endless.blocks[0].immediate_post_dominator == no_index);
  CHECK(endless.loops.size() == 1);
}

TEST_CASE("random flow agrees with the definitions") {
  std::mt19937 random{11};
  for (int round = 0; round < 300; ++round) {
    const unsigned blocks = 2 + random() % 12;
    std::string body;
    for (unsigned b = 0; b < blocks; ++b) {
      body += fmt::format("L{}: mov.u32 i, {};\n", b, b);
      switch (random() % 5) {
        case 0:
          body += fmt::format("bra L{};\n", random() % blocks);
          break;
        case 1:
          body += random() % 4 == 0 ? "ret;\n" : "";
          break;
        default:
          body += fmt::format("@p bra L{};\n", random() % blocks);
      }
    }
    INFO(body);
    compare_with_definitions(cfg_of(module_of(body)));
  }
}

TEST_CASE("long chains, many exits and deep nests stay cheap") {
  constexpr int count = 20'000;
  std::string exits;
  std::string nest;
  for (int i = 0; i < count; ++i) exits += "@p bra out;\nadd.u32 i, i, 1;\n";
  for (int i = 0; i < count; ++i) nest += fmt::format("L{}: add.u32 i, i, 1;\n", i);
  for (int i = count; i-- > 0;) nest += fmt::format("@p bra L{};\n", i);
  const Cfg chain = cfg_of(module_of(exits + "out: ret;\n"));
  CHECK(chain.blocks.back().immediate_dominator == 0);
  const Module deep = module_of(nest + "ret;\n");
  const Cfg loops = build_cfg(deep, deep.functions.back());
  REQUIRE(loops.loops.size() == count);
  CHECK(loops.loops.back().depth == count);
}

}  // namespace
}  // namespace tessera::ptx
