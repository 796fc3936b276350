// Adding nodes of each kind, and reading and writing what they hold.
#include <cstring>

#include "tools/simgpu/libcuda/graph.h"

using namespace tessera::simgpu;

namespace {

// Reads content from parameters of one kind; each call below adds, reads or writes nodes of that kind with it.
using Read = CUresult (*)(const void* params, Context& context, Graph& graph, Content& content, Context*& of);

template <typename P>
CUresult read_simple(const void* params, Context& context, Graph& /*graph*/, Content& content, Context*& of) {
  of = &context;
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return content_of(*static_cast<const P*>(params), content);
}
CUresult read_kernel(const void* params, Context& context, Graph& /*graph*/, Content& content, Context*& of) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return content_of(*static_cast<const CUDA_KERNEL_NODE_PARAMS*>(params), context, content, of);
}
// The first version ends before the kernel and the context.
CUresult read_kernel_v1(const void* params, Context& context, Graph& graph, Content& content, Context*& of) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS whole{};
  std::memcpy(&whole, params, sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
  return read_kernel(&whole, context, graph, content, of);
}
CUresult read_any(const void* params, Context& context, Graph& graph, Content& content, Context*& of) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return content_of(*static_cast<CUgraphNodeParams*>(const_cast<void*>(params)), context, graph, content, of);
}
CUresult read_any_of(CUgraphNodeParams params, Context& context, Graph& graph, Content& content, Context*& of) {
  return content_of(params, context, graph, content, of);
}
CUresult read_host(const void* params, Context& context, Graph& graph, Content& content, Context*& of) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_HOST;
  std::memcpy(&any.host, params, sizeof any.host);
  return read_any_of(any, context, graph, content, of);
}
template <CUgraphNodeType type>
CUresult read_event(const void* event, Context& context, Graph& graph, Content& content, Context*& of) {
  CUgraphNodeParams any{};
  any.type = type;
  any.eventRecord.event = static_cast<CUevent>(const_cast<void*>(event));
  return read_any_of(any, context, graph, content, of);
}
CUresult read_child(const void* child, Context& context, Graph& graph, Content& content, Context*& of) {
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_GRAPH;
  any.graph.graph = static_cast<CUgraph>(const_cast<void*>(child));
  return read_any_of(any, context, graph, content, of);
}
CUresult read_empty(const void* /*params*/, Context& context, Graph& /*graph*/, Content& content, Context*& of) {
  of = &context;
  content = EmptyNode{};
  return CUDA_SUCCESS;
}
CUresult read_alloc(const void* params, Context& context, Graph& graph, Content& content, Context*& of) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  std::memcpy(&any.alloc, params, sizeof any.alloc);
  const CUresult result = content_of(any, context, graph, content, of);
  static_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(const_cast<void*>(params))->dptr = any.alloc.dptr;
  return result;
}
CUresult read_free(const void* address, Context& context, Graph& graph, Content& content, Context*& of) {
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  any.free.dptr = reinterpret_cast<CUdeviceptr>(address);
  return read_any_of(any, context, graph, content, of);
}

// `context` null: the current one.
CUresult add(CUgraphNode* result, CUgraph handle, const CUgraphNode* before, const CUgraphEdgeData* data, std::size_t count, Read read,
             const void* params, CUcontext context_handle = nullptr) {
  const Entry entry;
  CUresult error;
  Context* context = entry.context(error);
  if (context == nullptr) return error;
  if (context_handle != nullptr && (context = world().contexts.find(context_handle)) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Graph* graph = graph_catalogue().find_graph(handle);
  if (graph == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> after;
  if (const CUresult bad = read_dependencies(*graph, before, count, after); bad != CUDA_SUCCESS) return bad;
  Content content;
  Context* of = context;
  if (const CUresult bad = read(params, *context, *graph, content, of); bad != CUDA_SUCCESS) return bad;
  *result = handle_of(add_node(*graph, of, std::move(content), after, data));
  return CUDA_SUCCESS;
}

// Replaces what a node holds with something of the same kind.
CUresult set(CUgraphNode handle, Read read, const void* params, CUgraphNodeType type) {
  const Entry entry;
  GraphNode* node = graph_catalogue().find_node(handle);
  if (node == nullptr || type_of(node->content) != type) return CUDA_ERROR_INVALID_VALUE;
  if (world().contexts.find(node->context) == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  Content content;
  Context* of = node->context;
  if (const CUresult bad = read(params, *node->context, *node->graph, content, of); bad != CUDA_SUCCESS) return bad;
  node->content = std::move(content);
  node->context = of;
  return CUDA_SUCCESS;
}

// The same in an executable graph, by the original's node.
CUresult set_exec(CUgraphExec exec_handle, CUgraphNode handle, Read read, const void* params, CUgraphNodeType type,
                  CUcontext context_handle = nullptr) {
  const Entry entry;
  CUresult error;
  Context* context = entry.context(error);
  if (context == nullptr) return error;
  if (context_handle != nullptr && (context = world().contexts.find(context_handle)) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  GraphNode* node = node_in(graph_catalogue().execs.find(exec_handle), handle);
  if (node == nullptr || type_of(node->content) != type) return CUDA_ERROR_INVALID_VALUE;
  if (world().contexts.find(node->context) == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  Content content;
  Context* of = node->context;
  if (const CUresult bad = read(params, *node->context, *node->graph, content, of); bad != CUDA_SUCCESS) return bad;
  if (of->device != node->context->device) return CUDA_ERROR_INVALID_VALUE;  // documented: a node stays on its device
  node->content = std::move(content);
  node->context = of;
  return CUDA_SUCCESS;
}

template <typename T, typename F>
CUresult get(CUgraphNode handle, F&& f) {
  const Entry entry;
  GraphNode* node = graph_catalogue().find_node(handle);
  T* content = node == nullptr ? nullptr : std::get_if<T>(&node->content);
  if (content == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult bad = usable(*node);
  return bad != CUDA_SUCCESS ? bad : f(*content, *node);
}

// The pointers belong to the node and are good until its parameters change.
void describe(KernelNode& node, const GraphNode& owner, CUDA_KERNEL_NODE_PARAMS& p) {
  const KernelWork& w = node.work;
  const auto& layout = w.function->kernel->attributes().params;
  node.pointers.clear();
  for (const auto& param : layout) node.pointers.push_back(node.work.params.data() + param.offset);
  p = {};
  p.func = w.kernel == nullptr ? reinterpret_cast<CUfunction>(w.function) : nullptr;
  p.gridDimX = w.grid[0], p.gridDimY = w.grid[1], p.gridDimZ = w.grid[2];
  p.blockDimX = w.block[0], p.blockDimY = w.block[1], p.blockDimZ = w.block[2];
  p.sharedMemBytes = w.dynamic_shared;
  p.kernelParams = node.pointers.empty() ? nullptr : node.pointers.data();
  p.kern = w.kernel;
  p.ctx = w.kernel == nullptr ? nullptr : reinterpret_cast<CUcontext>(owner.context);
}

template <typename P>
CUresult get_kernel(CUgraphNode handle, P* params) {
  return get<KernelNode>(handle, [&](KernelNode& node, const GraphNode& owner) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS whole;
    describe(node, owner, whole);
    if (sizeof(P) < sizeof whole) whole.func = reinterpret_cast<CUfunction>(node.work.function);
    std::memcpy(params, &whole, sizeof(P));
    return CUDA_SUCCESS;
  });
}

CUresult get_event(CUgraphNode handle, CUevent* event, bool record) {
  return get<EventNode>(handle, [&](const EventNode& node, const GraphNode&) {
    if (event == nullptr || node.record != record) return CUDA_ERROR_INVALID_VALUE;
    *event = reinterpret_cast<CUevent>(node.event);
    return CUDA_SUCCESS;
  });
}

constexpr auto kernel_type = CU_GRAPH_NODE_TYPE_KERNEL;
constexpr auto copy_type = CU_GRAPH_NODE_TYPE_MEMCPY;
constexpr auto fill_type = CU_GRAPH_NODE_TYPE_MEMSET;
constexpr auto host_type = CU_GRAPH_NODE_TYPE_HOST;
constexpr auto record_type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
constexpr auto wait_type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
constexpr auto batch_type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
constexpr Read read_copy = read_simple<CUDA_MEMCPY3D>, read_fill = read_simple<CUDA_MEMSET_NODE_PARAMS>,
               read_batch = read_simple<CUDA_BATCH_MEM_OP_NODE_PARAMS>;

}  // namespace

SIM_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_kernel_v1, params);
}
SIM_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_kernel, params);
}
SIM_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                         const CUDA_MEMCPY3D* params, CUcontext context) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_copy, params, context);
}
SIM_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                         const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_fill, params, context);
}
SIM_EXPORT CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                       const CUDA_HOST_NODE_PARAMS* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_host, params);
}
SIM_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                             CUgraph child) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_child, child);
}
SIM_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_empty, nullptr);
}
SIM_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                              CUevent event) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_event<record_type>, event);
}
SIM_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                            CUevent event) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_event<wait_type>, event);
}
SIM_EXPORT CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_batch, params, params == nullptr ? nullptr : params->ctx);
}
SIM_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                           CUDA_MEM_ALLOC_NODE_PARAMS* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_alloc, params);
}
SIM_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                          CUdeviceptr address) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_free, reinterpret_cast<const void*>(address));
}
SIM_EXPORT CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                   CUgraphNodeParams* params) SIM_NOEXCEPT {
  return add(node, graph, before, nullptr, count, read_any, params);
}
SIM_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, const CUgraphEdgeData* data,
                                      size_t count, CUgraphNodeParams* params) SIM_NOEXCEPT {
  return add(node, graph, before, data, count, read_any, params);
}

SIM_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) SIM_NOEXCEPT {
  return get_kernel(node, params);
}
SIM_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) SIM_NOEXCEPT {
  return get_kernel(node, params);
}
SIM_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) SIM_NOEXCEPT {
  return get<CopyNode>(handle, [&](const CopyNode& node, const GraphNode&) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *params = node.description;
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) SIM_NOEXCEPT {
  return get<FillNode>(handle, [&](const FillNode& node, const GraphNode&) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *params = node.description;
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* params) SIM_NOEXCEPT {
  return get<HostWork>(handle, [&](const HostWork& node, const GraphNode&) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    params->fn = node.function;
    params->userData = node.data;
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* graph) SIM_NOEXCEPT {
  return get<ChildNode>(handle, [&](const ChildNode& node, const GraphNode&) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = reinterpret_cast<CUgraph>(node.graph.get());
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) SIM_NOEXCEPT { return get_event(node, event, true); }
SIM_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) SIM_NOEXCEPT { return get_event(node, event, false); }
SIM_EXPORT CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) SIM_NOEXCEPT {
  return get<BatchNode>(handle, [&](BatchNode& node, const GraphNode& owner) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *params = {reinterpret_cast<CUcontext>(owner.context), static_cast<unsigned>(node.operations.size()), node.operations.data(),
               node.flags};
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* params) SIM_NOEXCEPT {
  return get<AllocNode>(handle, [&](const AllocNode& node, const GraphNode&) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *params = node.params;
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* address) SIM_NOEXCEPT {
  return get<FreeNode>(handle, [&](const FreeNode& node, const GraphNode&) {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *address = node.memory->address;
    return CUDA_SUCCESS;
  });
}

SIM_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) SIM_NOEXCEPT {
  return set(node, read_kernel_v1, params, kernel_type);
}
SIM_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set(node, read_kernel, params, kernel_type);
}
SIM_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) SIM_NOEXCEPT {
  return set(node, read_copy, params, copy_type);
}
SIM_EXPORT CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set(node, read_fill, params, fill_type);
}
SIM_EXPORT CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set(node, read_host, params, host_type);
}
SIM_EXPORT CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) SIM_NOEXCEPT {
  return set(node, read_event<record_type>, event, record_type);
}
SIM_EXPORT CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) SIM_NOEXCEPT {
  return set(node, read_event<wait_type>, event, wait_type);
}
SIM_EXPORT CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set(node, read_batch, params, batch_type);
}
SIM_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) SIM_NOEXCEPT {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) return CUDA_ERROR_NOT_SUPPORTED;
  return set(node, read_any, params, params->type);
}

SIM_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1* params) SIM_NOEXCEPT {
  return set_exec(exec, node, read_kernel_v1, params, kernel_type);
}
SIM_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set_exec(exec, node, read_kernel, params, kernel_type);
}
SIM_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                                   CUcontext context) SIM_NOEXCEPT {
  return set_exec(exec, node, read_copy, params, copy_type, context);
}
SIM_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                                                   CUcontext context) SIM_NOEXCEPT {
  return set_exec(exec, node, read_fill, params, fill_type, context);
}
SIM_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set_exec(exec, node, read_host, params, host_type);
}
SIM_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) SIM_NOEXCEPT {
  return set_exec(exec, node, read_child, child, CU_GRAPH_NODE_TYPE_GRAPH);
}
SIM_EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) SIM_NOEXCEPT {
  return set_exec(exec, node, read_event<record_type>, event, record_type);
}
SIM_EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) SIM_NOEXCEPT {
  return set_exec(exec, node, read_event<wait_type>, event, wait_type);
}
SIM_EXPORT CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) SIM_NOEXCEPT {
  return set_exec(exec, node, read_batch, params, batch_type);
}
SIM_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) SIM_NOEXCEPT {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) return CUDA_ERROR_NOT_SUPPORTED;
  return set_exec(exec, node, read_any, params, params->type);
}

SIM_EXPORT CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) SIM_NOEXCEPT {
  return get<KernelNode>(from, [&](const KernelNode& source, const GraphNode& owner) {
    return get<KernelNode>(to, [&](KernelNode& target, GraphNode& other) {
      other.attributes = owner.attributes;
      target.work.cooperative = source.work.cooperative;
      return CUDA_SUCCESS;
    });
  });
}
SIM_EXPORT CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue* value) SIM_NOEXCEPT {
  return get<KernelNode>(handle, [&](const KernelNode& node, const GraphNode& owner) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = owner.attributes.find(id);
    *value = found == owner.attributes.end() ? CUkernelNodeAttrValue{} : found->second;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) value->cooperative = node.work.cooperative ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
SIM_EXPORT CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                                  const CUkernelNodeAttrValue* value) SIM_NOEXCEPT {
  return get<KernelNode>(handle, [&](KernelNode& node, GraphNode& owner) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto& cluster = value->clusterDim;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && cluster.x * cluster.y * cluster.z > 1) return CUDA_ERROR_NOT_SUPPORTED;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) node.work.cooperative = value->cooperative != 0;
    owner.attributes[id] = *value;
    return CUDA_SUCCESS;
  });
}
