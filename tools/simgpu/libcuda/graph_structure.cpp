// Making graphs and asking what is in them: nodes, edges, copies, user objects.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tools/simgpu/libcuda/graph.h"
#include "tools/simgpu/machine/conditions.h"

using namespace tessera::simgpu;

namespace {

constexpr CUgraphEdgeData plain_edge{};

bool is_plain(const CUgraphEdgeData& data) { return std::memcmp(&data, &plain_edge, sizeof data) == 0; }

// Gives what a list holds in the way that all of these calls have: at most *count, the rest null, and the number.
CUresult give(const std::vector<GraphNode*>& found, CUgraphNode* nodes, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes == nullptr) {
    *count = found.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? handle_of(found[i]) : nullptr;
  *count = std::min(*count, found.size());
  return CUDA_SUCCESS;
}

struct Edge {
  GraphNode *from, *to;
  CUgraphEdgeData data;
};
// `from`, `to` and `data` may be null.
CUresult give(const std::vector<Edge>& found, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from == nullptr && to == nullptr) {
    *count = found.size();
    return CUDA_SUCCESS;
  }
  // Without room for their data, edges that have some can't be told.
  if (data == nullptr && !std::all_of(found.begin(), found.end(), [](const Edge& e) { return is_plain(e.data); }))
    return CUDA_ERROR_LOSSY_QUERY;
  for (std::size_t i = 0; i < *count; ++i) {
    const bool have = i < found.size();
    if (from != nullptr) from[i] = have ? handle_of(found[i].from) : nullptr;
    if (to != nullptr) to[i] = have ? handle_of(found[i].to) : nullptr;
    if (data != nullptr) data[i] = have ? found[i].data : plain_edge;
  }
  *count = std::min(*count, found.size());
  return CUDA_SUCCESS;
}

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (const auto& node : graph.nodes) {
    for (const auto& [before, data] : node->after) edges.push_back({before, node.get(), data});
  }
  return edges;
}

bool has_memory_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    const auto* child = std::get_if<ChildNode>(&node->content);
    return std::holds_alternative<AllocNode>(node->content) || std::holds_alternative<FreeNode>(node->content) ||
           (child != nullptr && has_memory_nodes(*child->graph));
  });
}

CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, std::size_t count,
                      bool add) {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || ((from == nullptr || to == nullptr) && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  if (!add && has_memory_nodes(*graph)) return CUDA_ERROR_INVALID_VALUE;  // documented: edges then can't be removed
  const auto find = [](GraphNode& node, const GraphNode* before) {
    return std::find_if(node.after.begin(), node.after.end(), [&](const auto& edge) { return edge.first == before; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    const GraphNode* a = graph_catalogue().find_node(from[i]);
    GraphNode* b = graph_catalogue().find_node(to[i]);
    if (a == nullptr || b == nullptr || a == b || a->graph != graph || b->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    if ((find(*b, a) != b->after.end()) == add) return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* a = graph_catalogue().find_node(from[i]);
    GraphNode* b = graph_catalogue().find_node(to[i]);
    if (add)
      b->after.emplace_back(a, data == nullptr ? plain_edge : data[i]);
    else
      b->after.erase(find(*b, a));
  }
  return CUDA_SUCCESS;
}

CUresult dependencies(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data, std::size_t* count) {
  const Entry entry;
  GraphNode* node = graph_catalogue().find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Edge> found;
  for (const auto& [before, edge] : node->after) found.push_back({before, node, edge});
  return give(found, nodes, nullptr, data, count);
}

CUresult dependents(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data, std::size_t* count) {
  const Entry entry;
  const GraphNode* node = graph_catalogue().find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Edge> found = edges_of(*node->graph);
  found.erase(std::remove_if(found.begin(), found.end(), [&](const Edge& e) { return e.from != node; }), found.end());
  return give(found, nullptr, nodes, data, count);
}

CUresult edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  const Entry entry;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return give(edges_of(*graph), from, to, data, count);
}

const GraphNode* copy_in(const Graph& graph, const GraphNode* original) {
  for (const auto& node : graph.nodes) {
    if (node->origin == original) return node.get();
    const auto* child = std::get_if<ChildNode>(&node->content);
    const GraphNode* found = child == nullptr ? nullptr : copy_in(*child->graph, original);
    if (found != nullptr) return found;
  }
  return nullptr;
}

constexpr const char* type_names[] = {"kernel", "memcpy", "memset",         "host",      "graph",    "empty", "wait event",
                                      "record", "signal", "wait semaphore", "mem alloc", "mem free", "batch", "conditional"};

}  // namespace

SIM_EXPORT CUresult cuGraphCreate(CUgraph* result, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (result == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto graph = std::make_unique<Graph>();
  Graph* made = graph.get();
  graph_catalogue().owned[made] = std::move(graph);
  *result = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphDestroy(CUgraph handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  auto& owned = graph_catalogue().owned;
  const auto found = owned.find(graph_catalogue().find_graph(handle));
  if (found == owned.end()) return CUDA_ERROR_INVALID_VALUE;
  const std::unique_ptr<Graph> last = std::move(found->second);
  owned.erase(found);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphClone(CUgraph* result, CUgraph handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*graph)) return CUDA_ERROR_NOT_SUPPORTED;
  auto copy = copy_of(*graph);
  Graph* made = copy.get();
  graph_catalogue().owned[made] = std::move(copy);
  *result = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode* result, CUgraphNode original, CUgraph handle) SIM_NOEXCEPT {
  const Entry entry;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (result == nullptr || graph == nullptr || original == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphNode* found = copy_in(*graph, reinterpret_cast<const GraphNode*>(original));
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = handle_of(found);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) SIM_NOEXCEPT {
  const Entry entry;
  const GraphNode* node = graph_catalogue().find_node(handle);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = type_of(node->content);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) SIM_NOEXCEPT {
  const Entry entry;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  for (const auto& node : graph->nodes) found.push_back(node.get());
  return give(found, nodes, count);
}
SIM_EXPORT CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) SIM_NOEXCEPT {
  const Entry entry;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  for (const auto& node : graph->nodes) {
    if (node->after.empty()) found.push_back(node.get());
  }
  return give(found, nodes, count);
}

SIM_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) SIM_NOEXCEPT {
  return edges(graph, from, to, nullptr, count);
}
SIM_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                                       size_t* count) SIM_NOEXCEPT {
  return edges(graph, from, to, data, count);
}
SIM_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) SIM_NOEXCEPT {
  return dependencies(node, nodes, nullptr, count);
}
SIM_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) SIM_NOEXCEPT {
  return dependencies(node, nodes, data, count);
}
SIM_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) SIM_NOEXCEPT {
  return dependents(node, nodes, nullptr, count);
}
SIM_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                                    size_t* count) SIM_NOEXCEPT {
  return dependents(node, nodes, data, count);
}
SIM_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) SIM_NOEXCEPT {
  return change_edges(graph, from, to, nullptr, count, true);
}
SIM_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                                              size_t count) SIM_NOEXCEPT {
  return change_edges(graph, from, to, data, count, true);
}
SIM_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) SIM_NOEXCEPT {
  return change_edges(graph, from, to, nullptr, count, false);
}
SIM_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                                                 size_t count) SIM_NOEXCEPT {
  return change_edges(graph, from, to, data, count, false);
}

SIM_EXPORT CUresult cuGraphDestroyNode(CUgraphNode handle) SIM_NOEXCEPT {
  const Entry entry;
  GraphNode* node = graph_catalogue().find_node(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (std::holds_alternative<AllocNode>(node->content) || std::holds_alternative<FreeNode>(node->content)) return CUDA_ERROR_INVALID_VALUE;
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) {
    auto& after = other->after;
    after.erase(std::remove_if(after.begin(), after.end(), [&](const auto& edge) { return edge.first == node; }), after.end());
  }
  graph.nodes.remove_if([&](const auto& other) { return other.get() == node; });
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* result, CUgraph handle, CUcontext context, unsigned int value,
                                                   unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || result == nullptr || flags > CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  if (context != nullptr && world().contexts.find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUgraphConditionalHandle made = world().next_id++;
  graph_catalogue().conditions[made] = {graph, {value, flags == CU_GRAPH_COND_ASSIGN_DEFAULT}};
  make_condition(made, 0);
  *result = made;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int) SIM_NOEXCEPT {
  const Entry entry;
  const Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ofstream file(path);
  file << "digraph simulated {\n";
  std::map<const GraphNode*, std::size_t> numbers;
  for (const auto& node : graph->nodes) {
    const std::size_t number = numbers.size();
    numbers[node.get()] = number;
    const auto* kernel = std::get_if<KernelNode>(&node->content);
    file << "  n" << number << " [label=\""
         << (kernel != nullptr && usable(*node) == CUDA_SUCCESS ? kernel->work.function->name : type_names[type_of(node->content)])
         << "\"];\n";
  }
  for (const auto& e : edges_of(*graph)) file << "  n" << numbers[e.from] << " -> n" << numbers[e.to] << ";\n";
  file << "}\n";
  file.close();
  return file ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

SIM_EXPORT CUresult cuUserObjectCreate(CUuserObject* result, void* pointer, CUhostFn destroy, unsigned int references,
                                       unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (result == nullptr || destroy == nullptr || references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  UserObject* made = graph_catalogue().user_objects.make();
  *made = {pointer, destroy, references};
  *result = reinterpret_cast<CUuserObject>(made);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) SIM_NOEXCEPT {
  const Entry entry;
  UserObject* object = graph_catalogue().user_objects.find(handle);
  if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  object->references += count;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) SIM_NOEXCEPT {
  const Entry entry;
  UserObject* object = graph_catalogue().user_objects.find(handle);
  if (object == nullptr || count == 0 || count > object->references) return CUDA_ERROR_INVALID_VALUE;
  drop_references(*object, count);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count,
                                            unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  Graph* graph = graph_catalogue().find_graph(graph_handle);
  UserObject* object = graph_catalogue().user_objects.find(handle);
  if (graph == nullptr || object == nullptr || count == 0 || flags > CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
  if (flags == 0) object->references += count;
  graph->user_objects.emplace_back(object, count);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count) SIM_NOEXCEPT {
  const Entry entry;
  Graph* graph = graph_catalogue().find_graph(graph_handle);
  UserObject* object = graph_catalogue().user_objects.find(handle);
  if (graph == nullptr || object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [held, references] : graph->user_objects) {
    if (held != object || references < count) continue;
    references -= count;
    drop_references(*object, count);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
