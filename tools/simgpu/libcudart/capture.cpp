// Stream capture.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

RUNTIME_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamBeginCapture>(stream, mode);
}
RUNTIME_EXPORT cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                                         const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                                                         cudaStreamCaptureMode mode) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamBeginCaptureToGraph>(stream, graph, dependencies, dependencyData, numDependencies, mode);
}
RUNTIME_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamEndCapture>(stream, pGraph);
}
RUNTIME_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                                    unsigned long long* id_out, cudaGraph_t* graph_out,
                                                    const cudaGraphNode_t** dependencies_out, const cudaGraphEdgeData** edgeData_out,
                                                    size_t* numDependencies_out) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamGetCaptureInfo>(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                                                       numDependencies_out);
}
RUNTIME_EXPORT cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                               const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                                                               unsigned int flags) RUNTIME_NOEXCEPT {
  return forward<&DriverTable::cuStreamUpdateCaptureDependencies>(stream, dependencies, dependencyData, numDependencies, flags);
}
