#include "tools/simgpu/libcuda/graph.h"

#include <algorithm>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/machine/conditions.h"

namespace tessera::simgpu {

GraphCatalogue& graph_catalogue() {
  static GraphCatalogue* const instance = new GraphCatalogue;  // as long as the world
  return *instance;
}

Graph* GraphCatalogue::find_graph(CUgraph handle) const { return graphs.count(handle) == 0 ? nullptr : reinterpret_cast<Graph*>(handle); }
GraphNode* GraphCatalogue::find_node(CUgraphNode handle) const {
  return nodes.count(handle) == 0 ? nullptr : reinterpret_cast<GraphNode*>(handle);
}

GraphNode::GraphNode() { graph_catalogue().nodes.insert(this); }
GraphNode::~GraphNode() {
  graph_catalogue().nodes.erase(this);
  forget_in_captures(*this);
}
Graph::Graph() { graph_catalogue().graphs.insert(this); }
Graph::~Graph() {
  GraphCatalogue& all = graph_catalogue();
  all.graphs.erase(this);
  forget_in_captures(*this);
  for (const auto& [object, count] : user_objects) drop_references(*object, count);
  for (auto at = all.conditions.begin(); at != all.conditions.end();) {
    if (at->second.first == this) {
      forget_condition(at->first);
      at = all.conditions.erase(at);
    } else {
      ++at;
    }
  }
}

void drop_references(UserObject& object, unsigned count) {
  object.references -= std::min(count, object.references);
  if (object.references != 0) return;
  const CUhostFn destroy = object.destroy;
  void* const pointer = object.pointer;
  graph_catalogue().user_objects.erase(&object);
  world().lock.without([&] { destroy(pointer); });
}

GraphNode* node_in(const GraphExec* exec, CUgraphNode original) {
  const auto search = [&](const auto& self, const Graph& graph) -> GraphNode* {
    for (const auto& node : graph.nodes) {
      if (handle_of(node->origin) == original) return node.get();
      const auto* child = std::get_if<ChildNode>(&node->content);
      if (GraphNode* found = child == nullptr ? nullptr : self(self, *child->graph)) return found;
    }
    return nullptr;
  };
  return exec == nullptr || original == nullptr ? nullptr : search(search, *exec->graph);
}

CUgraphNode handle_of(const GraphNode* node) { return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node)); }

namespace {

struct TypeOf {
  CUgraphNodeType operator()(const EmptyNode&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
  CUgraphNodeType operator()(const KernelNode&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
  CUgraphNodeType operator()(const CopyNode&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
  CUgraphNodeType operator()(const FillNode&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
  CUgraphNodeType operator()(const HostWork&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const CallbackWork&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const ChildNode&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
  CUgraphNodeType operator()(const EventNode& e) const {
    return e.record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  }
  CUgraphNodeType operator()(const AllocNode&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
  CUgraphNodeType operator()(const FreeNode&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
  CUgraphNodeType operator()(const ConditionalNode&) const { return CU_GRAPH_NODE_TYPE_CONDITIONAL; }
  CUgraphNodeType operator()(const BatchNode&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
};

std::unique_ptr<Graph> owned_copy(const Graph& graph, Graph* parent) {
  std::unique_ptr<Graph> copy = copy_of(graph);
  copy->parent = parent;
  return copy;
}

}  // namespace

CUgraphNodeType type_of(const Content& content) { return std::visit(TypeOf{}, content); }

CUresult usable(const GraphNode& node) {
  if (world().contexts.find(node.context) == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  const auto* kernel = std::get_if<KernelNode>(&node.content);
  if (kernel == nullptr) return CUDA_SUCCESS;
  const KernelWork& work = kernel->work;
  // A new function may have an old one's address.
  const bool there = world().functions.count(work.function) != 0 && work.params.size() >= work.function->kernel->attributes().param_bytes;
  return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

GraphNode* add_node(Graph& graph, Context* context, Content content, const std::vector<GraphNode*>& after, const CUgraphEdgeData* data) {
  graph.nodes.push_back(std::make_unique<GraphNode>());
  GraphNode& node = *graph.nodes.back();
  node.graph = &graph;
  node.context = context;
  node.content = std::move(content);
  for (std::size_t i = 0; i < after.size(); ++i) node.after.emplace_back(after[i], data == nullptr ? CUgraphEdgeData{} : data[i]);
  return &node;
}

std::vector<GraphNode*> in_topological_order(const Graph& graph) {
  std::unordered_map<const GraphNode*, std::size_t> left;
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> next;
  std::vector<GraphNode*> order;
  order.reserve(graph.nodes.size());
  for (const auto& node : graph.nodes) {
    left[node.get()] = node->after.size();
    for (const auto& [before, data] : node->after) next[before].push_back(node.get());
    if (node->after.empty()) order.push_back(node.get());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (GraphNode* follower : next[order[i]]) {
      if (--left[follower] == 0) order.push_back(follower);
    }
  }
  return order.size() == graph.nodes.size() ? order : std::vector<GraphNode*>{};
}

Content copy_of(const Content& content, Graph* parent) {
  return std::visit(
      [&](const auto& c) -> Content {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, ChildNode>) {
          return ChildNode{owned_copy(*c.graph, parent)};
        } else if constexpr (std::is_same_v<T, ConditionalNode>) {
          ConditionalNode copy{c.handle, c.type};
          for (const auto& body : c.bodies) {
            copy.bodies.push_back(owned_copy(*body, parent));
            copy.handles.push_back(reinterpret_cast<CUgraph>(copy.bodies.back().get()));
          }
          return copy;
        } else {
          return c;
        }
      },
      content);
}

std::unique_ptr<Graph> copy_of(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graph.nodes) {
    GraphNode* made = add_node(*copy, node->context, copy_of(node->content, copy.get()), {});
    made->origin = node.get();
    made->enabled = node->enabled;
    made->attributes = node->attributes;
    copies[node.get()] = made;
  }
  for (const auto& node : graph.nodes) {
    for (const auto& [before, data] : node->after) copies[node.get()]->after.emplace_back(copies[before], data);
  }
  for (const auto& [object, count] : graph.user_objects) {
    object->references += count;
    copy->user_objects.emplace_back(object, count);
  }
  return copy;
}

CUresult read_dependencies(const Graph& graph, const CUgraphNode* handles, std::size_t count, std::vector<GraphNode*>& nodes) {
  nodes.clear();
  if (handles == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = graph_catalogue().find_node(handles[i]);
    if (node == nullptr || node->graph != &graph || std::find(nodes.begin(), nodes.end(), node) != nodes.end())
      return CUDA_ERROR_INVALID_VALUE;
    nodes.push_back(node);
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::simgpu
