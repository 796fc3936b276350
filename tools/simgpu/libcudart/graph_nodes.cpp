// Graph nodes whose parameters the runtime describes differently from the driver: kernels, copies, fills, nodes of any kind, conditions.
#include <vector_types.h>

#include <cstring>

#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

namespace {

CUgraphNode raw(cudaGraphNode_t node) { return reinterpret_cast<CUgraphNode>(node); }
CUgraph raw(cudaGraph_t graph) { return reinterpret_cast<CUgraph>(graph); }
CUgraphExec raw(cudaGraphExec_t exec) { return reinterpret_cast<CUgraphExec>(exec); }

// Where a node is to go, as the calls that add one say it.
struct Place {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* after;
  std::size_t count;
};
template <auto function, typename... Arguments>
CUresult add(const DriverTable& d, const Place& place, Arguments... arguments) {
  return call_driver(d.*function, place.node, place.graph, place.after, place.count, arguments...);
}

CUcontext current_context(const DriverTable& d) {
  CUcontext context = nullptr;
  (void)d.cuCtxGetCurrent(&context);
  return context;
}

CUresult read_kernel(const cudaKernelNodeParams* p, CUDA_KERNEL_NODE_PARAMS& params) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  params = {};
  params.gridDimX = p->gridDim.x, params.gridDimY = p->gridDim.y, params.gridDimZ = p->gridDim.z;
  params.blockDimX = p->blockDim.x, params.blockDimY = p->blockDim.y, params.blockDimZ = p->blockDim.z;
  params.sharedMemBytes = p->sharedMemBytes;
  params.kernelParams = p->kernelParams;
  params.extra = p->extra;
  return kernel_of(p->func, params.kern);
}

CUresult read_linear(void* to, const void* from, size_t n, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
  cudaMemcpy3DParms p{};
  p.srcPtr = {const_cast<void*>(from), n, n, 1};
  p.dstPtr = {to, n, n, 1};
  p.extent = {n, 1, 1};
  p.kind = kind;
  return read_copy(p, copy);
}
CUresult read_to_symbol(const void* symbol, const void* from, size_t n, size_t offset, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
  CUdeviceptr address = 0;
  const CUresult bad = inside_symbol(symbol, offset, n, address);
  return bad != CUDA_SUCCESS ? bad : read_linear(reinterpret_cast<void*>(address), from, n, kind, copy);
}
CUresult read_from_symbol(void* to, const void* symbol, size_t n, size_t offset, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
  CUdeviceptr address = 0;
  const CUresult bad = inside_symbol(symbol, offset, n, address);
  return bad != CUDA_SUCCESS ? bad : read_linear(to, reinterpret_cast<const void*>(address), n, kind, copy);
}

// The three things that are done with a copy's description.
cudaError_t add_copy(const Place& place, CUresult read, const CUDA_MEMCPY3D& copy) {
  if (read != CUDA_SUCCESS) return finish(read);
  return with_context([&](const DriverTable& d) { return add<&DriverTable::cuGraphAddMemcpyNode>(d, place, &copy, current_context(d)); });
}
cudaError_t set_copy(cudaGraphNode_t node, CUresult read, const CUDA_MEMCPY3D& copy) {
  if (read != CUDA_SUCCESS) return finish(read);
  return with_context([&](const DriverTable& d) { return d.cuGraphMemcpyNodeSetParams(raw(node), &copy); });
}
cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, CUresult read, const CUDA_MEMCPY3D& copy) {
  if (read != CUDA_SUCCESS) return finish(read);
  return with_context(
      [&](const DriverTable& d) { return d.cuGraphExecMemcpyNodeSetParams(raw(exec), raw(node), &copy, current_context(d)); });
}
CUresult read_any_copy(const cudaMemcpy3DParms* p, CUDA_MEMCPY3D& copy) {
  return p == nullptr ? CUDA_ERROR_INVALID_VALUE : read_copy(*p, copy);
}

// Parameters of any kind: the two descriptions differ for kernels, copies and fills.
CUresult read_node(const DriverTable& d, const cudaGraphNodeParams* p, CUgraphNodeParams& params) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static_assert(sizeof *p == sizeof params, "two descriptions of one thing");
  std::memcpy(&params, p, sizeof params);
  switch (p->type) {
    case cudaGraphNodeTypeKernel:
      params.kernel.func = nullptr;
      params.kernel.ctx = current_context(d);
      return kernel_of(p->kernel.func, params.kernel.kern);
    case cudaGraphNodeTypeMemcpy:
      params.memcpy.flags = 0;
      params.memcpy.reserved = 0;
      params.memcpy.copyCtx = current_context(d);
      return read_copy(p->memcpy.copyParams, params.memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
      params.memset.ctx = current_context(d);
      return CUDA_SUCCESS;
    case cudaGraphNodeTypeConditional:
      params.conditional.ctx = current_context(d);
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

}  // namespace

RUNTIME_EXPORT cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                                  const cudaKernelNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUDA_KERNEL_NODE_PARAMS params;
    const CUresult bad = read_kernel(p, params);
    return bad != CUDA_SUCCESS ? bad : add<&DriverTable::cuGraphAddKernelNode>(d, {node, graph, after, count}, &params);
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) RUNTIME_NOEXCEPT {
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  return with_context([&](const DriverTable& d) {
    CUDA_KERNEL_NODE_PARAMS params{};
    if (const CUresult bad = d.cuGraphKernelNodeGetParams(raw(node), &params); bad != CUDA_SUCCESS) return bad;
    p->func = const_cast<void*>(host_function_of(params.kern));
    if (p->func == nullptr) p->func = params.kern != nullptr ? static_cast<void*>(params.kern) : static_cast<void*>(params.func);
    p->gridDim = dim3(params.gridDimX, params.gridDimY, params.gridDimZ);
    p->blockDim = dim3(params.blockDimX, params.blockDimY, params.blockDimZ);
    p->sharedMemBytes = params.sharedMemBytes;
    p->kernelParams = params.kernelParams;
    p->extra = params.extra;
    return CUDA_SUCCESS;
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUDA_KERNEL_NODE_PARAMS params;
    const CUresult bad = read_kernel(p, params);
    return bad != CUDA_SUCCESS ? bad : d.cuGraphKernelNodeSetParams(raw(node), &params);
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaKernelNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUDA_KERNEL_NODE_PARAMS params;
    const CUresult bad = read_kernel(p, params);
    return bad != CUDA_SUCCESS ? bad : d.cuGraphExecKernelNodeSetParams(raw(exec), raw(node), &params);
  });
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                                  const cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_any_copy(p, copy);
  return add_copy({node, graph, after, count}, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                                    void* to, const void* from, size_t n, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_linear(to, from, n, kind, copy);
  return add_copy({node, graph, after, count}, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                          size_t count, const void* symbol, const void* from, size_t n, size_t offset,
                                                          cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_to_symbol(symbol, from, n, offset, kind, copy);
  return add_copy({node, graph, after, count}, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                                            size_t count, void* to, const void* symbol, size_t n, size_t offset,
                                                            cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_from_symbol(to, symbol, n, offset, kind, copy);
  return add_copy({node, graph, after, count}, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT {
  if (p == nullptr) return finish(cudaErrorInvalidValue);
  return with_context([&](const DriverTable& d) {
    CUDA_MEMCPY3D copy{};
    const CUresult bad = d.cuGraphMemcpyNodeGetParams(raw(node), &copy);
    if (bad == CUDA_SUCCESS) *p = written_copy(copy);
    return bad;
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_any_copy(p, copy);
  return set_copy(node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t n,
                                                          cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_linear(to, from, n, kind, copy);
  return set_copy(node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from, size_t n,
                                                                size_t offset, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_to_symbol(symbol, from, n, offset, kind, copy);
  return set_copy(node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol, size_t n,
                                                                  size_t offset, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_from_symbol(to, symbol, n, offset, kind, copy);
  return set_copy(node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaMemcpy3DParms* p) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_any_copy(p, copy);
  return set_copy(exec, node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                                              size_t n, cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_linear(to, from, n, kind, copy);
  return set_copy(exec, node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol,
                                                                    const void* from, size_t n, size_t offset,
                                                                    cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_to_symbol(symbol, from, n, offset, kind, copy);
  return set_copy(exec, node, read, copy);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                                      const void* symbol, size_t n, size_t offset,
                                                                      cudaMemcpyKind kind) RUNTIME_NOEXCEPT {
  CUDA_MEMCPY3D copy;
  const CUresult read = read_from_symbol(to, symbol, n, offset, kind, copy);
  return set_copy(exec, node, read, copy);
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                                  const cudaMemsetParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    return add<&DriverTable::cuGraphAddMemsetNode>(d, {node, graph, after, count}, p, current_context(d));
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaMemsetParams* p) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return call_driver(d.cuGraphExecMemsetNodeSetParams, exec, node, p, current_context(d)); });
}

RUNTIME_EXPORT cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                            const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUgraphNodeParams params;
    if (const CUresult bad = read_node(d, p, params); bad != CUDA_SUCCESS) return bad;
    const CUresult code = call_driver(d.cuGraphAddNode, node, graph, after, data, count, &params);
    // What the driver writes for the program.
    if (p->type == cudaGraphNodeTypeMemAlloc) p->alloc.dptr = reinterpret_cast<void*>(params.alloc.dptr);
    if (p->type == cudaGraphNodeTypeConditional)
      p->conditional.phGraph_out = reinterpret_cast<cudaGraph_t*>(params.conditional.phGraph_out);
    return code;
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUgraphNodeParams params;
    const CUresult bad = read_node(d, p, params);
    return bad != CUDA_SUCCESS ? bad : d.cuGraphNodeSetParams(raw(node), &params);
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* p) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    CUgraphNodeParams params;
    const CUresult bad = read_node(d, p, params);
    return bad != CUDA_SUCCESS ? bad : d.cuGraphExecNodeSetParams(raw(exec), raw(node), &params);
  });
}
RUNTIME_EXPORT cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned int value,
                                                            unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) {
    return d.cuGraphConditionalHandleCreate(reinterpret_cast<CUgraphConditionalHandle*>(handle), raw(graph), current_context(d), value,
                                            flags);
  });
}
