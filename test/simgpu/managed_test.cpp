// Managed memory's advice against a model page by page; batches of copies; attributes of streams.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

namespace {

using namespace tessera::test;
using tessera::simgpu::Random;

constexpr std::size_t page = 4096, pages = 16;

struct Model {
  bool read_mostly = false;
  int preferred = CU_DEVICE_INVALID, prefetched = CU_DEVICE_INVALID;
  std::set<int> by;
};

int attribute(CUdeviceptr p, std::size_t bytes, CUmem_range_attribute which) {
  int value = -99;
  ok(cuMemRangeGetAttribute(&value, sizeof value, which, p, bytes));
  return value;
}

CUmemLocation at(int device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, {0}} : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}

template <typename F>
int common(const std::array<Model, pages>& model, std::size_t first, std::size_t count, F value) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (value(model[i]) != value(model[first])) return CU_DEVICE_INVALID;
  }
  return value(model[first]);
}

// Two copies of one batch to the same place: which one came last.
std::string last_of_a_batch() {
  GraphMachine m;
  CUdeviceptr to = GraphMachine::buffer(0), one = GraphMachine::buffer(1), two = GraphMachine::buffer(2);
  ok(cuCtxSynchronize());
  CUdeviceptr targets[] = {to, to}, sources[] = {one, two};
  std::size_t sizes[] = {GraphMachine::count * 4, GraphMachine::count * 4}, indices[] = {0};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ok(cuMemcpyBatchAsync(targets, sources, sizes, 2, &attributes, indices, 1, m.stream));
  return std::to_string(GraphMachine::one(to));
}

}  // namespace

TEST_CASE("batches: copies of one batch are in no order among themselves") {
  std::string seen;
  for (int seed = 0; seed < 12; ++seed) seen += in_child({{"TESSERA_SIM_ORDER", std::to_string(seed)}}, last_of_a_batch);
  CHECK(seen.find('1') != std::string::npos);
  CHECK(seen.find('2') != std::string::npos);
}

TEST_CASE("batches: all copies are behind the stream, and what follows is behind all of them") {
  for (int seed = 0; seed < 6; ++seed) {
    const std::string got = in_child({{"TESSERA_SIM_ORDER", std::to_string(seed)}}, [] {
      GraphMachine m;
      CUdeviceptr a = GraphMachine::buffer(1), b = GraphMachine::buffer(2), c = GraphMachine::buffer(0), d = GraphMachine::buffer(0);
      ok(cuCtxSynchronize());
      m.launch_mix(a, b, m.stream);  // 5
      std::vector<unsigned> host(GraphMachine::count, 9);
      CUdeviceptr targets[] = {c, d}, sources[] = {a, reinterpret_cast<CUdeviceptr>(host.data())};
      std::size_t sizes[] = {GraphMachine::count * 4, GraphMachine::count * 4}, indices[] = {0, 1};
      CUmemcpyAttributes attributes[2]{};
      attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
      ok(cuMemcpyBatchAsync(targets, sources, sizes, 2, attributes, indices, 2, m.stream));
      std::fill(host.begin(), host.end(), 1000u);  // read already
      m.launch_mix(c, d, m.stream);
      return std::to_string(GraphMachine::one(c)) + " " + std::to_string(GraphMachine::one(d));
    });
    CHECK(got == "24 9");
  }
}

TEST_CASE("batches: boxes, and what can't be copied") {
  GraphMachine m;
  CUdeviceptr from = GraphMachine::buffer(7), to = GraphMachine::buffer(0);
  CUDA_MEMCPY3D_BATCH_OP box{};
  box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  box.src.op.ptr.ptr = from;
  box.dst.op.ptr.ptr = to;
  box.src.op.ptr.rowLength = box.dst.op.ptr.rowLength = 16;
  box.src.op.ptr.layerHeight = box.dst.op.ptr.layerHeight = 4;
  box.extent = {8, 2, 2};
  box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  ok(cuMemcpy3DBatchAsync(1, &box, 0, m.stream));
  const std::vector<unsigned> got = GraphMachine::read(to);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t x = i % 4, y = i / 4 % 4, z = i / 16;
    CHECK(got[i] == (x < 2 && y < 2 && z < 2 ? 7u : 0u));
  }
  CHECK(cuMemcpy3DBatchAsync(1, &box, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);  // the legacy stream
  box.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  CHECK(cuMemcpy3DBatchAsync(1, &box, 0, m.stream) == CUDA_ERROR_NOT_SUPPORTED);
  std::size_t size = 1 << 20, index = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK(cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &index, 1, m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyBatchAsync(&to, &from, &size, 0, &attributes, &index, 1, m.stream) == CUDA_ERROR_INVALID_VALUE);
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  size = 4;
  CHECK(cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &index, 1, m.stream) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("managed memory: advice and prefetches are told as they were given, page by page") {
  GraphMachine m;
  Random random(5);
  CUdeviceptr p = 0;
  ok(cuMemAllocManaged(&p, pages * page, CU_MEM_ATTACH_GLOBAL));
  std::array<Model, pages> model{};
  for (int step = 0; step < 300; ++step) {
    const std::size_t first = random.below(pages), count = 1 + random.below(pages - first);
    const CUdeviceptr lo = p + first * page;
    const std::size_t bytes = count * page;
    const int device = static_cast<int>(random.below(4)) - 1;  // −1 = the CPU
    const auto what = static_cast<CUmem_advise>(1 + random.below(7));
    if (what > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
      ok(cuMemPrefetchAsync(lo, bytes, at(device), 0, m.stream));
    else
      ok(cuMemAdvise(lo, bytes, what, at(device)));
    for (std::size_t i = first; i < first + count; ++i) {
      Model& a = model[i];
      if (what <= CU_MEM_ADVISE_UNSET_READ_MOSTLY) a.read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
      if (what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) a.preferred = device;
      if (what == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION) a.preferred = CU_DEVICE_INVALID;
      if (what == CU_MEM_ADVISE_SET_ACCESSED_BY) a.by.insert(device);
      if (what == CU_MEM_ADVISE_UNSET_ACCESSED_BY) a.by.erase(device);
      if (what > CU_MEM_ADVISE_UNSET_ACCESSED_BY) a.prefetched = device;
    }
    const std::size_t asked = random.below(pages), n = 1 + random.below(pages - asked);
    const CUdeviceptr q = p + asked * page;
    bool all = true;
    std::set<int> by = model[asked].by;
    for (std::size_t i = asked; i < asked + n; ++i) {
      all = all && model[i].read_mostly;
      for (auto it = by.begin(); it != by.end();) it = model[i].by.count(*it) == 0 ? by.erase(it) : std::next(it);
    }
    CHECK(attribute(q, n * page, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == (all ? 1 : 0));
    CHECK(attribute(q, n * page, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) ==
          common(model, asked, n, [](const Model& a) { return a.preferred; }));
    CHECK(attribute(q, n * page, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) ==
          common(model, asked, n, [](const Model& a) { return a.prefetched; }));
    int devices[5];
    ok(cuMemRangeGetAttribute(devices, sizeof devices, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, q, n * page));
    CHECK(std::set<int>(devices, devices + by.size()) == by);
    CHECK(std::count(devices, devices + 5, int{CU_DEVICE_INVALID}) == static_cast<std::ptrdiff_t>(5 - by.size()));
  }
  ok(cuMemFree(p));
  ok(cuMemAllocManaged(&p, pages * page, CU_MEM_ATTACH_GLOBAL));
  CHECK(attribute(p, pages * page, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);  // new memory, at whatever address
  CHECK(attribute(p, pages * page, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_INVALID);
  ok(cuStreamAttachMemAsync(m.stream, p, 0, CU_MEM_ATTACH_SINGLE));
  CHECK(cuStreamAttachMemAsync(nullptr, p, 0, CU_MEM_ATTACH_SINGLE) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamAttachMemAsync(m.stream, p + 8, 0, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("managed memory: other memory, devices and attributes answer a code") {
  GraphMachine m;
  CUdeviceptr p = 0;
  const CUdeviceptr other = GraphMachine::buffer(0);
  int value = 0;
  ok(cuMemAllocManaged(&p, page, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemAdvise(other, 4, CU_MEM_ADVISE_SET_READ_MOSTLY, at(0)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAdvise(p, 2 * page, CU_MEM_ADVISE_SET_READ_MOSTLY, at(0)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAdvise(p, page, static_cast<CUmem_advise>(9), at(0)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAdvise(p, page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, at(5)) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemPrefetchAsync(p, page, at(5), 0, m.stream) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemPrefetchAsync(p, page, at(0), 3, m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRangeGetAttribute(&value, 4, static_cast<CUmem_range_attribute>(77), p, page) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRangeGetAttribute(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, page) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemRangeGetAttribute(nullptr, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, page) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("streams: attributes are what was set, and can be copied") {
  GraphMachine m;
  CUstream other = nullptr;
  ok(cuStreamCreate(&other, 0));
  CUstreamAttrValue value{}, got{};
  value.priority = -3;
  ok(cuStreamSetAttribute(m.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5F;
  ok(cuStreamSetAttribute(m.stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
  ok(cuStreamCopyAttributes(other, m.stream));
  ok(cuStreamGetAttribute(other, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
  CHECK(got.accessPolicyWindow.num_bytes == 4096);
  CHECK(got.accessPolicyWindow.hitRatio == 0.5F);
  int priority = 0;
  ok(cuStreamGetPriority(other, &priority));
  CHECK(priority == -3);
  ok(cuStreamGetAttribute(m.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
  CHECK(got.syncPolicy == CU_SYNC_POLICY_AUTO);
  CHECK(cuStreamSetAttribute(m.stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamGetAttribute(m.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
