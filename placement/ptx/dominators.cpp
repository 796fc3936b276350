#include "placement/ptx/dominators.h"

namespace tessera::ptx {

FlowGraph::FlowGraph(Index nodes, std::span<const std::pair<Index, Index>> edges) : first_(std::size_t{nodes} + 1), targets_(edges.size()) {
  for (const auto& [from, to] : edges) ++first_[from + 1];
  for (std::size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  std::vector<Index> next(first_.begin(), first_.end() - 1);
  for (const auto& [from, to] : edges) targets_[next[from]++] = to;
}

DepthFirst depth_first(const FlowGraph& graph, Index root) {
  DepthFirst result;
  result.parent.assign(graph.size(), no_index);
  result.number.assign(graph.size(), no_index);
  std::vector<std::pair<Index, std::size_t>> stack;  // node, successors already followed
  const auto enter = [&](Index node) {
    result.number[node] = static_cast<Index>(result.preorder.size());
    result.preorder.push_back(node);
    stack.emplace_back(node, 0);
  };
  enter(root);
  while (!stack.empty()) {
    const Index node = stack.back().first;
    const auto successors = graph.successors(node);
    if (stack.back().second == successors.size()) {
      result.postorder.push_back(node);
      stack.pop_back();
      continue;
    }
    const Index next = successors[stack.back().second++];
    if (result.number[next] != no_index) continue;
    result.parent[next] = node;
    enter(next);
  }
  return result;
}

namespace {

// The forest of Lengauer and Tarjan, in depth-first numbers: eval() gives the node of least semidominator between v and its root.
class LinkForest {
 public:
  LinkForest(Index size, const std::vector<Index>& semi) : semi_(semi), ancestor_(size, no_index), best_(size) {
    for (Index v = 0; v < size; ++v) best_[v] = v;
  }
  void link(Index parent, Index child) { ancestor_[child] = parent; }
  Index eval(Index v) {
    if (ancestor_[v] == no_index) return v;
    path_.clear();
    for (Index at = v; ancestor_[ancestor_[at]] != no_index; at = ancestor_[at]) path_.push_back(at);
    for (std::size_t i = path_.size(); i-- > 0;) {
      const Index at = path_[i];
      const Index above = ancestor_[at];
      if (semi_[best_[above]] < semi_[best_[at]]) best_[at] = best_[above];
      ancestor_[at] = ancestor_[above];
    }
    return best_[v];
  }

 private:
  const std::vector<Index>& semi_;
  std::vector<Index> ancestor_, best_, path_;
};

}  // namespace

std::vector<Index> immediate_dominators(const FlowGraph& graph, const FlowGraph& reversed, Index root) {
  const DepthFirst dfs = depth_first(graph, root);
  const auto count = static_cast<Index>(dfs.preorder.size());
  std::vector<Index> semi(count), dominator(count, 0), bucket_head(count, no_index), bucket_next(count, no_index);
  for (Index v = 0; v < count; ++v) semi[v] = v;
  LinkForest forest{count, semi};
  for (Index w = count; w-- > 1;) {
    for (Index predecessor : reversed.successors(dfs.preorder[w])) {
      const Index v = dfs.number[predecessor];
      if (v == no_index) continue;
      semi[w] = std::min(semi[w], semi[forest.eval(v)]);
    }
    bucket_next[w] = bucket_head[semi[w]];
    bucket_head[semi[w]] = w;
    const Index parent = dfs.number[dfs.parent[dfs.preorder[w]]];
    forest.link(parent, w);
    for (Index v = bucket_head[parent]; v != no_index; v = bucket_next[v]) {
      const Index u = forest.eval(v);
      dominator[v] = semi[u] < semi[v] ? u : parent;
    }
    bucket_head[parent] = no_index;
  }
  std::vector<Index> result(graph.size(), no_index);
  for (Index w = 1; w < count; ++w) {
    if (dominator[w] != semi[w]) dominator[w] = dominator[dominator[w]];
    result[dfs.preorder[w]] = dfs.preorder[dominator[w]];
  }
  return result;
}

DominatorTree::DominatorTree(const std::vector<Index>& immediate, Index root)
    : enter_(immediate.size(), no_index), leave_(immediate.size(), 0) {
  std::vector<std::pair<Index, Index>> edges;
  for (Index n = 0; n < immediate.size(); ++n) {
    if (immediate[n] != no_index) edges.emplace_back(immediate[n], n);
  }
  const DepthFirst dfs = depth_first(FlowGraph{static_cast<Index>(immediate.size()), edges}, root);
  for (Index n = 0; n < immediate.size(); ++n) enter_[n] = leave_[n] = dfs.number[n];
  for (Index node : dfs.postorder) {  // children before parents
    const Index parent = dfs.parent[node];
    if (parent != no_index && leave_[parent] < leave_[node]) leave_[parent] = leave_[node];
  }
}

}  // namespace tessera::ptx
