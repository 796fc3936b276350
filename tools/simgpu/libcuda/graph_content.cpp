// Nodes' contents from what programs write, and from what was captured.
#include <cstring>

#include "tools/simgpu/libcuda/copy.h"
#include "tools/simgpu/libcuda/function.h"
#include "tools/simgpu/libcuda/graph.h"
#include "tools/simgpu/libcuda/stream_memory.h"

namespace tessera::simgpu {
namespace {

constexpr unsigned conditional_sizes[] = {2, 1, ~0u};  // by CUgraphConditionalNodeType: the most bodies

CUresult event_content(CUevent handle, bool record, Content& content) {
  Event* event = world().events.find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  content = EventNode{event, record};
  return CUDA_SUCCESS;
}

CUresult allocation_content(CUDA_MEM_ALLOC_NODE_PARAMS& params, Content& content) {
  const CUmemLocation& at = params.poolProps.location;
  if (params.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || at.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if (params.poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  if (at.id < 0 || static_cast<std::size_t>(at.id) >= world().devices.size()) return CUDA_ERROR_INVALID_DEVICE;
  AllocNode node;
  const CUresult made = make_graph_memory(*world().devices[static_cast<std::size_t>(at.id)], params.bytesize, node.memory);
  if (made != CUDA_SUCCESS) return made;
  params.dptr = node.memory->address;
  node.params = params;
  node.params.accessDescs = nullptr;
  node.params.accessDescCount = 0;
  content = std::move(node);
  return CUDA_SUCCESS;
}

bool has_conditional(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (std::holds_alternative<ConditionalNode>(node->content)) return true;
    const auto* child = std::get_if<ChildNode>(&node->content);
    if (child != nullptr && has_conditional(*child->graph)) return true;
  }
  return false;
}

CUresult child_content(CUgraph handle, Graph& parent, Content& content) {
  const Graph* child = graph_catalogue().find_graph(handle);
  if (child == nullptr || child == &parent || has_conditional(*child)) return CUDA_ERROR_INVALID_VALUE;
  ChildNode node{copy_of(*child)};
  node.graph->parent = &parent;
  content = std::move(node);
  return CUDA_SUCCESS;
}

CUresult conditional_content(CUDA_CONDITIONAL_NODE_PARAMS& params, Graph& parent, Content& content) {
  if (graph_catalogue().conditions.count(params.handle) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (params.type > CU_GRAPH_COND_TYPE_SWITCH || params.size == 0 || params.size > conditional_sizes[params.type])
    return CUDA_ERROR_INVALID_VALUE;
  ConditionalNode node{params.handle, params.type};
  for (unsigned i = 0; i < params.size; ++i) {
    node.bodies.push_back(std::make_unique<Graph>());
    node.bodies.back()->parent = &parent;
    node.handles.push_back(reinterpret_cast<CUgraph>(node.bodies.back().get()));
  }
  params.phGraph_out = node.handles.data();  // moves along with the vector
  content = std::move(node);
  return CUDA_SUCCESS;
}

// The context that the parameters name, if they do.
CUresult use_context(CUcontext handle, Context*& of) {
  if (handle == nullptr) return CUDA_SUCCESS;
  of = world().contexts.find(handle);
  return of == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

CUresult content_of(const CUDA_KERNEL_NODE_PARAMS& p, Context& context, Content& content, Context*& of) {
  of = &context;
  if (p.func == nullptr && p.kern == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelNode node;
  const void* handle = p.func;
  if (p.func == nullptr) {
    if (const CUresult bad = use_context(p.ctx, of); bad != CUDA_SUCCESS) return bad;
    handle = p.kern;
  }
  CUresult error = CUDA_SUCCESS;
  const Function* function = function_of(handle, *of, error);
  if (function == nullptr) return error;
  of = function->module->context;
  node.work.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  node.work.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  node.work.dynamic_shared = p.sharedMemBytes;
  const CUresult bad = complete(node.work, static_cast<CUfunction>(const_cast<void*>(handle)), *of, p.kernelParams, p.extra);
  if (bad == CUDA_SUCCESS) content = std::move(node);
  return bad;
}

CUresult content_of(const CUDA_MEMCPY3D& p, Content& content) {
  CopyNode node{p, {}};
  if (const CUresult bad = copy_of(p, node.work); bad != CUDA_SUCCESS) return bad;
  content = node;
  return CUDA_SUCCESS;
}

CUresult content_of(const CUDA_MEMSET_NODE_PARAMS& p, Content& content) {
  FillNode node{p, {}};
  if (const CUresult bad = fill_of(p, node.work); bad != CUDA_SUCCESS) return bad;
  content = node;
  return CUDA_SUCCESS;
}

CUresult content_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& p, Content& content) {
  BatchNode node;
  node.flags = p.flags;
  if (p.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = value_works_of(p.paramArray, p.count, node.works); bad != CUDA_SUCCESS) return bad;
  node.operations.assign(p.paramArray, p.paramArray + p.count);
  content = std::move(node);
  return CUDA_SUCCESS;
}

CUresult content_of(CUgraphNodeParams& p, Context& context, Graph& graph, Content& content, Context*& of) {
  of = &context;
  CUresult bad = CUDA_SUCCESS;
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS params;
      static_assert(sizeof params == sizeof p.kernel, "the third version of the parameters has the second's layout");
      std::memcpy(&params, &p.kernel, sizeof params);
      return content_of(params, context, content, of);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      bad = use_context(p.memcpy.copyCtx, of);
      return bad != CUDA_SUCCESS ? bad : content_of(p.memcpy.copyParams, content);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      bad = use_context(p.memset.ctx, of);
      return bad != CUDA_SUCCESS ? bad
                                 : content_of(CUDA_MEMSET_NODE_PARAMS{p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize,
                                                                      p.memset.width, p.memset.height},
                                              content);
    case CU_GRAPH_NODE_TYPE_HOST:
      if (p.host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
      content = HostWork{p.host.fn, p.host.userData};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return child_content(p.graph.graph, graph, content);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      content = EmptyNode{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return event_content(p.eventWait.event, false, content);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return event_content(p.eventRecord.event, true, content);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS params;
      static_assert(sizeof params == sizeof p.alloc, "the second version of the parameters has the first's layout");
      std::memcpy(&params, &p.alloc, sizeof params);
      bad = allocation_content(params, content);
      p.alloc.dptr = params.dptr;
      return bad;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: {
      GraphMemoryPtr memory = graph_memory_at(p.free.dptr);
      if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
      content = FreeNode{std::move(memory)};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      bad = use_context(p.memOp.ctx, of);
      return bad != CUDA_SUCCESS
                 ? bad
                 : content_of(CUDA_BATCH_MEM_OP_NODE_PARAMS{p.memOp.ctx, p.memOp.count, p.memOp.paramArray, p.memOp.flags}, content);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      bad = use_context(p.conditional.ctx, of);
      return bad != CUDA_SUCCESS ? bad : conditional_content(p.conditional, graph, content);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult content_of(const Work& work, Content& content) {
  return std::visit(
      [&](const auto& w) {
        using T = std::decay_t<decltype(w)>;
        if constexpr (std::is_same_v<T, MarkWork>) {
          content = EmptyNode{};
        } else if constexpr (std::is_same_v<T, KernelWork>) {
          content = KernelNode{w};
        } else if constexpr (std::is_same_v<T, CopyWork>) {
          content = CopyNode{description_of(w), w};
        } else if constexpr (std::is_same_v<T, FillWork>) {
          content = FillNode{description_of(w), w};
        } else if constexpr (std::is_same_v<T, FreeWork>) {
          GraphMemoryPtr memory = graph_memory_at(w.address);
          if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
          content = FreeNode{std::move(memory)};
        } else if constexpr (std::is_same_v<T, HostWork> || std::is_same_v<T, CallbackWork>) {
          content = w;
        } else {
          BatchNode node;
          CUstreamBatchMemOpParams o{};
          constexpr bool wait = std::is_same_v<T, WaitValueWork>;
          o.waitValue.address = w.address;
          o.waitValue.value64 = w.value;
          if constexpr (wait) {
            o.waitValue.operation = w.bytes == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
            o.waitValue.flags = w.flags;
          } else {
            o.waitValue.operation = w.bytes == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
          }
          node.operations.push_back(o);
          node.works.emplace_back(w);
          content = std::move(node);
        }
        return CUDA_SUCCESS;
      },
      work);
}

}  // namespace tessera::simgpu
