#include "tools/simgpu/libcuda/capture.h"

#include <algorithm>
#include <unordered_set>

using namespace tessera::simgpu;

namespace {

std::vector<std::shared_ptr<Capture>>& captures() {
  static auto* const instance = new std::vector<std::shared_ptr<Capture>>;  // as long as the world
  return *instance;
}

CUstreamCaptureMode& mode_of_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUresult fail(Capture& capture, CUresult code) {
  capture.invalidated = true;
  return code;
}

bool is_blocking(const Stream& stream) { return (stream.flags & CU_STREAM_NON_BLOCKING) == 0; }

// Every stream of every context, the default ones too.
template <typename F>
void for_each_stream(F&& f) {
  for (const auto& [context, owned] : world().contexts) f(context->per_thread);
  for (const auto& [stream, owned] : world().streams) f(*stream);
}

// A capture of a stream that synchronises with the context's legacy stream; null when there is none.
Capture* blocking_capture_in(const Context& context) {
  Capture* found = nullptr;
  for_each_stream([&](const Stream& s) {
    if (s.context == &context && s.capturing != nullptr && is_blocking(s)) found = s.capturing->capture.get();
  });
  return found;
}

void add_dependency(CapturePoint& point, GraphNode* node, const CUgraphEdgeData& data = {}) {
  const auto same = [&](const auto& edge) { return edge.first == node; };
  if (std::none_of(point.after.begin(), point.after.end(), same)) point.after.emplace_back(node, data);
}

void end(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for_each_stream([&](Stream& s) {
    if (s.capturing != nullptr && s.capturing->capture == capture) s.capturing = nullptr;
  });
  auto& all = captures();
  all.erase(std::remove(all.begin(), all.end(), capture), all.end());
}

// Whether everything that other streams have come to is behind them for the origin, too.
bool is_joined(const Capture& capture) {
  std::unordered_set<const GraphNode*> reached;
  std::vector<const GraphNode*> open;
  for (const auto& [node, data] : capture.origin->capturing->after) open.push_back(node);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    for (const auto& [before, data] : node->after) open.push_back(before);
  }
  bool joined = true;
  for_each_stream([&](const Stream& s) {
    if (s.capturing == nullptr || s.capturing->capture.get() != &capture) return;
    for (const auto& [node, data] : s.capturing->after) joined = joined && reached.count(node) != 0;
  });
  return joined;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, CUgraph into, const CUgraphNode* after, const CUgraphEdgeData* data,
               std::size_t count) {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (s->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (s->capturing != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  if (into == nullptr) {
    capture->owned = std::make_unique<Graph>();
    capture->graph = capture->owned.get();
  } else {
    capture->graph = graph_catalogue().find_graph(into);
    if (capture->graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<GraphNode*> nodes;
  if (const CUresult bad = read_dependencies(*capture->graph, after, count, nodes); bad != CUDA_SUCCESS) return bad;
  capture->id = world().next_id++;
  capture->mode = mode;
  capture->origin = s;
  capture->thread = std::this_thread::get_id();
  s->capturing = std::make_shared<CapturePoint>();
  s->capturing->capture = capture;
  for (std::size_t i = 0; i < nodes.size(); ++i) add_dependency(*s->capturing, nodes[i], data == nullptr ? CUgraphEdgeData{} : data[i]);
  captures().push_back(std::move(capture));
  return CUDA_SUCCESS;
}

struct Query {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** nodes = nullptr;
  const CUgraphEdgeData** data = nullptr;
  size_t* count = nullptr;
  bool knows_data = false;
};
CUresult answer(CUstream handle, const Query& query) {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (query.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (s->is_legacy && blocking_capture_in(*s->context) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *query.status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (s->capturing == nullptr) return CUDA_SUCCESS;
  CapturePoint& point = *s->capturing;
  if (point.capture->invalidated) {
    *query.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  }
  *query.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  point.handles.clear();
  point.data.clear();
  bool plain = true;
  for (const auto& [node, data] : point.after) {
    point.handles.push_back(handle_of(node));
    point.data.push_back(data);
    plain = plain && data.type == 0 && data.from_port == 0 && data.to_port == 0;
  }
  if (query.nodes != nullptr && query.data == nullptr && !plain) return CUDA_ERROR_LOSSY_QUERY;
  if (query.id != nullptr) *query.id = point.capture->id;
  if (query.graph != nullptr) *query.graph = reinterpret_cast<CUgraph>(point.capture->graph);
  if (query.nodes != nullptr) *query.nodes = point.handles.data();
  if (query.data != nullptr) *query.data = point.data.data();
  if (query.count != nullptr) *query.count = point.handles.size();
  return CUDA_SUCCESS;
}

CUresult change_dependencies(CUstream handle, const CUgraphNode* nodes, const CUgraphEdgeData* data, std::size_t count, unsigned flags) {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  if (s->capturing == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  std::vector<GraphNode*> found;
  if (const CUresult bad = read_dependencies(*s->capturing->capture->graph, nodes, count, found); bad != CUDA_SUCCESS) return bad;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) s->capturing->after.clear();
  for (std::size_t i = 0; i < found.size(); ++i) add_dependency(*s->capturing, found[i], data == nullptr ? CUgraphEdgeData{} : data[i]);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult tessera::simgpu::may_use(const Stream& stream) {
  if (stream.is_legacy) {
    Capture* joined = blocking_capture_in(*stream.context);
    if (joined != nullptr) return fail(*joined, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  return stream.capturing != nullptr && stream.capturing->capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult tessera::simgpu::may_wait_for(const Stream& stream) {
  if (const CUresult bad = may_use(stream); bad != CUDA_SUCCESS) return bad;
  if (stream.capturing != nullptr) return fail(*stream.capturing->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return may_call_unsafely();
}

CUresult tessera::simgpu::may_wait_for(const Context& context) {
  CUresult result = CUDA_SUCCESS;
  for_each_stream([&](const Stream& s) {
    if (s.context == &context && s.capturing != nullptr) result = fail(*s.capturing->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  return result != CUDA_SUCCESS ? result : may_call_unsafely();
}

CUresult tessera::simgpu::may_wait_for(const Event& event) {
  if (event.captured == nullptr) return may_call_unsafely();
  Capture& capture = *event.captured->capture;
  return capture.ended ? CUDA_ERROR_CAPTURED_EVENT : fail(capture, CUDA_ERROR_CAPTURED_EVENT);
}

// Source: cuThreadExchangeStreamCaptureMode's documentation.
CUresult tessera::simgpu::may_call_unsafely() {
  const CUstreamCaptureMode mine = mode_of_thread();
  if (mine == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : captures()) {
    const bool ours = capture->thread == std::this_thread::get_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool anyone = mine == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (ours || anyone) result = fail(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

CUresult tessera::simgpu::capture(Stream& stream, Content content) {
  CapturePoint& point = *stream.capturing;
  if (point.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (auto* child = std::get_if<ChildNode>(&content)) child->graph->parent = point.capture->graph;
  GraphNode* node = add_node(*point.capture->graph, stream.context, std::move(content), {});
  node->after = std::move(point.after);
  point.after = {{node, CUgraphEdgeData{}}};
  return CUDA_SUCCESS;
}

CUresult tessera::simgpu::capture(Stream& stream, const Work& work) {
  Content content;
  const CUresult bad = content_of(work, content);
  return bad != CUDA_SUCCESS ? fail(*stream.capturing->capture, bad) : capture(stream, std::move(content));
}

void tessera::simgpu::capture_record(const Stream& stream, Event& event) {
  event.captured = std::make_shared<CapturePoint>(*stream.capturing);
}

CUresult tessera::simgpu::capture_wait(Stream& stream, const Event& event) {
  Capture* theirs = event.captured == nullptr || event.captured->capture->ended ? nullptr : event.captured->capture.get();
  if (stream.capturing == nullptr) {
    if (theirs == nullptr) return CUDA_ERROR_CAPTURED_EVENT;
    if (stream.is_legacy) return fail(*theirs, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (theirs->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream.capturing = std::make_shared<CapturePoint>(*event.captured);
    return CUDA_SUCCESS;
  }
  Capture& ours = *stream.capturing->capture;
  if (theirs == nullptr) {
    const bool never_recorded = event.captured == nullptr && event.mark == nullptr;
    return never_recorded ? CUDA_SUCCESS : fail(ours, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  if (theirs != &ours) {
    theirs->invalidated = true;
    return fail(ours, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  for (const auto& [node, data] : event.captured->after) add_dependency(*stream.capturing, node, data);
  return CUDA_SUCCESS;
}

void tessera::simgpu::forget_in_captures(const GraphNode& node) {
  if (captures().empty()) return;
  const auto forget = [&](const std::shared_ptr<CapturePoint>& point) {
    if (point == nullptr) return;
    const auto is_it = [&](const auto& edge) { return edge.first == &node; };
    point->after.erase(std::remove_if(point->after.begin(), point->after.end(), is_it), point->after.end());
  };
  for_each_stream([&](const Stream& s) { forget(s.capturing); });
  for (const auto& [event, owned] : world().events) forget(event->captured);
}

void tessera::simgpu::forget_in_captures(const Graph& graph) {
  for (const auto& capture : captures()) {
    if (capture->graph == &graph) capture->invalidated = true;
  }
}

void tessera::simgpu::forget_capture(Stream& stream) {
  if (stream.capturing == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capturing->capture;
  capture->invalidated = true;
  stream.capturing = nullptr;
  if (capture->origin == &stream) end(capture);  // nobody can end it any more
}

SIM_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) SIM_NOEXCEPT {
  return begin(stream, mode, nullptr, nullptr, nullptr, 0);
}
SIM_EXPORT CUresult cuStreamBeginCapture(CUstream stream) SIM_NOEXCEPT {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIM_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* data,
                                                size_t count, CUstreamCaptureMode mode) SIM_NOEXCEPT {
  return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : begin(stream, mode, graph, after, data, count);
}

SIM_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* result) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = nullptr;
  if (s->capturing == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = s->capturing->capture;
  if (capture->origin != s) return fail(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return fail(*capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = is_joined(*capture);
  end(capture);
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *result = reinterpret_cast<CUgraph>(capture->graph);
  if (capture->owned != nullptr) graph_catalogue().owned[capture->graph] = std::move(capture->owned);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) SIM_NOEXCEPT { return answer(stream, {status}); }
SIM_EXPORT CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) SIM_NOEXCEPT {
  return answer(stream, {status, id});
}
SIM_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                              const CUgraphNode** nodes, size_t* count) SIM_NOEXCEPT {
  return answer(stream, {status, id, graph, nodes, nullptr, count});
}
SIM_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                              const CUgraphNode** nodes, const CUgraphEdgeData** data, size_t* count) SIM_NOEXCEPT {
  return answer(stream, {status, id, graph, nodes, data, count});
}
SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count, unsigned int flags) SIM_NOEXCEPT {
  return change_dependencies(stream, nodes, nullptr, count, flags);
}
SIM_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                                                         unsigned int flags) SIM_NOEXCEPT {
  return change_dependencies(stream, nodes, data, count, flags);
}

SIM_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) SIM_NOEXCEPT {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, mode_of_thread());
  return CUDA_SUCCESS;
}
