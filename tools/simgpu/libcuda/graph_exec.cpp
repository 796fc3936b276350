// Executable graphs: made from graphs, changed as a whole or node by node, destroyed.
#include <algorithm>

#include "tools/simgpu/libcuda/graph.h"

using namespace tessera::simgpu;

namespace {

// Nodes whose memory must not be shared by two executable graphs at a time aren't looked for: both launch in turn.
CUresult instantiate(CUgraphExec* result, CUgraph handle, std::uint64_t flags, CUDA_GRAPH_INSTANTIATE_PARAMS* told) {
  const Entry entry;
  CUresult error;
  Context* context = entry.context(error);
  if (context == nullptr) return error;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || result == nullptr || flags > 15) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto fail = [&](CUgraphInstantiateResult why) {
    if (told != nullptr) told->result_out = why;
    return CUDA_ERROR_INVALID_VALUE;
  };
  if (told != nullptr) told->hErrNode_out = nullptr;
  if (!graph->nodes.empty() && in_topological_order(*graph).empty()) return fail(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  GraphExec* exec = graph_catalogue().execs.make();
  exec->graph = copy_of(*graph);
  exec->context = context;
  exec->flags = flags;
  if (told != nullptr) told->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  *result = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

struct Mismatch {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  const GraphNode *node = nullptr, *from = nullptr;
};

// Nodes are matched in the order in which they were added; their edges must be the same.
Mismatch compare(const Graph& old_graph, const Graph& new_graph) {
  if (old_graph.nodes.size() != new_graph.nodes.size()) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
  std::unordered_map<const GraphNode*, const GraphNode*> match;
  auto old_node = old_graph.nodes.begin();
  for (const auto& node : new_graph.nodes) match[node.get()] = (old_node++)->get();
  for (const auto& node : new_graph.nodes) {
    const GraphNode& old = *match[node.get()];
    if (usable(*node) != CUDA_SUCCESS || usable(old) != CUDA_SUCCESS) return {CU_GRAPH_EXEC_UPDATE_ERROR, node.get()};
    if (old.after.size() != node->after.size()) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node.get()};
    for (const auto& edge : node->after) {
      const GraphNode* before = match[edge.first];
      if (std::none_of(old.after.begin(), old.after.end(), [&](const auto& e) { return e.first == before; }))
        return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node.get(), edge.first};
    }
    if (type_of(old.content) != type_of(node->content)) return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node.get()};
    if (old.context->device != node->context->device) return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node.get()};
    const auto* old_child = std::get_if<ChildNode>(&old.content);
    if (old_child != nullptr) {
      const Mismatch inside = compare(*old_child->graph, *std::get<ChildNode>(node->content).graph);
      if (inside.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return inside;
    }
    const bool fixed = std::holds_alternative<AllocNode>(old.content) || std::holds_alternative<FreeNode>(old.content) ||
                       std::holds_alternative<ConditionalNode>(old.content);
    if (fixed) return {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, node.get()};
  }
  return {};
}

void take_contents(Graph& old_graph, const Graph& new_graph) {
  auto node = new_graph.nodes.begin();
  for (const auto& old : old_graph.nodes) {
    old->context = (*node)->context;
    old->attributes = (*node)->attributes;
    if (auto* child = std::get_if<ChildNode>(&old->content))
      take_contents(*child->graph, *std::get<ChildNode>((*node)->content).graph);
    else
      old->content = copy_of((*node)->content, &old_graph);
    ++node;
  }
}

Mismatch update(CUgraphExec exec_handle, CUgraph handle, CUresult& result) {
  const Entry entry;
  const GraphExec* exec = graph_catalogue().execs.find(exec_handle);
  const Graph* graph = graph_catalogue().find_graph(handle);
  result = CUDA_ERROR_INVALID_VALUE;
  if (exec == nullptr || graph == nullptr) return {CU_GRAPH_EXEC_UPDATE_ERROR};
  const Mismatch mismatch = compare(*exec->graph, *graph);
  if (mismatch.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) take_contents(*exec->graph, *graph);
  result = mismatch.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  return mismatch;
}

}  // namespace

SIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) SIM_NOEXCEPT {
  return instantiate(exec, graph, flags, nullptr);
}
SIM_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) SIM_NOEXCEPT {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : instantiate(exec, graph, params->flags, params);
}
// The first two versions had a place for a message about the node at fault.
SIM_EXPORT CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* message, size_t size) SIM_NOEXCEPT {
  if (node != nullptr) *node = nullptr;
  if (message != nullptr && size != 0) *message = '\0';
  return instantiate(exec, graph, 0, nullptr);
}
SIM_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* message, size_t size) SIM_NOEXCEPT {
  return cuGraphInstantiate(exec, graph, node, message, size);
}

SIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle) SIM_NOEXCEPT {
  const Entry entry;
  GraphExec* exec = graph_catalogue().execs.find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Documented: it may be destroyed while it runs. What runs refers to its memory.
  const OperationPtr last = exec->last;
  if (last != nullptr) world().scheduler.finish(last);
  exec = graph_catalogue().execs.find(handle);
  if (exec != nullptr) graph_catalogue().execs.erase(exec);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) SIM_NOEXCEPT {
  const Entry entry;
  const GraphExec* exec = graph_catalogue().execs.find(handle);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags & ~std::uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node, CUgraphExecUpdateResult* why) SIM_NOEXCEPT {
  CUresult result;
  const Mismatch mismatch = update(exec, graph, result);
  if (node != nullptr) *node = handle_of(mismatch.node);
  if (why != nullptr) *why = mismatch.result;
  return result;
}
SIM_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) SIM_NOEXCEPT {
  CUresult result;
  const Mismatch mismatch = update(exec, graph, result);
  if (info != nullptr) *info = {mismatch.result, handle_of(mismatch.node), handle_of(mismatch.from)};
  return result;
}

SIM_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode original, unsigned int enabled) SIM_NOEXCEPT {
  const Entry entry;
  GraphNode* node = node_in(graph_catalogue().execs.find(exec), original);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphNodeType type = type_of(node->content);
  if (type > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;  // documented: kernels, memsets and memcpys only
  node->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode original, unsigned int* enabled) SIM_NOEXCEPT {
  const Entry entry;
  const GraphNode* node = node_in(graph_catalogue().execs.find(exec), original);
  if (node == nullptr || enabled == nullptr || type_of(node->content) > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
  *enabled = node->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}
