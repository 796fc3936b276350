// Stream capture: the graph does what the calls said, and what a capture forbids answers the documented code.
#include <cstring>
#include <string>
#include <thread>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

namespace {

using namespace tessera::test;
using tessera::simgpu::Random;

void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) { ok(cuStreamBeginCapture(stream, mode)); }
CUgraph end(CUstream stream) {
  CUgraph graph = nullptr;
  ok(cuStreamEndCapture(stream, &graph));
  REQUIRE(graph != nullptr);
  return graph;
}
CUresult failed_end(CUstream stream) {
  auto graph = reinterpret_cast<CUgraph>(&stream);
  const CUresult code = cuStreamEndCapture(stream, &graph);
  CHECK(graph == nullptr);
  return code;
}
CUevent event() {
  CUevent e = nullptr;
  ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
  return e;
}
CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream s = nullptr;
  ok(cuStreamCreate(&s, flags));
  return s;
}
CUstreamCaptureStatus status(CUstream s) {
  CUstreamCaptureStatus status{};
  ok(cuStreamIsCapturing(s, &status));
  return status;
}
std::size_t nodes_of(CUgraph graph) {
  std::size_t n = 0;
  ok(cuGraphGetNodes(graph, nullptr, &n));
  return n;
}

// Random work on some streams that are forked from one and joined to it again; every buffer is moved between streams by an event.
std::string random_work(unsigned seed, bool captured) {
  GraphMachine m;
  Random random(seed);
  constexpr unsigned streams = 3, buffers = 4, operations = 40;
  std::vector<CUdeviceptr> p;
  for (unsigned i = 0; i < buffers; ++i) p.push_back(GraphMachine::buffer(i + 1));
  std::vector<CUstream> s{m.stream};
  for (unsigned i = 1; i < streams; ++i) s.push_back(stream());
  const CUevent e = event();
  const auto order = [&](unsigned from, unsigned to) {
    ok(cuEventRecord(e, s[from]));
    ok(cuStreamWaitEvent(s[to], e, 0));
  };
  if (captured) begin(m.stream);
  for (unsigned i = 1; i < streams; ++i) order(0, i);
  std::vector<unsigned> owner(buffers, 0);  // the stream that used it last
  for (unsigned i = 0; i < operations; ++i) {
    const auto on = static_cast<unsigned>(random.below(streams)), a = static_cast<unsigned>(random.below(buffers));
    const unsigned b = (a + 1 + static_cast<unsigned>(random.below(buffers - 1))) % buffers;
    for (const unsigned used : {a, b}) {
      if (owner[used] != on) order(owner[used], on);
      owner[used] = on;
    }
    const auto kind = random.below(3);
    if (kind == 0) m.launch_mix(p[a], p[b], s[on]);
    if (kind == 1) ok(cuMemcpyAsync(p[a], p[b], GraphMachine::count * 4, s[on]));
    if (kind == 2) ok(cuMemsetD32Async(p[a], i, GraphMachine::count, s[on]));
  }
  for (unsigned i = 1; i < streams; ++i) order(i, 0);
  if (captured) m.run(end(m.stream));
  ok(cuCtxSynchronize());
  std::string text;
  for (const CUdeviceptr b : p) {
    for (const unsigned v : GraphMachine::read(b)) text += std::to_string(v) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("capture: the graph gives the bytes that the calls give") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::string expected = in_child({{"TESSERA_SIM_ORDER", "program"}}, [&] { return random_work(seed, false); });
    REQUIRE(expected.size() > 500);
    for (const char* order : {"program", "1", "2"}) {
      INFO("work " << seed << ", order " << order);
      CHECK(in_child({{"TESSERA_SIM_ORDER", order}}, [&] { return random_work(seed, true); }) == expected);
    }
  }
}

TEST_CASE("capture: nothing runs until the graph is launched") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  int calls = 0;
  begin(m.stream);
  CHECK(status(m.stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  m.launch_mix(out, in, m.stream);
  ok(cuLaunchHostFunc(
      m.stream, [](void* p) { ++*static_cast<int*>(p); }, &calls));
  const CUgraph graph = end(m.stream);
  CHECK(status(m.stream) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(nodes_of(graph) == 2);
  CHECK(GraphMachine::one(out) == 1);
  CHECK(calls == 0);
  m.run(graph, 2);
  CHECK(GraphMachine::one(out) == 13);
  CHECK(calls == 2);
}

TEST_CASE("capture: allocations, value operations, graphs and external events become nodes") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1), word = GraphMachine::buffer(0);
  begin(m.stream);
  m.launch_mix(out, in, m.stream);
  const CUgraphExec inner = [&] {
    const CUgraph graph = end(m.stream);
    return GraphMachine::instantiate(graph);
  }();
  const CUevent e = event();
  begin(m.stream);
  CUdeviceptr memory = 0;
  ok(cuMemAllocAsync(&memory, GraphMachine::count * 4, m.stream));
  ok(cuMemsetD32Async(memory, 5, GraphMachine::count, m.stream));
  m.launch_mix(out, memory, m.stream);
  ok(cuMemFreeAsync(memory, m.stream));
  ok(cuGraphLaunch(inner, m.stream));
  ok(cuStreamWriteValue32(m.stream, word, 9, 0));
  ok(cuStreamWaitValue32(m.stream, word, 9, CU_STREAM_WAIT_VALUE_EQ));
  ok(cuEventRecordWithFlags(e, m.stream, CU_EVENT_RECORD_EXTERNAL));
  ok(cuStreamWaitEvent(m.stream, e, CU_EVENT_WAIT_EXTERNAL));
  const CUgraph graph = end(m.stream);
  CHECK(nodes_of(graph) == 9);
  m.run(graph);
  CHECK(GraphMachine::one(out) == 25);  // 3 × (3 × 1 + 5) + 1
  CHECK(GraphMachine::read(word, 1)[0] == 9);
  CHECK(cuEventQuery(e) == CUDA_SUCCESS);
  CHECK(cuEventRecordWithFlags(e, m.stream, CU_EVENT_RECORD_EXTERNAL) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitEvent(m.stream, e, CU_EVENT_WAIT_EXTERNAL) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("capture: information and dependencies can be asked and changed") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  CUstreamCaptureStatus state{};
  cuuint64_t id = 0, second = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* after = nullptr;
  std::size_t count = 9;
  begin(m.stream);
  ok(cuStreamGetCaptureInfo(m.stream, &state, &id, &graph, &after, nullptr, &count));
  CHECK((state == CU_STREAM_CAPTURE_STATUS_ACTIVE && graph != nullptr && count == 0));
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);  // not the program's yet
  m.launch_mix(out, in, m.stream);
  ok(cuStreamGetCaptureInfo(m.stream, &state, &second, &graph, &after, nullptr, &count));
  REQUIRE(count == 1);
  CHECK(second == id);
  CUgraphNode added = m.add_mix(graph, out, in, {after[0]});
  ok(cuStreamUpdateCaptureDependencies(m.stream, &added, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  m.launch_mix(out, in, m.stream);
  const CUgraph done = end(m.stream);
  CHECK(done == graph);
  std::size_t edges = 0;
  ok(cuGraphGetEdges(done, nullptr, nullptr, nullptr, &edges));
  CHECK(edges == 2);
  m.run(done);
  CHECK(GraphMachine::one(out) == 40);
  CHECK(cuStreamUpdateCaptureDependencies(m.stream, &added, nullptr, 1, 0) == CUDA_ERROR_ILLEGAL_STATE);
  begin(m.stream);
  ok(cuStreamGetCaptureInfo(m.stream, &state, &second, nullptr, nullptr, nullptr, nullptr));
  CHECK(second != id);
  end(m.stream);

  const CUgraph mine = GraphMachine::graph();
  CUgraphNode first = m.add_mix(mine, out, in);
  ok(cuStreamBeginCaptureToGraph(m.stream, mine, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  m.launch_mix(out, in, m.stream);
  CHECK(end(m.stream) == mine);
  CHECK(nodes_of(mine) == 2);
  ok(cuGraphGetEdges(mine, nullptr, nullptr, nullptr, &edges));
  CHECK(edges == 1);
}

TEST_CASE("capture: what can't be ended, joined or begun says why") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  const CUevent e = event(), recorded = event(), fresh = event();
  const CUstream other = stream();
  ok(cuEventRecord(recorded, other));
  CHECK(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamBeginCapture(m.stream, static_cast<CUstreamCaptureMode>(7)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(failed_end(m.stream) == CUDA_ERROR_ILLEGAL_STATE);

  begin(m.stream);
  CHECK(cuStreamBeginCapture(m.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_ILLEGAL_STATE);
  ok(cuStreamWaitEvent(m.stream, fresh, 0));  // never recorded
  CHECK(cuStreamWaitEvent(m.stream, recorded, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CHECK(status(m.stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CHECK(cuMemsetD8Async(out, 0, 4, m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(GraphMachine::one(out) == 1);

  SECTION("a fork that isn't joined") {
    begin(m.stream);
    ok(cuEventRecord(e, m.stream));
    ok(cuStreamWaitEvent(other, e, 0));
    CHECK(status(other) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    m.launch_mix(out, in, other);
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(status(other) == CU_STREAM_CAPTURE_STATUS_NONE);
  }
  SECTION("ended in another stream") {
    begin(m.stream);
    ok(cuEventRecord(e, m.stream));
    ok(cuStreamWaitEvent(other, e, 0));
    CHECK(failed_end(other) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  SECTION("two captures don't merge") {
    begin(m.stream);
    begin(other);
    ok(cuEventRecord(e, other));
    CHECK(cuStreamWaitEvent(m.stream, e, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(failed_end(other) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  SECTION("a captured event can't be waited for, nor outside its capture") {
    begin(m.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuEventRecord(e, m.stream));
    CHECK(cuEventQuery(e) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(m.stream);
    ok(cuEventRecord(e, m.stream));
    end(m.stream);
    CHECK(cuEventSynchronize(e) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(cuStreamWaitEvent(other, e, 0) == CUDA_ERROR_CAPTURED_EVENT);
    ok(cuEventRecord(e, other));
    ok(cuEventSynchronize(e));
  }
  SECTION("a graph that is destroyed while it is captured into") {
    const CUgraph graph = GraphMachine::graph();
    ok(cuStreamBeginCaptureToGraph(m.stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    m.launch_mix(out, in, m.stream);
    ok(cuGraphDestroy(graph));
    CHECK(cuMemsetD8Async(out, 0, 4, m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  SECTION("a node that is destroyed while it is captured behind") {
    const CUgraph graph = GraphMachine::graph();
    ok(cuStreamBeginCaptureToGraph(m.stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    m.launch_mix(out, in, m.stream);
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    ok(cuGraphGetNodes(graph, &node, &count));
    ok(cuGraphDestroyNode(node));
    m.launch_mix(out, in, m.stream);
    CHECK(end(m.stream) == graph);
    CHECK(nodes_of(graph) == 1);
  }
  SECTION("a stream that goes takes its capture along") {
    begin(other);
    ok(cuEventRecord(e, other));
    ok(cuStreamWaitEvent(m.stream, e, 0));
    ok(cuStreamDestroy(other));
    CHECK(status(m.stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    m.launch_mix(out, in, m.stream);
    CHECK(GraphMachine::one(out) == 4);
  }
}

TEST_CASE("capture: the stream and its context can't be waited for meanwhile") {
  GraphMachine m;
  const auto fails_with = [&](auto call) {
    begin(m.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    const CUresult code = call();
    CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return code;
  };
  CHECK(fails_with([&] { return cuStreamSynchronize(m.stream); }) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(fails_with([&] { return cuStreamQuery(m.stream); }) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(fails_with([&] { return cuCtxSynchronize(); }) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_CASE("capture: the legacy stream would join a blocking stream's capture") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1);
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  begin(m.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  ok(cuMemsetD32Async(out, 3, 1, nullptr));  // no business of a non-blocking stream
  end(m.stream);
  begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUstreamCaptureStatus state{};
  CHECK(cuStreamIsCapturing(nullptr, &state) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(status(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD32Async(out, 3, 1, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(failed_end(blocking) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("capture: calls that aren't safe meanwhile are refused by the thread's and the capture's modes") {
  GraphMachine m;
  const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED};
  for (const CUstreamCaptureMode capture : modes) {
    for (const CUstreamCaptureMode thread : modes) {
      for (const bool same_thread : {true, false}) {
        INFO("capture mode " << capture << ", thread mode " << thread << ", same thread " << same_thread);
        begin(m.stream, capture);
        CUresult code = CUDA_SUCCESS;
        const auto allocate = [&] {
          CUstreamCaptureMode mode = thread;
          CUdeviceptr p = 0;
          if (cuCtxSetCurrent(m.context) != CUDA_SUCCESS || cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return;
          code = cuMemAlloc(&p, 64);
          (void)cuThreadExchangeStreamCaptureMode(&mode);
        };
        if (same_thread)
          allocate();
        else
          std::thread(allocate).join();
        // Source: cuThreadExchangeStreamCaptureMode's documentation.
        const bool refused = thread != CU_STREAM_CAPTURE_MODE_RELAXED &&
                             ((same_thread && capture != CU_STREAM_CAPTURE_MODE_RELAXED) ||
                              (thread == CU_STREAM_CAPTURE_MODE_GLOBAL && capture == CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK(code == (refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS));
        CUgraph graph = nullptr;
        CHECK(cuStreamEndCapture(m.stream, &graph) == (refused ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS));
      }
    }
  }
}

TEST_CASE("capture: only a relaxed one ends in another thread") {
  GraphMachine m;
  for (const bool relaxed : {true, false}) {
    begin(m.stream, relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CUresult code = CUDA_SUCCESS;
    CUgraph graph = nullptr;
    std::thread([&] {
      (void)cuCtxSetCurrent(m.context);
      code = cuStreamEndCapture(m.stream, &graph);
    }).join();
    CHECK(code == (relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
    if (!relaxed) CHECK(failed_end(m.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}
