// The simulated driver in use: wrong handles, memory, modules, launches, faults, time. One process, three GPUs (see CMakeLists.txt).
#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "test/simgpu/in_child.h"

namespace {

const char* const add_ptx = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry add(.param .u64 out, .param .u64 in, .param .u32 n)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<8>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p ret;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.global.u32 %r7, [%rd5];
  add.u32 %r6, %r6, %r7;
  st.global.u32 [%rd5], %r6;
  ret;
}
)";

void check(CUresult code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  INFO((name == nullptr ? "?" : name));
  REQUIRE(code == CUDA_SUCCESS);
}

// A context of its own on device `ordinal`, current until the end of the scope.
struct Current {
  CUcontext context = nullptr;
  explicit Current(int ordinal = 0) {
    check(cuInit(0));
    check(cuCtxCreate(&context, nullptr, 0, ordinal));
  }
  ~Current() { cuCtxDestroy(context); }
};

CUdeviceptr upload(const std::vector<unsigned>& values) {
  CUdeviceptr p = 0;
  check(cuMemAlloc(&p, values.size() * 4));
  check(cuMemcpyHtoD(p, values.data(), values.size() * 4));
  return p;
}
std::vector<unsigned> download(CUdeviceptr p, std::size_t count) {
  std::vector<unsigned> values(count);
  check(cuMemcpyDtoH(values.data(), p, count * 4));
  return values;
}
CUfunction add_function(CUmodule& module) {
  CUfunction f = nullptr;
  check(cuModuleLoadData(&module, add_ptx));
  check(cuModuleGetFunction(&f, module, "add"));
  return f;
}

}  // namespace

TEST_CASE("before cuInit everything says so, and without a context everything that needs one") {
  const std::string answer = tessera::test::in_child({}, [] {
    int count = 0;
    CUdeviceptr p = 0;
    std::string codes = std::to_string(cuDeviceGetCount(&count)) + " " + std::to_string(cuMemAlloc(&p, 4));
    cuInit(0);
    return codes + " " + std::to_string(cuMemAlloc(&p, 4)) + " " + std::to_string(cuCtxSynchronize()) + " " + std::to_string(cuInit(1));
  });
  CHECK(answer == "3 3 201 201 1");
}

TEST_CASE("wrong, stale and null handles give the documented code and never crash") {
  const Current current;
  int made_up = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  check(cuStreamCreate(&stream, 0));
  check(cuEventCreate(&event, 0));
  check(cuStreamDestroy(stream));
  check(cuEventDestroy(event));
  CHECK(cuStreamDestroy(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventRecord(event, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(&made_up)) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuModuleUnload(reinterpret_cast<CUmodule>(&made_up)) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLaunchKernel(reinterpret_cast<CUfunction>(&made_up), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
        CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuCtxPushCurrent(reinterpret_cast<CUcontext>(&made_up)) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemAlloc(nullptr, 4) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr p = 0;
  CHECK(cuMemAlloc(&p, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAlloc(&p, std::size_t{1} << 50) == CUDA_ERROR_OUT_OF_MEMORY);
  check(cuMemAlloc(&p, 64));
  CHECK(cuMemFree(p + 4) == CUDA_ERROR_INVALID_VALUE);
  check(cuMemFree(p));
  CHECK(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(0) == CUDA_SUCCESS);
  CHECK(cuMemcpyHtoD(p, &made_up, 4) == CUDA_ERROR_INVALID_VALUE);
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, 3) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGet(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("what a context allocated goes with it: device, pinned, registered and managed memory") {
  const Current outer;
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    check(cuMemGetInfo(&free, &total));
    return free;
  };
  const std::size_t before = free_bytes();
  std::vector<char> mine(100);
  CUdeviceptr device = 0, managed = 0, pitched = 0;
  std::size_t pitch = 0;
  void* pinned = nullptr;
  {
    const Current inner;
    check(cuMemAlloc(&device, 1000));
    check(cuMemAllocPitch(&pitched, &pitch, 100, 10, 4));
    check(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    check(cuMemAllocHost(&pinned, 1000));
    check(cuMemHostRegister(mine.data(), mine.size(), 0));
    CUcontext owner = nullptr;
    check(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
    CHECK(owner == inner.context);
    CHECK(free_bytes() < before);
  }
  CHECK(free_bytes() == before);
  unsigned type = 0;
  for (const CUdeviceptr p : {device, managed, pitched, reinterpret_cast<CUdeviceptr>(pinned), reinterpret_cast<CUdeviceptr>(mine.data())})
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(device) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("copies keep to allocations, to the byte, and carry bytes between any two devices") {
  const Current first(0);
  const CUdeviceptr a = upload({1, 2, 3, 4});
  unsigned host[5] = {};
  CHECK(cuMemcpyDtoH(host, a, 20) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH(host, a + 16, 0) == CUDA_SUCCESS);
  CHECK(cuMemsetD32(a + 2, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  check(cuMemsetD32(a + 4, 9, 2));
  CHECK(download(a, 4) == std::vector<unsigned>{1, 9, 9, 4});
  const Current second(1);
  CUdeviceptr b = 0;
  check(cuMemAlloc(&b, 16));
  check(cuMemcpyPeer(b, second.context, a, first.context, 16));
  CHECK(download(b, 4) == std::vector<unsigned>{1, 9, 9, 4});
  CHECK(cuMemcpyPeer(b, second.context, a, first.context, 20) == CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE, rows.srcDevice = a, rows.srcPitch = 8;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE, rows.dstDevice = b, rows.dstPitch = 8;
  rows.WidthInBytes = 4, rows.Height = 2;
  check(cuMemsetD32(b, 0, 4));
  check(cuMemcpy2D(&rows));
  CHECK(download(b, 4) == std::vector<unsigned>{1, 0, 9, 0});
}

TEST_CASE("a kernel runs from PTX, with arguments in either form, on each GPU") {
  for (int ordinal = 0; ordinal < 3; ++ordinal) {
    const Current current(ordinal);
    CUmodule module = nullptr;
    const CUfunction f = add_function(module);
    std::vector<unsigned> values(1000);
    for (unsigned i = 0; i < 1000; ++i) values[i] = i;
    CUdeviceptr out = upload(values), in = upload(values);
    unsigned n = 999;
    void* args[] = {&out, &in, &n};
    check(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr));
    struct {
      CUdeviceptr out, in;
      unsigned n;
    } block{out, in, n};
    std::size_t size = 20;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    check(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
    for (unsigned i = 0; i < 999; ++i) values[i] = 3 * i;
    CHECK(download(out, 1000) == values);
    CHECK(cuLaunchKernel(f, 0, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, nullptr, args, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 1 << 20, nullptr, args, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_CASE("libraries: a kernel without a context, cast to a function, and one set of globals a device") {
  const Current first(0);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  check(cuLibraryLoadData(&library, add_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  check(cuLibraryGetKernel(&kernel, library, "add"));
  CHECK(cuLibraryGetKernel(&kernel, library, "nothing") == CUDA_ERROR_NOT_FOUND);
  CUdeviceptr here = 0, there = 0;
  std::size_t size = 0;
  check(cuLibraryGetGlobal(&here, &size, library, "counter"));
  CHECK(size == 4);
  check(cuMemsetD32(here, 1, 1));
  {
    const Current second(1);
    check(cuLibraryGetGlobal(&there, &size, library, "counter"));
    CHECK(there != here);
    CHECK(download(there, 1) == std::vector<unsigned>{7});
    CUdeviceptr out = upload({1}), in = upload({2});
    unsigned n = 1;
    void* args[] = {&out, &in, &n};
    check(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr));
    CHECK(download(out, 1) == std::vector<unsigned>{3});
  }
  std::size_t offset = 0;
  check(cuKernelGetParamInfo(kernel, 2, &offset, &size));
  CHECK((offset == 16 && size == 4));
  CHECK(cuKernelGetParamInfo(kernel, 3, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  check(cuLibraryUnload(library));
  CHECK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("images that can't be loaded give the driver's code, and the JIT log says why") {
  const Current current;
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, "not PTX") == CUDA_ERROR_INVALID_IMAGE);
  CHECK(cuModuleLoadData(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleLoad(&module, "/nowhere.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n") ==
        CUDA_ERROR_INVALID_PTX);
  char log[200] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CHECK(cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nadd.s32 ((;\nret;\n}\n", 2,
                           options, values) == CUDA_ERROR_INVALID_PTX);
  CHECK(std::string(log).find("line 6") != std::string::npos);
}

TEST_CASE("touching freed memory, another GPU's or beyond the end is an illegal address, sticky in the context alone") {
  const std::string answer = tessera::test::in_child({{"TESSERA_LOG", "off:/dev/null"}}, [] {
    std::string codes;
    cuInit(0);
    CUcontext other_context = nullptr;
    CUdeviceptr other = 0;
    cuCtxCreate(&other_context, nullptr, 0, 1);
    cuMemAlloc(&other, 4096);
    for (int what = 0; what < 3; ++what) {
      CUcontext context = nullptr;
      cuCtxCreate(&context, nullptr, 0, 0);
      CUmodule module = nullptr;
      CUfunction f = nullptr;
      cuModuleLoadData(&module, add_ptx);
      cuModuleGetFunction(&f, module, "add");
      CUdeviceptr out = 0, in = 0, freed = 0;
      cuMemAlloc(&out, 4096);
      cuMemAlloc(&in, 4096);
      cuMemAlloc(&freed, 4096);
      cuMemFree(freed);
      unsigned n = what == 0 ? 1025 : 1024;
      void* args[] = {&out, what == 1 ? &other : what == 2 ? &freed : &in, &n};
      codes += std::to_string(cuLaunchKernel(f, 5, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr)) + ":";
      codes += std::to_string(cuCtxSynchronize()) + ":" + std::to_string(cuMemAlloc(&in, 4)) + " ";
      cuCtxDestroy(context);
    }
    cuCtxSetCurrent(other_context);
    return codes + std::to_string(cuCtxSynchronize());
  });
  CHECK(answer == "0:700:700 0:700:700 0:700:700 0");
}

TEST_CASE("virtual time: the same program takes the same nanoseconds, copies take longer than nothing, streams overlap") {
  const auto run = [](bool two_streams) {
    return tessera::test::in_child({}, [=] {
      cuInit(0);
      CUcontext context = nullptr;
      cuCtxCreate(&context, nullptr, 0, 0);
      CUmodule module = nullptr;
      CUfunction f = nullptr;
      cuModuleLoadData(&module, add_ptx);
      cuModuleGetFunction(&f, module, "add");
      CUdeviceptr a = 0, b = 0;
      cuMemAlloc(&a, 1 << 20);
      cuMemAlloc(&b, 1 << 20);
      std::vector<char> host(1 << 20);
      CUstream s[2] = {};
      cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING);
      cuStreamCreate(&s[1], CU_STREAM_NON_BLOCKING);
      CUevent begin = nullptr, end = nullptr;
      cuEventCreate(&begin, 0);
      cuEventCreate(&end, 0);
      cuEventRecord(begin, s[0]);
      unsigned n = 1 << 18;
      void* args[] = {&a, &a, &n};
      CUstream second = s[two_streams ? 1 : 0];
      cuMemcpyHtoDAsync(b, host.data(), host.size(), second);
      for (int i = 0; i < 10; ++i) cuLaunchKernel(f, 1024, 1, 1, 256, 1, 1, 0, s[0], args, nullptr);
      cuEventRecord(end, second);
      cuStreamWaitEvent(s[0], end, 0);
      cuEventRecord(end, s[0]);
      cuEventSynchronize(end);
      float ms = 0;
      cuEventElapsedTime(&ms, begin, end);
      return std::to_string(ms);
    });
  };
  const std::string one = run(false), both = run(true);
  CHECK(run(false) == one);
  CHECK(run(true) == both);
  CHECK(std::stof(both) < std::stof(one));
  CHECK(std::stof(both) > 0.03f);
}

TEST_CASE("pointer attributes: what device and host pointers are, and that others are not the driver's") {
  const Current current(1);
  CUdeviceptr p = 0;
  check(cuMemAlloc(&p, 100));
  unsigned type = 0;
  int ordinal = -1;
  std::size_t size = 0;
  check(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 99));
  check(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
  check(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 5));
  CHECK((type == CU_MEMORYTYPE_DEVICE && ordinal == 1 && size == 100));
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 100) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&size)) == CUDA_ERROR_INVALID_VALUE);
  void* pinned = nullptr;
  check(cuMemAllocHost(&pinned, 4096));
  check(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  CHECK(type == CU_MEMORYTYPE_HOST);
  check(cuMemFreeHost(pinned));
  CHECK(cuMemFreeHost(pinned) == CUDA_ERROR_INVALID_VALUE);
}
