#include "placement/ptx/cfg.h"

#include <algorithm>
#include <utility>

#include "placement/ptx/dominators.h"

namespace tessera::ptx {
namespace {

using Edge = std::pair<Index, Index>;

class Builder {
 public:
  Builder(const Module* module, const Function& function) : m_(module), f_(function) {}

  Cfg run() {
    if (f_.instrs.empty()) return std::move(cfg_);
    split();
    connect();
    order();
    dominators();
    loops();
    return std::move(cfg_);
  }

 private:
  struct Ending {
    bool ends = false;  // a block
    bool falls_through = true;
    bool exits = false;
    std::vector<Index> targets;  // labels
  };
  [[nodiscard]] Ending ending_of(const Instr& i) const;
  [[nodiscard]] bool never_returns(const Instr& i) const;
  void add_targets(const Operand& o, std::vector<Index>& targets) const;
  void split();
  void connect();
  void add_edge(Index from, Index to);
  void order();
  void dominators();
  void loops();
  void collect_loop(Index header, std::vector<Index> latches, std::vector<Index>& outermost);

  const Module* m_;
  const Function& f_;
  Cfg cfg_;
  std::vector<Edge> edges_;
  std::vector<Index> last_source_;  // by block: where its newest edge comes from
};

void Builder::add_targets(const Operand& o, std::vector<Index>& targets) const {
  if (o.kind == OperandKind::label) targets.push_back(o.ref);
  if (o.kind != OperandKind::proto) return;
  const Prototype& p = f_.prototypes[o.ref];
  if (p.kind == Prototype::Kind::branch_targets) targets.insert(targets.end(), p.targets.begin(), p.targets.end());
}

bool Builder::never_returns(const Instr& i) const {
  for (const Operand& o : f_.operands_of(i)) {
    if (o.kind == OperandKind::function && m_ != nullptr) return m_->functions[o.ref].noreturn;
    if (o.kind == OperandKind::proto) return f_.prototypes[o.ref].noreturn;
  }
  return false;
}

Builder::Ending Builder::ending_of(const Instr& i) const {
  Ending e;
  switch (row_of(i.opcode).control) {
    case ControlEffect::branch:
      e.ends = true;
      for (const Operand& o : f_.operands_of(i)) add_targets(o, e.targets);
      break;
    case ControlEffect::ret:
    case ControlEffect::exit:
      e.ends = e.exits = true;
      break;
    case ControlEffect::trap:
      e.ends = e.exits = i.opcode != Opcode::brkpt;
      break;
    case ControlEffect::call:
      e.ends = e.exits = never_returns(i);
      break;
    case ControlEffect::none:
    case ControlEffect::barrier:
      break;
  }
  e.falls_through = !e.ends || i.guarded;
  return e;
}

void Builder::split() {
  const auto count = static_cast<Index>(f_.instrs.size());
  std::vector<bool> leads(std::size_t{count} + 1);
  leads[0] = true;
  for (Index i = 0; i < count; ++i) {
    const Ending e = ending_of(f_.instrs[i]);
    if (e.ends) leads[i + 1] = true;
    for (Index label : e.targets) {
      if (f_.labels[label].target <= count) leads[f_.labels[label].target] = true;
    }
  }
  cfg_.block_of.resize(count);
  for (Index i = 0; i < count; ++i) {
    if (leads[i]) cfg_.blocks.emplace_back().begin = i;
    cfg_.blocks.back().end = i + 1;
    cfg_.block_of[i] = static_cast<Index>(cfg_.blocks.size() - 1);
  }
}

void Builder::add_edge(Index from, Index to) {
  if (last_source_[to] == from) return;
  last_source_[to] = from;
  cfg_.blocks[from].successors.push_back(to);
  cfg_.blocks[to].predecessors.push_back(from);
  edges_.emplace_back(from, to);
}

void Builder::connect() {
  const auto count = static_cast<Index>(f_.instrs.size());
  last_source_.assign(cfg_.blocks.size(), no_index);
  for (Index b = 0; b < cfg_.blocks.size(); ++b) {
    Block& block = cfg_.blocks[b];
    Ending e = ending_of(f_.instrs[block.end - 1]);
    block.exits = e.exits;
    std::sort(e.targets.begin(), e.targets.end());
    e.targets.erase(std::unique(e.targets.begin(), e.targets.end()), e.targets.end());
    for (Index label : e.targets) {
      const Index target = f_.labels[label].target;
      if (target < count)
        add_edge(b, cfg_.block_of[target]);
      else
        block.exits = true;
    }
    if (e.ends && e.targets.empty() && !e.falls_through) block.exits = true;  // a broken function's branch to nowhere
    if (!e.falls_through) continue;
    if (block.end < count)
      add_edge(b, b + 1);
    else
      block.exits = true;
  }
}

void Builder::order() {
  const DepthFirst dfs = depth_first(FlowGraph{static_cast<Index>(cfg_.blocks.size()), edges_}, 0);
  cfg_.reverse_post_order.assign(dfs.postorder.rbegin(), dfs.postorder.rend());
  for (Index b : cfg_.reverse_post_order) cfg_.blocks[b].reachable = true;
}

// Post-dominators are the dominators of the graph turned round, from a node behind all that exit.
void Builder::dominators() {
  const auto count = static_cast<Index>(cfg_.blocks.size());
  const Index end = count;
  std::vector<Edge> forward = edges_;
  for (Index b = 0; b < count; ++b) {
    if (cfg_.blocks[b].exits) forward.emplace_back(b, end);
  }
  std::vector<Edge> backward;
  backward.reserve(forward.size());
  for (const auto& [from, to] : forward) backward.emplace_back(to, from);
  const FlowGraph ahead{count + 1, forward};
  const FlowGraph behind{count + 1, backward};
  const std::vector<Index> dominator = immediate_dominators(ahead, behind, 0);
  const std::vector<Index> post_dominator = immediate_dominators(behind, ahead, end);
  for (Index b = 0; b < count; ++b) {
    cfg_.blocks[b].immediate_dominator = dominator[b];
    cfg_.blocks[b].immediate_post_dominator = post_dominator[b] == end ? virtual_exit : post_dominator[b];
  }
}

void Builder::loops() {
  std::vector<Index> position(cfg_.blocks.size(), no_index);
  for (Index i = 0; i < cfg_.reverse_post_order.size(); ++i) position[cfg_.reverse_post_order[i]] = i;
  std::vector<Index> immediate(cfg_.blocks.size());
  for (Index b = 0; b < immediate.size(); ++b) immediate[b] = cfg_.blocks[b].immediate_dominator;
  const DominatorTree tree{immediate, 0};
  std::vector<Index> outermost;  // by loop: a loop around it, or itself
  for (std::size_t i = cfg_.reverse_post_order.size(); i-- > 0;) {
    const Index header = cfg_.reverse_post_order[i];
    std::vector<Index> latches;
    for (Index p : cfg_.blocks[header].predecessors) {
      if (position[p] == no_index || position[p] < i) continue;
      if (tree.dominates(header, p))
        latches.push_back(p);
      else
        cfg_.irreducible = true;
    }
    if (!latches.empty()) collect_loop(header, std::move(latches), outermost);
  }
  // Found inner before outer; turned round.
  const auto count = static_cast<Index>(cfg_.loops.size());
  const auto turned = [count](Index loop) { return loop == no_index ? no_index : count - 1 - loop; };
  std::reverse(cfg_.loops.begin(), cfg_.loops.end());
  for (Index b : cfg_.reverse_post_order) cfg_.blocks[b].loop = turned(cfg_.blocks[b].loop);
  for (Loop& loop : cfg_.loops) {
    loop.parent = turned(loop.parent);
    if (loop.parent != no_index) loop.depth = cfg_.loops[loop.parent].depth + 1;
  }
  for (Index b = 0; b < cfg_.blocks.size(); ++b) {
    if (cfg_.blocks[b].loop != no_index) cfg_.loops[cfg_.blocks[b].loop].blocks.push_back(b);
  }
}

// Backwards from the latches to the header; loops met on the way become inner ones and are stepped over.
void Builder::collect_loop(Index header, std::vector<Index> latches, std::vector<Index>& outermost) {
  const auto self = static_cast<Index>(cfg_.loops.size());
  cfg_.loops.emplace_back();
  outermost.push_back(self);
  const auto find = [&outermost](Index loop) {
    while (outermost[loop] != loop) loop = outermost[loop] = outermost[outermost[loop]];
    return loop;
  };
  std::vector<Index> work = latches;
  cfg_.blocks[header].loop = self;
  while (!work.empty()) {
    const Index b = work.back();
    work.pop_back();
    Block& block = cfg_.blocks[b];
    if (!block.reachable) continue;
    Index from = b;
    if (block.loop == no_index) {
      block.loop = self;
    } else {
      const Index inner = find(block.loop);
      if (inner == self) continue;
      outermost[inner] = self;
      cfg_.loops[inner].parent = self;
      from = cfg_.loops[inner].header;
    }
    const auto& predecessors = cfg_.blocks[from].predecessors;
    work.insert(work.end(), predecessors.begin(), predecessors.end());
  }
  cfg_.loops[self].header = header;
  cfg_.loops[self].latches = std::move(latches);
}

}  // namespace

bool Cfg::dominates(Index a, Index b) const {
  while (b != a && b != no_index) b = blocks[b].immediate_dominator;
  return b == a;
}

bool Cfg::post_dominates(Index a, Index b) const {
  while (b != a && b != no_index && b != virtual_exit) b = blocks[b].immediate_post_dominator;
  return b == a;
}

bool Cfg::inside(Index block, Index loop) const {
  Index at = blocks[block].loop;
  while (at != loop && at != no_index) at = loops[at].parent;
  return at == loop;
}

Cfg build_cfg(const Module& module, const Function& function) { return Builder{&module, function}.run(); }
Cfg build_cfg(const Function& function) { return Builder{nullptr, function}.run(); }

Index reconvergence_of(const Cfg& cfg, Index instr) {
  const Index block = cfg.blocks[cfg.block_of[instr]].immediate_post_dominator;
  return block == no_index || block == virtual_exit ? no_index : cfg.blocks[block].begin;
}

std::string check_cfg(const Cfg& cfg, const Function& function) {
  Index next = 0;
  for (const Block& b : cfg.blocks) {
    if (b.begin != next || b.end <= b.begin) return "blocks tile the instructions";
    next = b.end;
  }
  if (next != function.instrs.size() || cfg.block_of.size() != function.instrs.size()) return "blocks tile the instructions";
  for (Index b = 0; b < cfg.blocks.size(); ++b) {
    const Block& block = cfg.blocks[b];
    for (Index i = block.begin; i < block.end; ++i) {
      if (cfg.block_of[i] != b) return "block_of names the block that holds the instruction";
    }
    if (block.successors.empty() && !block.exits) return "a block leads to a block or to the end";
    for (Index s : block.successors) {
      const auto& back = cfg.blocks[s].predecessors;
      if (std::count(back.begin(), back.end(), b) != 1) return "successors and predecessors agree";
      if (block.reachable && !cfg.blocks[s].reachable) return "what a reachable block leads to is reachable";
    }
    if (block.reachable && b != 0 && block.immediate_dominator == no_index) return "reachable blocks have a dominator";
  }
  for (const Loop& loop : cfg.loops) {
    if (loop.latches.empty()) return "a loop has an edge back to its header";
    for (Index latch : loop.latches) {
      if (!cfg.dominates(loop.header, latch)) return "a header dominates its latches";
    }
    if (loop.parent != no_index && !cfg.dominates(cfg.loops[loop.parent].header, loop.header)) return "outer headers dominate inner ones";
  }
  return {};
}

}  // namespace tessera::ptx
