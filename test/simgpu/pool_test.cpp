// Memory pools: what they count, keep, share and refuse; allocations in streams come from the pool that is current.
#include <string>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

namespace {

using namespace tessera::test;
using tessera::simgpu::Random;

CUmemoryPool make(int device, std::size_t most = 0) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  props.maxSize = most;
  CUmemoryPool pool = nullptr;
  ok(cuMemPoolCreate(&pool, &props));
  return pool;
}
cuuint64_t number(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t value = ~0ull;
  ok(cuMemPoolGetAttribute(pool, attribute, &value));
  return value;
}
void set(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value) { ok(cuMemPoolSetAttribute(pool, attribute, &value)); }
cuuint64_t used(CUmemoryPool pool) { return number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
cuuint64_t reserved(CUmemoryPool pool) { return number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }

// The codes of a launch on device 0 that reads memory of a pool of device 1: without access, with it, and after it was taken back.
std::string shared_pool() {
  GraphMachine m;
  const CUdeviceptr ours = GraphMachine::buffer(1);
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr before = 0, after = 0;
  ok(cuCtxCreate(&other, nullptr, 0, 1));
  ok(cuStreamCreate(&stream, 0));
  const CUmemoryPool pool = make(1);
  ok(cuMemAllocFromPoolAsync(&before, GraphMachine::count * 4, pool, stream));
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  std::string text = std::to_string(cuMemPoolSetAccess(pool, &access, 1)) + " ";
  ok(cuMemAllocFromPoolAsync(&after, GraphMachine::count * 4, pool, stream));
  ok(cuMemsetD32Async(before, 2, GraphMachine::count, stream));
  ok(cuMemsetD32Async(after, 4, GraphMachine::count, stream));
  ok(cuCtxSynchronize());
  CUmemAccess_flags flags{};
  ok(cuMemPoolGetAccess(&flags, pool, &access.location));
  text += std::to_string(flags) + " ";
  ok(cuCtxSetCurrent(m.context));
  m.launch_mix(ours, before, m.stream);
  const CUresult code = cuStreamSynchronize(m.stream);
  text += std::to_string(code) + " ";
  if (code != CUDA_SUCCESS) return text;
  m.launch_mix(ours, after, m.stream);
  text += std::to_string(GraphMachine::one(ours)) + " ";
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  ok(cuMemPoolSetAccess(pool, &access, 1));
  m.launch_mix(ours, after, m.stream);
  return text + std::to_string(cuStreamSynchronize(m.stream));
}

}  // namespace

TEST_CASE("pools: other devices touch a pool's memory as its access says, old allocations and new ones") {
  CHECK(in_child({{"TESSERA_SIM_PEERS", "none"}}, shared_pool) == "217 0 700 ");
  CHECK(in_child({{"TESSERA_SIM_PEERS", "all"}}, shared_pool) == "0 3 0 19 700");  // 3 × (3 × 1 + 2) + 4
}

TEST_CASE("pools: allocations in streams count in the pool that is current") {
  const GraphMachine m;
  CUmemoryPool first = nullptr, current = nullptr;
  ok(cuDeviceGetDefaultMemPool(&first, 0));
  ok(cuDeviceGetMemPool(&current, 0));
  CHECK(current == first);
  const CUmemoryPool mine = make(0);
  ok(cuDeviceSetMemPool(0, mine));
  ok(cuDeviceGetMemPool(&current, 0));
  CHECK(current == mine);
  CUdeviceptr p = 0, q = 0;
  ok(cuMemAllocAsync(&p, 1000, m.stream));
  ok(cuMemAllocFromPoolAsync(&q, 500, first, m.stream));
  CHECK(used(mine) == 1000);
  CHECK(used(first) == 500);
  CUmemoryPool of = nullptr;
  ok(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p + 10));
  CHECK(of == mine);
  ok(cuMemPoolDestroy(mine));  // what it gave stays
  CHECK(cuMemPoolDestroy(mine) == CUDA_ERROR_INVALID_VALUE);
  ok(cuDeviceGetMemPool(&current, 0));
  CHECK(current == first);
  ok(cuMemsetD8Async(p, 1, 1000, m.stream));
  ok(cuMemFreeAsync(p, m.stream));
  ok(cuMemFree(q));
  CHECK(used(first) == 0);
  CHECK(cuMemPoolDestroy(first) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("pools: what is kept follows the threshold, trimming and synchronisation, and counts as taken") {
  const GraphMachine m;
  const CUmemoryPool pool = make(0);
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    ok(cuMemGetInfo(&free, &total));
    return free;
  };
  Random random(7);
  std::vector<std::pair<CUdeviceptr, std::size_t>> live;
  cuuint64_t in_use = 0, high = 0, threshold = 0;
  for (int step = 0; step < 400; ++step) {
    const auto what = random.below(5);
    const cuuint64_t kept_before = reserved(pool);
    if (what <= 1) {
      const std::size_t size = 512 * (1 + random.below(64));
      live.emplace_back(0, size);
      ok(cuMemAllocFromPoolAsync(&live.back().first, size, pool, m.stream));
      in_use += size;
      high = std::max(high, in_use);
      CHECK(reserved(pool) == std::max(kept_before, in_use));
    } else if (what == 2 && !live.empty()) {
      const std::size_t i = random.below(live.size());
      ok(cuMemFreeAsync(live[i].first, m.stream));
      in_use -= live[i].second;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (what == 3) {
      ok(cuStreamSynchronize(m.stream));
      CHECK(reserved(pool) == std::max(in_use, std::min(kept_before, threshold)));
      CHECK(used(pool) == in_use);
    } else if (what == 4) {
      threshold = 512 * random.below(1000);
      set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, threshold);
    }
  }
  CHECK(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == high);
  set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull);
  CUdeviceptr big = 0;
  ok(cuMemAllocFromPoolAsync(&big, 1 << 20, pool, m.stream));
  ok(cuMemFreeAsync(big, m.stream));
  ok(cuStreamSynchronize(m.stream));
  const cuuint64_t kept = reserved(pool) - used(pool);
  CHECK(kept >= 1 << 20);
  const std::size_t before = free_bytes();
  ok(cuMemPoolTrimTo(pool, 0));
  CHECK(reserved(pool) == in_use);
  CHECK(free_bytes() == before + kept);
  set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  CHECK(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == in_use);
}

TEST_CASE("pools: a largest size, wrong handles, places and attributes answer a code") {
  const GraphMachine m;
  const CUmemoryPool pool = make(0, 4096);
  CUdeviceptr p = 0, q = 0;
  ok(cuMemAllocFromPoolAsync(&p, 3000, pool, m.stream));
  CHECK(cuMemAllocFromPoolAsync(&q, 3000, pool, m.stream) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocFromPoolAsync(&q, 0, pool, m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocFromPoolAsync(&q, 8, nullptr, m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocFromPoolAsync(&q, 8, reinterpret_cast<CUmemoryPool>(&p), m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocFromPoolAsync(nullptr, 8, pool, m.stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceSetMemPool(1, pool) == CUDA_ERROR_INVALID_VALUE);
  cuuint64_t value = 5;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(99), &value) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps props{};
  CUmemoryPool made = nullptr;
  CHECK(cuMemPoolCreate(&made, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemPoolCreate(&made, &props) == CUDA_ERROR_INVALID_VALUE);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {17}};
  CHECK(cuMemPoolCreate(&made, &props) == CUDA_ERROR_INVALID_DEVICE);
  props.location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
  CHECK(cuMemPoolCreate(&made, &props) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("pools: the memory of graphs has an account of its own") {
  const GraphMachine m;
  const auto account = [](CUgraphMem_attribute attribute) {
    cuuint64_t value = ~0ull;
    ok(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
  };
  CHECK(account(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
  CUdeviceptr p = 0;
  CUgraph graph = nullptr;
  ok(cuStreamBeginCapture(m.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ok(cuMemAllocAsync(&p, 6000, m.stream));
  ok(cuMemFreeAsync(p, m.stream));
  ok(cuStreamEndCapture(m.stream, &graph));
  CHECK(account(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 6000);
  CHECK(account(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
  m.run(graph);
  CHECK(account(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 6000);
  CHECK(account(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
  ok(cuGraphDestroy(graph));
  CHECK(account(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
  cuuint64_t zero = 0, one = 1;
  CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one) == CUDA_ERROR_INVALID_VALUE);
  ok(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
  CHECK(account(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
  CHECK(cuDeviceGraphMemTrim(8) == CUDA_ERROR_INVALID_DEVICE);
}
