#include "tools/simgpu/exec/order.h"

#include <algorithm>

namespace tessera::simgpu {
namespace {

// How many of the loops around `from` an edge to `to` leaves.
unsigned loops_left(const ptx::Cfg& cfg, ptx::Index from, ptx::Index to) {
  unsigned left = 0;
  for (ptx::Index loop = cfg.blocks[from].loop; loop != ptx::no_index && !cfg.inside(to, loop); loop = cfg.loops[loop].parent) ++left;
  return left;
}

struct Visit {
  ptx::Index block;
  std::vector<ptx::Index> successors;  // in the order of visiting: those that leave most loops first
  std::size_t next = 0;
};

Visit visit_of(const ptx::Cfg& cfg, ptx::Index block) {
  Visit v{block, cfg.blocks[block].successors};
  // Of those that leave equally many, the last in the text first, so that it is laid out last.
  std::reverse(v.successors.begin(), v.successors.end());
  std::stable_sort(v.successors.begin(), v.successors.end(), [&](ptx::Index a, ptx::Index b) {
    const unsigned left_a = loops_left(cfg, block, a), left_b = loops_left(cfg, block, b);
    return left_a != left_b ? left_a > left_b : a > b;
  });
  return v;
}

}  // namespace

std::vector<ptx::Index> layout_order(const ptx::Cfg& cfg) {
  std::vector<ptx::Index> order;
  if (cfg.blocks.empty()) return order;
  std::vector<bool> seen(cfg.blocks.size());
  std::vector<Visit> stack;
  stack.push_back(visit_of(cfg, 0));
  seen[0] = true;
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next == top.successors.size()) {
      order.push_back(top.block);
      stack.pop_back();
      continue;
    }
    const ptx::Index successor = top.successors[top.next++];
    if (seen[successor]) continue;
    seen[successor] = true;
    stack.push_back(visit_of(cfg, successor));
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace tessera::simgpu
