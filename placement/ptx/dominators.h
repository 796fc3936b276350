// Immediate dominators of a flow graph.
//
// Cost: O(edges × log nodes), whatever the shape; no recursion. Threads: pure.
// Source: Lengauer, Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979), its simpler variant.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

// Nodes 0 … n-1 and their successors, flattened.
class FlowGraph {
 public:
  FlowGraph(Index nodes, std::span<const std::pair<Index, Index>> edges);

  [[nodiscard]] Index size() const { return static_cast<Index>(first_.size() - 1); }
  [[nodiscard]] std::span<const Index> successors(Index node) const {
    return {targets_.data() + first_[node], targets_.data() + first_[node + 1]};
  }

 private:
  std::vector<Index> first_, targets_;
};

struct DepthFirst {
  std::vector<Index> preorder;   // reachable nodes as met
  std::vector<Index> postorder;  // as left
  std::vector<Index> parent;     // by node; no_index for the root and what isn't reachable
  std::vector<Index> number;     // by node: position in preorder; no_index = not reachable
};
[[nodiscard]] DepthFirst depth_first(const FlowGraph& graph, Index root);

// By node; no_index for the root and for what it doesn't reach. `reversed` holds the same edges turned round.
[[nodiscard]] std::vector<Index> immediate_dominators(const FlowGraph& graph, const FlowGraph& reversed, Index root);

// Answers "does a dominate b" in constant time.
class DominatorTree {
 public:
  DominatorTree(const std::vector<Index>& immediate, Index root);
  [[nodiscard]] bool dominates(Index a, Index b) const { return enter_[a] <= enter_[b] && leave_[b] <= leave_[a] && enter_[a] != no_index; }

 private:
  std::vector<Index> enter_, leave_;
};

}  // namespace tessera::ptx
