// The simulated runtime in use where it is more than the driver under another name: boxes, nodes, libraries, pools, per-thread streams.
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "tools/simgpu/machine/random.h"

extern "C" {
cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* p, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
}

namespace {

using tessera::simgpu::Random;

void ok(cudaError_t code) {
  INFO(cudaGetErrorName(code));
  REQUIRE(code == cudaSuccess);
}

constexpr std::size_t width = 24, rows = 7, slices = 5;  // of every box that is copied from or to

struct Box {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(width * rows * slices);
  [[nodiscard]] unsigned char& at(std::size_t x, std::size_t y, std::size_t z) { return bytes[(z * rows + y) * width + x]; }
};

// A box in host memory, or in a pitched allocation.
struct Place {
  bool on_device;
  cudaPitchedPtr pointer{};
  Box host{};
  explicit Place(bool device) : on_device(device) {
    if (device)
      ok(cudaMalloc3D(&pointer, {width, rows, slices}));
    else
      pointer = {host.bytes.data(), width, width, rows};
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (on_device) cudaFree(pointer.ptr);
  }
  void write(const Box& box) {
    if (!on_device) host.bytes = box.bytes, pointer.ptr = host.bytes.data();
    if (on_device) ok(cudaMemcpy2D(pointer.ptr, pointer.pitch, box.bytes.data(), width, width, rows * slices, cudaMemcpyHostToDevice));
  }
  [[nodiscard]] Box read() const {
    Box box = host;
    if (on_device) ok(cudaMemcpy2D(box.bytes.data(), width, pointer.ptr, pointer.pitch, width, rows * slices, cudaMemcpyDeviceToHost));
    return box;
  }
};

Box random_box(Random& random) {
  Box box;
  for (unsigned char& b : box.bytes) b = static_cast<unsigned char>(random.below(256));
  return box;
}

const char* const add_one = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 step = 1;
.visible .entry add_one(.param .u64 p)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  mov.u64 %rd2, step;
  ld.global.u32 %r1, [%rd1];
  ld.global.u32 %r2, [%rd2];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

}  // namespace

TEST_CASE("runtime: copies of boxes move their bytes only, in every direction, by call and by graph node") {
  Random random(3);
  const cudaMemcpyKind kinds[] = {cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
  for (int round = 0; round < 60; ++round) {
    const cudaMemcpyKind kind = kinds[round % 4];
    Place from(kind >= cudaMemcpyDeviceToHost), to(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice);
    Box source = random_box(random), target = random_box(random);
    from.write(source);
    to.write(target);
    cudaMemcpy3DParms p{};
    p.extent = {1 + random.below(width), 1 + random.below(rows), 1 + random.below(slices)};
    const auto position = [&] {
      return cudaPos{random.below(width - p.extent.width + 1), random.below(rows - p.extent.height + 1),
                     random.below(slices - p.extent.depth + 1)};
    };
    p.srcPos = position();
    p.dstPos = position();
    p.srcPtr = from.pointer;
    p.dstPtr = to.pointer;
    p.kind = round % 3 == 0 ? cudaMemcpyDefault : kind;
    if (round % 5 == 4) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      cudaGraphNode_t node = nullptr;
      cudaMemcpy3DParms asked{};
      ok(cudaGraphCreate(&graph, 0));
      ok(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &p));
      ok(cudaGraphMemcpyNodeGetParams(node, &asked));
      CHECK(std::memcmp(&asked.extent, &p.extent, sizeof p.extent) == 0);
      CHECK(std::memcmp(&asked.srcPos, &p.srcPos, sizeof p.srcPos) == 0);
      CHECK(asked.dstPtr.ptr == p.dstPtr.ptr);
      CHECK(asked.kind == p.kind);
      ok(cudaGraphInstantiate(&exec, graph, 0));
      ok(cudaGraphLaunch(exec, nullptr));
      ok(cudaDeviceSynchronize());
      ok(cudaGraphExecDestroy(exec));
      ok(cudaGraphDestroy(graph));
    } else if (round % 5 == 3) {
      ok(cudaMemcpy3DAsync_ptsz(&p, nullptr));
      ok(cudaStreamSynchronize_ptsz(nullptr));
    } else {
      ok(cudaMemcpy3D(&p));
    }
    for (std::size_t z = 0; z < p.extent.depth; ++z) {
      for (std::size_t y = 0; y < p.extent.height; ++y) {
        for (std::size_t x = 0; x < p.extent.width; ++x)
          target.at(p.dstPos.x + x, p.dstPos.y + y, p.dstPos.z + z) = source.at(p.srcPos.x + x, p.srcPos.y + y, p.srcPos.z + z);
      }
    }
    INFO("round " << round << ", kind " << kind);
    CHECK(to.read().bytes == target.bytes);
  }
}

TEST_CASE("runtime: boxes are filled without what lies beside them") {
  Random random(4);
  Place place(true);
  Box box = random_box(random);
  place.write(box);
  ok(cudaMemset3D(place.pointer, 9, {width - 4, rows - 2, slices - 1}));
  for (std::size_t z = 0; z + 1 < slices; ++z) {
    for (std::size_t y = 0; y + 2 < rows; ++y) std::memset(&box.at(0, y, z), 9, width - 4);
  }
  CHECK(place.read().bytes == box.bytes);
}

TEST_CASE("runtime: a copy's description with a wrong direction, both places or none is refused") {
  cudaMemcpy3DParms p{};
  CHECK(cudaMemcpy3D(nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy3D(&p) == cudaErrorInvalidValue);
  unsigned char from[8]{}, to[8]{};
  p.srcPtr = {from, 8, 8, 1};
  p.dstPtr = {to, 8, 8, 1};
  p.extent = {8, 1, 1};
  p.kind = static_cast<cudaMemcpyKind>(12);
  CHECK(cudaMemcpy3D(&p) == cudaErrorInvalidMemcpyDirection);
  p.kind = cudaMemcpyHostToHost;
  p.srcArray = reinterpret_cast<cudaArray_t>(&p);
  CHECK(cudaMemcpy3D(&p) == cudaErrorInvalidValue);
}

TEST_CASE("runtime: libraries' kernels are launched by their handles, by call and by graph node") {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr, listed = nullptr;
  unsigned count = 0;
  ok(cudaLibraryLoadData(&library, add_one, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ok(cudaLibraryGetKernelCount(&count, library));
  CHECK(count == 1);
  ok(cudaLibraryEnumerateKernels(&listed, 1, library));
  ok(cudaLibraryGetKernel(&kernel, library, "add_one"));
  CHECK(listed == kernel);
  CHECK(cudaLibraryGetKernel(&kernel, library, "nothing") != cudaSuccess);
  void* step = nullptr;
  std::size_t size = 0;
  ok(cudaLibraryGetGlobal(&step, &size, library, "step"));
  CHECK(size == 4);
  unsigned* p = nullptr;
  ok(cudaMalloc(reinterpret_cast<void**>(&p), 4));
  ok(cudaMemset(p, 0, 4));
  void* arguments[] = {&p};
  ok(cudaLaunchKernel(listed, {1}, {1}, arguments, 0, nullptr));
  const unsigned ten = 10;
  ok(cudaMemcpy(step, &ten, 4, cudaMemcpyHostToDevice));
  cudaKernelNodeParams params{listed, dim3(1), dim3(1), 0, arguments, nullptr}, asked{};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  ok(cudaGraphCreate(&graph, 0));
  ok(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  ok(cudaGraphKernelNodeGetParams(node, &asked));
  CHECK(asked.func == listed);
  ok(cudaGraphInstantiate(&exec, graph, 0));
  ok(cudaGraphLaunch(exec, nullptr));
  unsigned value = 0;
  ok(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  CHECK(value == 11);
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));
  ok(cudaLibraryUnload(library));
}

TEST_CASE("runtime: pools, and memory that a node of any kind allocates") {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  ok(cudaMemPoolCreate(&pool, &props));
  void* p = nullptr;
  ok(cudaMallocFromPoolAsync(&p, 100, pool, nullptr));
  unsigned long long used = 0;
  ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 100);
  ok(cudaFreeAsync(p, nullptr));
  ok(cudaMemPoolDestroy(pool));

  cudaGraph_t graph = nullptr;
  cudaGraphNode_t allocated = nullptr, filled = nullptr, freed = nullptr;
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemAlloc;
  params.alloc.poolProps = props;
  params.alloc.bytesize = 64;
  ok(cudaGraphCreate(&graph, 0));
  ok(cudaGraphAddNode(&allocated, graph, nullptr, nullptr, 0, &params));
  void* memory = params.alloc.dptr;
  REQUIRE(memory != nullptr);
  cudaGraphNodeParams fill{};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset = {memory, 0, 5, 4, 16, 1};
  ok(cudaGraphAddNode(&filled, graph, &allocated, nullptr, 1, &fill));
  ok(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, memory));
  cudaGraphExec_t exec = nullptr;
  ok(cudaGraphInstantiate(&exec, graph, 0));
  ok(cudaGraphLaunch(exec, nullptr));
  ok(cudaDeviceSynchronize());
}
