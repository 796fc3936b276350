// Graphs: the calls that are the driver's under other names.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphCreate>(pGraph, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph) RUNTIME_NOEXCEPT { return forward<&DriverTable::cuGraphDestroy>(graph); }
RUNTIME_EXPORT cudaError_t cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphClone>(pGraphClone, originalGraph);
}
RUNTIME_EXPORT cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphDebugDotPrint>(graph, path, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphDestroyNode>(node);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* pNode, cudaGraphNode_t originalNode,
                                                    cudaGraph_t clonedGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeFindInClone>(pNode, originalNode, clonedGraph);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeGetType>(node, pType);
}
RUNTIME_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphGetNodes>(graph, nodes, numNodes);
}
RUNTIME_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes, size_t* pNumRootNodes) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphGetRootNodes>(graph, pRootNodes, pNumRootNodes);
}
RUNTIME_EXPORT cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edgeData,
                                             size_t* numEdges) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphGetEdges>(graph, from, to, edgeData, numEdges);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies, cudaGraphEdgeData* edgeData,
                                                        size_t* pNumDependencies) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeGetDependencies>(node, pDependencies, edgeData, pNumDependencies);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes,
                                                          cudaGraphEdgeData* edgeData, size_t* pNumDependentNodes) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeGetDependentNodes>(node, pDependentNodes, edgeData, pNumDependentNodes);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                    const cudaGraphEdgeData* edgeData, size_t numDependencies) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddDependencies>(graph, from, to, edgeData, numDependencies);
}
RUNTIME_EXPORT cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                       const cudaGraphEdgeData* edgeData, size_t numDependencies) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphRemoveDependencies>(graph, from, to, edgeData, numDependencies);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                      size_t numDependencies, cudaGraph_t childGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddChildGraphNode>(pGraphNode, graph, pDependencies, numDependencies, childGraph);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                 size_t numDependencies) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddEmptyNode>(pGraphNode, graph, pDependencies, numDependencies);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                       size_t numDependencies, cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddEventRecordNode>(pGraphNode, graph, pDependencies, numDependencies, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                     size_t numDependencies, cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddEventWaitNode>(pGraphNode, graph, pDependencies, numDependencies, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                size_t numDependencies, const cudaHostNodeParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddHostNode>(pGraphNode, graph, pDependencies, numDependencies, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                    size_t numDependencies, cudaMemAllocNodeParams* nodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddMemAllocNode>(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                                   size_t numDependencies, void* dptr) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphAddMemFreeNode>(pGraphNode, graph, pDependencies, numDependencies, dptr);
}
RUNTIME_EXPORT cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* pGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphChildGraphNodeGetGraph>(node, pGraph);
}
RUNTIME_EXPORT cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphEventRecordNodeGetEvent>(node, event_out);
}
RUNTIME_EXPORT cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphEventRecordNodeSetEvent>(node, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphEventWaitNodeGetEvent>(node, event_out);
}
RUNTIME_EXPORT cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphEventWaitNodeSetEvent>(node, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphHostNodeGetParams>(node, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphHostNodeSetParams>(node, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphMemAllocNodeGetParams>(node, params_out);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphMemFreeNodeGetParams>(node, dptr_out);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphMemsetNodeGetParams>(node, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphMemsetNodeSetParams>(node, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphKernelNodeCopyAttributes>(hDst, hSrc);
}
RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                                           cudaKernelNodeAttrValue* value_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphKernelNodeGetAttribute>(hNode, attr, value_out);
}
RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                                           const cudaKernelNodeAttrValue* value) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphKernelNodeSetAttribute>(hNode, attr, value);
}
RUNTIME_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphInstantiateWithFlags>(pGraphExec, graph, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                         unsigned long long flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphInstantiateWithFlags>(pGraphExec, graph, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                          cudaGraphInstantiateParams* instantiateParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphInstantiateWithParams>(pGraphExec, graph, instantiateParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecDestroy>(graphExec);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long* flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecGetFlags>(graphExec, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                               cudaGraphExecUpdateResultInfo* resultInfo) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecUpdate>(hGraphExec, hGraph, resultInfo);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                                cudaGraph_t childGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecChildGraphNodeSetParams>(hGraphExec, node, childGraph);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                                cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecEventRecordNodeSetEvent>(hGraphExec, hNode, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                              cudaEvent_t event) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecEventWaitNodeSetEvent>(hGraphExec, hNode, event);
}
RUNTIME_EXPORT cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                          const cudaHostNodeParams* pNodeParams) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphExecHostNodeSetParams>(hGraphExec, node, pNodeParams);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                   unsigned int isEnabled) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeSetEnabled>(hGraphExec, hNode, isEnabled);
}
RUNTIME_EXPORT cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                   unsigned int* isEnabled) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphNodeGetEnabled>(hGraphExec, hNode, isEnabled);
}
RUNTIME_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphLaunch>(graphExec, stream);
}
RUNTIME_EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphUpload>(graphExec, stream);
}
RUNTIME_EXPORT cudaError_t cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr, cudaHostFn_t destroy, unsigned int initialRefcount,
                                                unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuUserObjectCreate>(object_out, ptr, destroy, initialRefcount, flags);
}
RUNTIME_EXPORT cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuUserObjectRetain>(object, count);
}
RUNTIME_EXPORT cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuUserObjectRelease>(object, count);
}
RUNTIME_EXPORT cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                                     unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphRetainUserObject>(graph, object, count, flags);
}
RUNTIME_EXPORT cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuGraphReleaseUserObject>(graph, object, count);
}
