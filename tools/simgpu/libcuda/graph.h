// Graphs: nodes with contents and dependencies, built by calls or by capture, and their executable copies.
//
// A node's content is described as work.h describes what goes into a stream; launching a graph makes one operation a node, behind the
// stream's earlier work and behind the graph's last launch. Invariant: every live graph and node is in the catalogue, so that a stale
// handle is told from a live one; nodes lie in the order in which they were added. Ownership: the catalogue owns graphs and executable
// graphs, a node owns its child graph and bodies. Threads: guarded by the driver's lock.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tools/simgpu/libcuda/work.h"

namespace tessera::simgpu {

struct Graph;

// What an allocation node gives: one address for as long as any graph or executable graph has the node. `live` from the launch of the
// allocation to that of the free, by submission.
struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
  SimDevice* device = nullptr;
  std::uint64_t address = 0, size = 0;
  bool live = false;
  // To live, or not; false when it was so already.
  bool set_live(bool now);
  GraphMemory() = default;
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
};
using GraphMemoryPtr = std::shared_ptr<GraphMemory>;

struct EmptyNode {};
struct KernelNode {
  KernelWork work;
  std::vector<void*> pointers{};  // into work.params, for those who ask
};
struct CopyNode {
  CUDA_MEMCPY3D description{};
  CopyWork work;
};
struct FillNode {
  CUDA_MEMSET_NODE_PARAMS description{};
  FillWork work;
};
struct ChildNode {
  std::unique_ptr<Graph> graph;
};
struct EventNode {
  Event* event = nullptr;
  bool record = true;  // else wait
};
struct AllocNode {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  GraphMemoryPtr memory;
};
struct FreeNode {
  GraphMemoryPtr memory;
};
struct ConditionalNode {
  CUgraphConditionalHandle handle = 0;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::unique_ptr<Graph>> bodies{};
  std::vector<CUgraph> handles{};  // of the bodies, for those who ask
};
struct BatchNode {
  std::vector<CUstreamBatchMemOpParams> operations{};
  std::vector<Work> works{};
  unsigned flags = 0;
};
using Content = std::variant<EmptyNode, KernelNode, CopyNode, FillNode, HostWork, CallbackWork, ChildNode, EventNode, AllocNode, FreeNode,
                             ConditionalNode, BatchNode>;

struct GraphNode {
  Graph* graph = nullptr;
  Context* context = nullptr;
  Content content;
  std::vector<std::pair<GraphNode*, CUgraphEdgeData>> after;  // what it depends on, in the order in which that was said
  const GraphNode* origin = nullptr;                          // in a copy: the node that it is a copy of
  bool enabled = true;
  std::map<int, CUlaunchAttributeValue> attributes;  // of a kernel node, as set
  GraphNode();
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;
  ~GraphNode();
};

struct UserObject;

struct Graph {
  std::list<std::unique_ptr<GraphNode>> nodes;
  Graph* parent = nullptr;  // whose node owns this one
  std::vector<std::pair<UserObject*, unsigned>> user_objects;
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();
};

struct GraphExec {
  std::unique_ptr<Graph> graph;
  Context* context = nullptr;
  std::uint64_t flags = 0;
  OperationPtr last;  // the end of its latest launch
};

struct UserObject {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};

// What handles mean.
struct GraphCatalogue {
  std::unordered_set<const void*> graphs, nodes;
  std::map<Graph*, std::unique_ptr<Graph>> owned;  // those that no node owns
  Registry<GraphExec> execs;
  Registry<UserObject> user_objects;
  std::unordered_map<std::uint64_t, GraphMemory*> memory;                                      // by address
  std::unordered_map<std::uint64_t, std::pair<Graph*, std::pair<unsigned, bool>>> conditions;  // default value, whether assigned at launch
  [[nodiscard]] Graph* find_graph(CUgraph handle) const;
  [[nodiscard]] GraphNode* find_node(CUgraphNode handle) const;
};
GraphCatalogue& graph_catalogue();

[[nodiscard]] CUgraphNodeType type_of(const Content& content);
[[nodiscard]] CUgraphNode handle_of(const GraphNode* node);
// An executable graph's copy of the node, children included; null when it has none.
[[nodiscard]] GraphNode* node_in(const GraphExec* exec, CUgraphNode original);

// CUDA_SUCCESS while the context, and the kernel if it is one, are still there; else the code of who uses the node.
[[nodiscard]] CUresult usable(const GraphNode& node);

// Adds a node. `data` may be null.
GraphNode* add_node(Graph& graph, Context* context, Content content, const std::vector<GraphNode*>& after,
                    const CUgraphEdgeData* data = nullptr);
// The nodes so that each comes behind what it depends on; empty when there is a cycle (or no node).
[[nodiscard]] std::vector<GraphNode*> in_topological_order(const Graph& graph);
// A deep copy; allocations are shared with the original.
[[nodiscard]] std::unique_ptr<Graph> copy_of(const Graph& graph);
[[nodiscard]] Content copy_of(const Content& content, Graph* parent);
void drop_references(UserObject& object, unsigned count);

// Checks the dependencies that a call names: all in the graph, none twice.
[[nodiscard]] CUresult read_dependencies(const Graph& graph, const CUgraphNode* handles, std::size_t count, std::vector<GraphNode*>& nodes);

// The memory of an allocation node at this address, or null.
[[nodiscard]] GraphMemoryPtr graph_memory_at(std::uint64_t address);
// Reserves what an allocation node gives.
[[nodiscard]] CUresult make_graph_memory(SimDevice& device, std::size_t bytes, GraphMemoryPtr& memory);

// Contents from what programs write (graph_content.cpp): checked as the stream's calls check.
[[nodiscard]] CUresult content_of(const CUDA_KERNEL_NODE_PARAMS& params, Context& context, Content& content, Context*& of);
[[nodiscard]] CUresult content_of(const CUDA_MEMCPY3D& params, Content& content);
[[nodiscard]] CUresult content_of(const CUDA_MEMSET_NODE_PARAMS& params, Content& content);
[[nodiscard]] CUresult content_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& params, Content& content);
[[nodiscard]] CUresult content_of(CUgraphNodeParams& params, Context& context, Graph& graph, Content& content, Context*& of);
// A node's content from what was captured.
[[nodiscard]] CUresult content_of(const Work& work, Content& content);

}  // namespace tessera::simgpu
