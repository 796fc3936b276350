// Stream capture: what is put into a capturing stream becomes a node of a graph, behind the nodes that the stream has come to.
//
// A capture begins in its origin stream; other streams join by waiting on an event that was recorded in it, and must be waited for in turn
// before the origin ends it. What CUDA forbids meanwhile answers its code here, and invalidates the capture where that is documented.
// Invariant: every capture that hasn't ended is in the list that forbids_unsafe_calls() asks. Threads: guarded by the driver's lock.
#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tools/simgpu/libcuda/graph.h"

namespace tessera::simgpu {

struct Capture {
  Graph* graph = nullptr;
  std::unique_ptr<Graph> owned;  // the graph, unless the program gave one to capture into
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  const Stream* origin = nullptr;
  std::thread::id thread;
  bool invalidated = false, ended = false;
};

// Where a stream, or an event in it, has come to in a capture: what the next node depends on.
struct CapturePoint {
  std::shared_ptr<Capture> capture;
  std::vector<std::pair<GraphNode*, CUgraphEdgeData>> after;
  // The same, for those who ask for arrays.
  std::vector<CUgraphNode> handles{};
  std::vector<CUgraphEdgeData> data{};
};

// Whether work may be put into the stream now: no, while it would implicitly join a capture, or its own capture has failed.
[[nodiscard]] CUresult may_use(const Stream& stream);
// Whether the program may wait for the stream, or ask whether it has ended.
[[nodiscard]] CUresult may_wait_for(const Stream& stream);
[[nodiscard]] CUresult may_wait_for(const Context& context);
// Whether the event can be waited for or asked: not while its latest record is a captured one.
[[nodiscard]] CUresult may_wait_for(const Event& event);
// Whether the calling thread may make a call that isn't safe while streams are captured, such as an allocation.
[[nodiscard]] CUresult may_call_unsafely();

// Adds a node to the capture of the stream, which is then where the stream has come to.
CUresult capture(Stream& stream, Content content);
CUresult capture(Stream& stream, const Work& work);
void capture_record(const Stream& stream, Event& event);
// A wait of `stream` for `event`, of which at least one is in a capture.
CUresult capture_wait(Stream& stream, const Event& event);

// The stream, or a context's own ones, are about to go.
void forget_capture(Stream& stream);

// The program destroys what captures may refer to: they go on without the node, and fail without the graph.
void forget_in_captures(const GraphNode& node);
void forget_in_captures(const Graph& graph);

}  // namespace tessera::simgpu
