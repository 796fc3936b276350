// Graphs built by calls: every kind of node does its work, in the order that the edges give, as often as it is launched.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

namespace {

using namespace tessera::test;
using tessera::simgpu::Random;

CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr to, unsigned value) { return {to, 0, value, 4, GraphMachine::count, 1}; }

CUgraphNode add_fill(CUgraph graph, CUcontext context, CUdeviceptr to, unsigned value, const std::vector<CUgraphNode>& after = {}) {
  const CUDA_MEMSET_NODE_PARAMS params = fill(to, value);
  CUgraphNode node = nullptr;
  ok(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(), &params, context));
  return node;
}

CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = from;
  p.dstDevice = to;
  p.WidthInBytes = GraphMachine::count * 4;
  p.Height = p.Depth = 1;
  return p;
}

CUgraphNode add_copy(CUgraph graph, CUcontext context, CUdeviceptr to, CUdeviceptr from, const std::vector<CUgraphNode>& after = {}) {
  const CUDA_MEMCPY3D params = copy(to, from);
  CUgraphNode node = nullptr;
  ok(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(), &params, context));
  return node;
}

// A graph of random operations on a few buffers, each ordered behind all before it that share a buffer with it: so its bytes are those
// of the same calls in a stream, whatever the order. Gives all buffers' contents.
std::string random_graph(unsigned seed, bool as_graph) {
  GraphMachine m;
  Random random(seed);
  constexpr unsigned buffers = 5, operations = 40;
  std::vector<CUdeviceptr> p;
  for (unsigned i = 0; i < buffers; ++i) p.push_back(GraphMachine::buffer(i + 1));
  struct Made {
    CUgraphNode node;
    unsigned a, b;
  };
  std::vector<Made> made;
  const CUgraph graph = GraphMachine::graph();
  for (unsigned i = 0; i < operations; ++i) {
    const auto a = static_cast<unsigned>(random.below(buffers)), b = (a + 1 + static_cast<unsigned>(random.below(buffers - 1))) % buffers;
    std::vector<CUgraphNode> after;
    for (const Made& other : made) {
      if (other.a == a || other.b == a || other.a == b) after.push_back(other.node);
    }
    const auto kind = random.below(3);
    if (!as_graph) {
      if (kind == 0) m.launch_mix(p[a], p[b], m.stream);
      if (kind == 1) ok(cuMemcpyDtoDAsync(p[a], p[b], GraphMachine::count * 4, m.stream));
      if (kind == 2) ok(cuMemsetD32Async(p[a], i, GraphMachine::count, m.stream));
      continue;
    }
    const CUgraphNode node = kind == 0   ? m.add_mix(graph, p[a], p[b], after)
                             : kind == 1 ? add_copy(graph, m.context, p[a], p[b], after)
                                         : add_fill(graph, m.context, p[a], i, after);
    made.push_back({node, a, kind == 2 ? a : b});
  }
  if (as_graph) m.run(graph);
  ok(cuStreamSynchronize(m.stream));
  std::string text;
  for (const CUdeviceptr b : p) {
    for (const unsigned v : GraphMachine::read(b)) text += std::to_string(v) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("graph: any order that the edges allow gives the bytes of the same calls in a stream") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::string expected = in_child({{"TESSERA_SIM_ORDER", "program"}}, [&] { return random_graph(seed, false); });
    REQUIRE(expected.size() > 1000);
    for (const char* order : {"program", "1", "2", "3"}) {
      INFO("graph " << seed << ", order " << order);
      CHECK(in_child({{"TESSERA_SIM_ORDER", order}}, [&] { return random_graph(seed, true); }) == expected);
    }
  }
}

TEST_CASE("graph: nodes without an edge between them run in either order") {
  std::vector<std::string> seen;
  for (unsigned seed = 0; seed < 12; ++seed) {
    seen.push_back(in_child({{"TESSERA_SIM_ORDER", std::to_string(seed)}}, [] {
      GraphMachine m;
      const CUdeviceptr p = GraphMachine::buffer(0);
      const CUgraph graph = GraphMachine::graph();
      add_fill(graph, m.context, p, 1);
      add_fill(graph, m.context, p, 2);
      m.run(graph);
      return std::to_string(GraphMachine::one(p));
    }));
  }
  CHECK(std::count(seen.begin(), seen.end(), "1") > 0);
  CHECK(std::count(seen.begin(), seen.end(), "2") > 0);
}

TEST_CASE("graph: launches follow each other and the stream") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  const CUgraph graph = GraphMachine::graph();
  m.add_mix(graph, out, in);
  m.launch_mix(out, in, m.stream);  // 4
  m.run(graph, 3);                  // 13, 40, 121
  m.launch_mix(out, in, m.stream);
  CHECK(GraphMachine::one(out) == 364);
  ok(cuGraphDestroy(graph));
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graph: host functions, events, children, batches of values and empty nodes are nodes") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1), word = GraphMachine::buffer(0);
  const CUgraph graph = GraphMachine::graph(), child = GraphMachine::graph();
  m.add_mix(child, out, in);
  int calls = 0;
  CUDA_HOST_NODE_PARAMS host{[](void* p) { ++*static_cast<int*>(p); }, &calls};
  CUevent event = nullptr;
  ok(cuEventCreate(&event, 0));
  CUgraphNode first = nullptr, second = nullptr, third = nullptr, fourth = nullptr, fifth = nullptr, sixth = nullptr;
  ok(cuGraphAddHostNode(&first, graph, nullptr, 0, &host));
  ok(cuGraphAddEventRecordNode(&second, graph, &first, 1, event));
  ok(cuGraphAddChildGraphNode(&third, graph, &second, 1, child));
  ok(cuGraphAddEmptyNode(&fourth, graph, &third, 1));
  ok(cuGraphAddEventWaitNode(&fifth, graph, &fourth, 1, event));
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {77}, 0, 0};
  operations[1].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, word, {70}, CU_STREAM_WAIT_VALUE_GEQ, 0};
  const CUDA_BATCH_MEM_OP_NODE_PARAMS batch{m.context, 2, operations, 0};
  ok(cuGraphAddBatchMemOpNode(&sixth, graph, &fifth, 1, &batch));
  const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_HOST,  CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_GRAPH,
                                   CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_WAIT_EVENT,   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
  const CUgraphNode nodes[] = {first, second, third, fourth, fifth, sixth};
  for (std::size_t i = 0; i < std::size(nodes); ++i) {
    CUgraphNodeType type{};
    ok(cuGraphNodeGetType(nodes[i], &type));
    CHECK(type == types[i]);
  }
  m.run(graph, 2);
  CHECK(calls == 2);
  CHECK(GraphMachine::one(out) == 13);
  CHECK(GraphMachine::read(word, 1)[0] == 77);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CUgraph inner = nullptr;
  ok(cuGraphChildGraphNodeGetGraph(third, &inner));
  CHECK(inner != child);
  CHECK(cuGraphDestroy(inner) == CUDA_ERROR_INVALID_VALUE);  // the node's own
}

TEST_CASE("graph: memory nodes give memory for a launch, that holds nothing yet") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(0);
  const CUgraph graph = GraphMachine::graph();
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  params.bytesize = GraphMachine::count * 4;
  CUgraphNode alloc = nullptr, release = nullptr;
  ok(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
  REQUIRE(params.dptr != 0);
  const CUgraphNode before = add_copy(graph, m.context, out, params.dptr, {alloc});
  const CUgraphNode filled = add_fill(graph, m.context, params.dptr, 5, {before});
  const CUgraphNode used = m.add_mix(graph, out, params.dptr, {filled});
  ok(cuGraphAddMemFreeNode(&release, graph, &used, 1, params.dptr));
  m.run(graph, 2);
  const unsigned fresh = (GraphMachine::one(out) - 5) * 0xaaaaaaabu;  // times the inverse of 3
  CHECK(fresh != 0);                                                  // poisoned, as all fresh memory is
  CHECK(fresh == (fresh & 0xffu) * 0x01010101u);
  CUgraph clone = nullptr;
  CHECK(cuGraphClone(&clone, graph) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuGraphDestroyNode(alloc) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr freed = 0;
  ok(cuGraphMemFreeNodeGetParams(release, &freed));
  CHECK(freed == params.dptr);
}

TEST_CASE("graph: memory that a graph leaves behind is the program's to free before the next launch") {
  GraphMachine m;
  const CUgraph graph = GraphMachine::graph();
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  params.bytesize = 4096;
  CUgraphNode alloc = nullptr;
  ok(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
  CUgraphExec exec = GraphMachine::instantiate(graph);
  ok(cuGraphLaunch(exec, m.stream));
  CHECK(cuGraphLaunch(exec, m.stream) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemFreeAsync(params.dptr, m.stream));
  ok(cuGraphLaunch(exec, m.stream));
  ok(cuMemFree(params.dptr));
  CHECK(cuMemFree(params.dptr) == CUDA_ERROR_INVALID_VALUE);
  ok(cuGraphExecDestroy(exec));
  ok(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  ok(cuGraphLaunch(exec, m.stream));
  ok(cuGraphLaunch(exec, m.stream));
  ok(cuStreamSynchronize(m.stream));
}

TEST_CASE("graph: conditional nodes choose, repeat and switch") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1), value = GraphMachine::buffer(0);
  struct Row {
    CUgraphConditionalNodeType type;
    unsigned bodies, start, mixes;  // of the value; times that `out` is mixed
  };
  // mixes of `out`: in body i, i + 1 of them. A while loop's body counts the value down.
  const Row rows[] = {{CU_GRAPH_COND_TYPE_IF, 1, 0, 0},     {CU_GRAPH_COND_TYPE_IF, 1, 1, 1},     {CU_GRAPH_COND_TYPE_IF, 2, 1, 1},
                      {CU_GRAPH_COND_TYPE_IF, 2, 0, 2},     {CU_GRAPH_COND_TYPE_WHILE, 1, 0, 0},  {CU_GRAPH_COND_TYPE_WHILE, 1, 4, 4},
                      {CU_GRAPH_COND_TYPE_SWITCH, 3, 0, 1}, {CU_GRAPH_COND_TYPE_SWITCH, 3, 2, 3}, {CU_GRAPH_COND_TYPE_SWITCH, 3, 3, 0}};
  for (const Row& row : rows) {
    INFO("type " << row.type << ", " << row.bodies << " bodies, value " << row.start);
    ok(cuMemsetD32(out, 1, GraphMachine::count));
    ok(cuMemsetD32(value, row.start, 1));
    const CUgraph graph = GraphMachine::graph();
    CUgraphConditionalHandle handle = 0;
    ok(cuGraphConditionalHandleCreate(&handle, graph, m.context, 0, 0));
    const CUgraphNode set = m.add_set_condition(graph, handle, value);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = handle;
    params.conditional.type = row.type;
    params.conditional.size = row.bodies;
    params.conditional.ctx = m.context;
    CUgraphNode node = nullptr;
    ok(cuGraphAddNode(&node, graph, &set, nullptr, 1, &params));
    for (unsigned i = 0; i < row.bodies; ++i) {
      const CUgraph body = params.conditional.phGraph_out[i];
      CUgraphNode last = nullptr;
      for (unsigned k = 0; k <= i; ++k) last = m.add_mix(body, out, in, last == nullptr ? std::vector<CUgraphNode>{} : std::vector{last});
      if (row.type == CU_GRAPH_COND_TYPE_WHILE) m.add_set_condition(body, handle, value, {last});
    }
    m.run(graph);
    unsigned expected = 1;
    for (unsigned i = 0; i < row.mixes; ++i) expected = 3 * expected + 1;
    CHECK(GraphMachine::one(out) == expected);
    ok(cuGraphDestroy(graph));
  }
}

TEST_CASE("graph: a condition's default value counts at each launch") {
  GraphMachine m;
  const CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  const CUgraph graph = GraphMachine::graph();
  CUgraphConditionalHandle handle = 0;
  ok(cuGraphConditionalHandleCreate(&handle, graph, m.context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  CUgraphNode node = nullptr;
  ok(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  m.add_mix(params.conditional.phGraph_out[0], out, in);
  m.run(graph, 2);
  CHECK(GraphMachine::one(out) == 13);
  params.conditional.handle = handle + 1000;
  CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graph: a 3-D copy node moves its box only") {
  GraphMachine m;
  CUdeviceptr from = 0, to = 0;
  constexpr unsigned width = 16, rows = 6, slices = 4;
  ok(cuMemAlloc(&from, width * rows * slices));
  ok(cuMemAlloc(&to, width * rows * slices));
  std::vector<unsigned char> bytes(width * rows * slices), got(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 251);
  ok(cuMemcpyHtoD(from, bytes.data(), bytes.size()));
  ok(cuMemsetD8(to, 255, bytes.size()));
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = from;
  p.dstDevice = to;
  p.srcPitch = p.dstPitch = width;
  p.srcHeight = p.dstHeight = rows;
  p.srcXInBytes = 3, p.srcY = 1, p.srcZ = 1;
  p.dstXInBytes = 5, p.dstY = 2, p.dstZ = 2;
  p.WidthInBytes = 7, p.Height = 3, p.Depth = 2;
  const CUgraph graph = GraphMachine::graph();
  CUgraphNode node = nullptr;
  ok(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &p, m.context));
  CUDA_MEMCPY3D asked{};
  ok(cuGraphMemcpyNodeGetParams(node, &asked));
  CHECK(std::memcmp(&asked, &p, sizeof p) == 0);
  m.run(graph);
  ok(cuMemcpyDtoH(got.data(), to, got.size()));
  for (unsigned z = 0; z < slices; ++z) {
    for (unsigned y = 0; y < rows; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        const bool inside = x >= 5 && x < 12 && y >= 2 && y < 5 && z >= 2;
        const unsigned source = ((z - 1) * rows + (y - 1)) * width + (x - 2);
        CHECK(static_cast<unsigned>(got[(z * rows + y) * width + x]) == (inside ? bytes[source] : 255u));
      }
    }
  }
}

TEST_CASE("graph: what is asked of nodes and edges is what was said") {
  GraphMachine m;
  CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  const CUgraph graph = GraphMachine::graph();
  const CUgraphNode a = add_fill(graph, m.context, out, 2), b = m.add_mix(graph, out, in, {a}), c = add_copy(graph, m.context, in, out);
  const auto count_of = [&](auto call, auto handle) {
    std::size_t n = 0;
    ok(call(handle, nullptr, &n));
    return n;
  };
  CHECK(count_of(cuGraphGetNodes, graph) == 3);
  CHECK(count_of(cuGraphGetRootNodes, graph) == 2);
  ok(cuGraphAddDependencies(graph, &b, &c, nullptr, 1));
  CHECK(cuGraphAddDependencies(graph, &b, &c, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(count_of(cuGraphGetRootNodes, graph) == 1);
  CUgraphNode from[4]{}, to[4]{};
  CUgraphEdgeData data[4]{};
  std::size_t n = 4;
  ok(cuGraphGetEdges(graph, from, to, data, &n));
  REQUIRE(n == 2);
  CHECK((from[0] == a && to[0] == b && from[1] == b && to[1] == c && from[2] == nullptr));
  n = 4;
  ok(cuGraphNodeGetDependencies(c, from, data, &n));
  CHECK((n == 1 && from[0] == b));
  n = 4;
  ok(cuGraphNodeGetDependentNodes(a, to, data, &n));
  CHECK((n == 1 && to[0] == b));
  m.run(graph);
  CHECK(GraphMachine::one(in) == 7);

  CUDA_KERNEL_NODE_PARAMS kernel{};
  ok(cuGraphKernelNodeGetParams(b, &kernel));
  CHECK((kernel.func == m.mix && kernel.gridDimX == GraphMachine::ctas && kernel.blockDimX == GraphMachine::threads));
  CHECK(*static_cast<CUdeviceptr*>(kernel.kernelParams[1]) == in);
  CUDA_MEMSET_NODE_PARAMS set{};
  ok(cuGraphMemsetNodeGetParams(a, &set));
  CHECK((set.dst == out && set.value == 2 && set.width == GraphMachine::count));
  CHECK(cuGraphMemsetNodeGetParams(b, &set) == CUDA_ERROR_INVALID_VALUE);

  ok(cuGraphRemoveDependencies(graph, &b, &c, nullptr, 1));
  ok(cuGraphDestroyNode(b));
  CHECK(cuGraphDestroyNode(b) == CUDA_ERROR_INVALID_VALUE);
  CHECK(count_of(cuGraphGetNodes, graph) == 2);
  CHECK(count_of(cuGraphGetRootNodes, graph) == 2);

  CUgraphNode cyclic = m.add_mix(graph, out, in, {a});
  ok(cuGraphAddDependencies(graph, &cyclic, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiate(&exec, graph, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graph: nodes of an executable graph change, are switched off, and are replaced as a whole") {
  GraphMachine m;
  CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1), other = GraphMachine::buffer(10);
  const CUgraph graph = GraphMachine::graph();
  const CUgraphNode a = add_fill(graph, m.context, out, 2), b = m.add_mix(graph, out, in, {a});
  const CUgraphExec exec = GraphMachine::instantiate(graph);
  const auto result = [&] {
    ok(cuGraphLaunch(exec, m.stream));
    return GraphMachine::one(out);
  };
  CHECK(result() == 7);
  void* params[] = {&out, &other};
  const CUDA_KERNEL_NODE_PARAMS changed = m.mix_params(params);
  ok(cuGraphExecKernelNodeSetParams(exec, b, &changed));
  CHECK(result() == 16);
  const CUDA_MEMSET_NODE_PARAMS three = fill(out, 3);
  ok(cuGraphExecMemsetNodeSetParams(exec, a, &three, m.context));
  CHECK(result() == 19);
  ok(cuGraphNodeSetEnabled(exec, b, 0));
  unsigned enabled = 1;
  ok(cuGraphNodeGetEnabled(exec, b, &enabled));
  CHECK(enabled == 0);
  CHECK(result() == 3);
  ok(cuGraphNodeSetEnabled(exec, b, 1));
  CHECK(result() == 19);

  // The graph itself still has what it had.
  CUgraphExecUpdateResultInfo info{};
  ok(cuGraphExecUpdate(exec, graph, &info));
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  CHECK(result() == 7);

  const CUgraph wider = GraphMachine::graph(), swapped = GraphMachine::graph();
  add_fill(wider, m.context, out, 2, {m.add_mix(wider, out, in)});
  add_fill(wider, m.context, in, 2);
  CHECK(cuGraphExecUpdate(exec, wider, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  add_fill(swapped, m.context, out, 2, {m.add_mix(swapped, out, in)});
  CHECK(cuGraphExecUpdate(exec, swapped, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  CHECK(result() == 7);

  CUgraph clone = nullptr;
  ok(cuGraphClone(&clone, graph));
  CUgraphNode cloned = nullptr;
  ok(cuGraphNodeFindInClone(&cloned, b, clone));
  CHECK(cloned != b);
  ok(cuGraphKernelNodeSetParams(cloned, &changed));
  m.run(clone);
  CHECK(GraphMachine::one(out) == 16);
  CHECK(result() == 7);
}

TEST_CASE("graph: what a node's caller overwrites or destroys later doesn't count") {
  GraphMachine m;
  CUdeviceptr out = GraphMachine::buffer(1), in = GraphMachine::buffer(1);
  const CUgraph graph = GraphMachine::graph();
  m.add_mix(graph, out, in);  // whose arguments were on the stack
  const CUgraphExec exec = GraphMachine::instantiate(graph);
  ok(cuGraphDestroy(graph));
  ok(cuGraphLaunch(exec, m.stream));
  CHECK(GraphMachine::one(out) == 4);
  ok(cuModuleUnload(m.module));
  CHECK(cuGraphLaunch(exec, m.stream) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("graph: a node whose kernel or context has gone says so, whatever is done with it") {
  for (const bool whole_context : {false, true}) {
    GraphMachine m;
    CUcontext other = nullptr;
    ok(cuCtxCreate(&other, nullptr, 0, 0));
    CUmodule module = nullptr;
    CUfunction mix = nullptr;
    ok(cuModuleLoadData(&module, graph_ptx));
    ok(cuModuleGetFunction(&mix, module, "mix"));
    CUdeviceptr p = 0;
    void* params[] = {&p, &p};
    CUDA_KERNEL_NODE_PARAMS kernel = m.mix_params(params);
    kernel.func = mix;
    const CUgraph graph = GraphMachine::graph();
    CUgraphNode node = nullptr;
    ok(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    const CUgraphExec exec = GraphMachine::instantiate(graph);
    if (whole_context)
      ok(cuCtxDestroy(other));
    else
      ok(cuModuleUnload(module));
    ok(cuCtxSetCurrent(m.context));
    const CUresult gone = whole_context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_HANDLE;
    CHECK(cuGraphKernelNodeGetParams(node, &kernel) == gone);
    CHECK(cuGraphKernelNodeCopyAttributes(node, node) == gone);
    CHECK(cuGraphLaunch(exec, m.stream) == gone);
    CUgraphExecUpdateResultInfo info{};
    CHECK(cuGraphExecUpdate(exec, graph, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    if (!whole_context) ok(cuCtxDestroy(other));
    ok(cuCtxSetCurrent(m.context));
  }
}

TEST_CASE("graph: user objects are destroyed with their last reference") {
  const GraphMachine m;
  static int destroyed;
  destroyed = 0;
  CUuserObject object = nullptr;
  ok(cuUserObjectCreate(
      &object, &destroyed, [](void* p) { ++*static_cast<int*>(p); }, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  const CUgraph graph = GraphMachine::graph();
  ok(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  ok(cuUserObjectRelease(object, 1));
  const CUgraphExec exec = GraphMachine::instantiate(graph);
  ok(cuGraphDestroy(graph));
  CHECK(destroyed == 0);
  ok(cuGraphExecDestroy(exec));
  CHECK(destroyed == 1);
  CHECK(cuUserObjectRelease(object, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graph: wrong handles and null pointers answer a code") {
  GraphMachine m;
  const CUgraph graph = GraphMachine::graph();
  const auto wrong_graph = reinterpret_cast<CUgraph>(&m);
  const auto wrong_node = reinterpret_cast<CUgraphNode>(&m);
  CUgraphNode node = nullptr;
  std::size_t n = 0;
  CHECK(cuGraphCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphCreate(reinterpret_cast<CUgraph*>(&node), 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&node, wrong_graph, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&node, graph, &wrong_node, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEmptyNode(&node, graph, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddKernelNode(&node, graph, nullptr, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, reinterpret_cast<CUevent>(&m)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, 12345) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphGetNodes(wrong_graph, nullptr, &n) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(reinterpret_cast<CUgraphExec>(&m), m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphDestroyNode(wrong_node) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphInstantiate(nullptr, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  const CUgraphNode twice[] = {node, node};
  CHECK(cuGraphAddEmptyNode(&node, graph, twice, 2) == CUDA_ERROR_INVALID_VALUE);
}
