// The control flow of one function: basic blocks, dominators, post-dominators, natural loops.
//
// Blocks tile the instructions: block b is [begin, end) in instruction indices, block 0 is the entry, and every instruction is in exactly
// one block. Returning, exiting, trapping and running off the end lead to a virtual exit, which is no block (`virtual_exit`).
// An indirect branch (brx.idx) has an edge to each of its listed targets. A guarded ret or exit has both edges.
// Calls don't end blocks, unless they never return.
// Invariant: check_cfg() names the first violated sentence. Threads: immutable once built.
// Cost: near linear, whatever the shape; no recursion.
#pragma once

#include <string>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

inline constexpr Index virtual_exit = no_index - 1;  // only as a post-dominator

struct Block {
  Index begin = 0, end = 0;       // instructions
  std::vector<Index> successors;  // in order: the branch's target(s), then the fall-through; no duplicates
  std::vector<Index> predecessors;
  bool exits = false;                         // has an edge to the virtual exit (ret, exit, trap, end of body)
  Index immediate_dominator = no_index;       // no_index: the entry block, and unreachable blocks
  Index immediate_post_dominator = no_index;  // virtual_exit where the paths meet only at the end; no_index: no path leads to the end
  Index loop = no_index;                      // innermost natural loop, index in Cfg::loops
  bool reachable = false;
};

struct Loop {
  Index header = 0;
  Index parent = no_index;     // enclosing loop
  unsigned depth = 1;          // 1 = outermost
  std::vector<Index> blocks;   // sorted; those of inner loops aren't listed again (see Cfg::inside)
  std::vector<Index> latches;  // sources of the edges back to the header
};

struct Cfg {
  std::vector<Block> blocks;
  std::vector<Index> block_of;            // by instruction
  std::vector<Index> reverse_post_order;  // reachable blocks only
  std::vector<Loop> loops;                // outer before inner
  bool irreducible = false;               // some cycle has two entries: `loops` misses it

  // Walk up a tree: cost grows with its depth.
  [[nodiscard]] bool dominates(Index a, Index b) const;
  [[nodiscard]] bool post_dominates(Index a, Index b) const;
  [[nodiscard]] bool inside(Index block, Index loop) const;
};

// For a broken function, the flow of what could be read.
[[nodiscard]] Cfg build_cfg(const Module& module, const Function& function);
[[nodiscard]] Cfg build_cfg(const Function& function);  // without a module, calls of .noreturn functions count as returning

// The instruction where the lanes that part at branch `instr` meet again: first of the post-dominating block; no_index = only at the end.
[[nodiscard]] Index reconvergence_of(const Cfg& cfg, Index instr);

[[nodiscard]] std::string check_cfg(const Cfg& cfg, const Function& function);

}  // namespace tessera::ptx
