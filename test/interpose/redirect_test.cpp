// Modules, kernels and launches, in a process whose policy is "GPU 1": what can go there does, with what it needs; the rest stays home
// and the program doesn't notice.
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "test/interpose/driver_world.h"

using namespace tessera::test;

TEST_CASE("a launch goes to the other GPU with translated pointers, and its bytes come back", "[launch]") {
  const World world;
  const CUdeviceptr pointer = World::memory(4096);
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  reset();
  SECTION("parameters one by one") {
    CUdeviceptr inside = pointer + 64;
    void* params[] = {&inside};
    REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
    REQUIRE(inside == pointer + 64);  // the program's own values stay
  }
  SECTION("parameters packed") {
    CUdeviceptr inside = pointer + 64;
    std::size_t size = sizeof inside;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &inside, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    REQUIRE(World::launch(function, nullptr, extra) == CUDA_SUCCESS);
  }
  REQUIRE(launches().size() == 1);
  const FakeLaunch made = launches()[0];
  REQUIRE(made.device == 1);
  REQUIRE(made.kernel == std::string("touch"));
  REQUIRE(made.first_param != pointer + 64);
  REQUIRE(made.first_param % 256 == 64);
  REQUIRE(calls("cuMemcpyPeerAsync") == 1);

  *reinterpret_cast<int*>(made.first_param) = 42;  // what the kernel would have written
  int seen = 0;
  REQUIRE(TESSERA_DRIVER(cuMemcpyDtoH_v2)(&seen, pointer + 64, sizeof seen) == CUDA_SUCCESS);
  REQUIRE(seen == 42);
  REQUIRE(calls("cuMemcpyPeerAsync") == 2);
  REQUIRE(TESSERA_DRIVER(cuMemcpyDtoH_v2)(&seen, pointer, sizeof seen) == CUDA_SUCCESS);
  REQUIRE(calls("cuMemcpyPeerAsync") == 2);  // it is there already
  REQUIRE(TESSERA_DRIVER(cuMemFree_v2)(pointer) == CUDA_SUCCESS);
  REQUIRE(calls("cuMemFree_v2") == 2);  // and its replica
}

TEST_CASE("what isn't plain device memory stays home; a null pointer is no memory", "[launch]") {
  const World world;
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  static int elsewhere = 0;
  CUdeviceptr pointer = reinterpret_cast<CUdeviceptr>(&elsewhere);
  void* params[] = {&pointer};
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  pointer = 0;
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  REQUIRE(launches().size() == 2);
  REQUIRE(launches()[0].device == 0);
  REQUIRE(launches()[0].first_param == reinterpret_cast<CUdeviceptr>(&elsewhere));
  REQUIRE(launches()[1].first_param == 0);
}

TEST_CASE("no memory on the other GPU: the launch stays home", "[launch]") {
  const World world;
  CUdeviceptr pointer = World::memory(1 << 20);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  by_name<decltype(&fake_fail_allocations)>("fake_fail_allocations")(1, 1);
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  REQUIRE(launches()[0].device == 0);
  REQUIRE(launches()[1].device == 1);
  REQUIRE(TESSERA_DRIVER(cuMemFree_v2)(pointer) == CUDA_SUCCESS);
}

TEST_CASE("images that aren't understood are loaded as they are, and their kernels stay home", "[B1][B2]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  for (const char* image : {"", "garbage",
                            "\x7f"
                            "ELF",
                            "\x50\xed\x55\xba", ".version 9.0\n.target sm_80\n.visible .entry k(", "//"}) {
    reset();
    std::string padded(image);
    padded.resize(4096);
    const CUmodule module = World::module(padded);
    REQUIRE(World::launch(World::function(module, "k"), params) == CUDA_SUCCESS);
    REQUIRE(launches().size() == 1);
    REQUIRE(launches()[0].device == 0);
    REQUIRE(launches()[0].first_param == pointer);
    REQUIRE(TESSERA_DRIVER(cuModuleUnload)(module) == CUDA_SUCCESS);
  }
}

TEST_CASE("a library loaded before any context, and a CUkernel launched as it is", "[B3]") {
  const World world;
  CUcontext context = nullptr;
  TESSERA_DRIVER(cuCtxGetCurrent)(&context);
  TESSERA_DRIVER(cuCtxSetCurrent)(nullptr);
  const std::string image = ptx("touch");
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  REQUIRE(TESSERA_DRIVER(cuLibraryLoadData)(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
  REQUIRE(TESSERA_DRIVER(cuLibraryGetKernel)(&kernel, library, "touch") == CUDA_SUCCESS);
  TESSERA_DRIVER(cuCtxSetCurrent)(context);
  CUfunction function = nullptr;
  REQUIRE(TESSERA_DRIVER(cuKernelGetFunction)(&function, kernel) == CUDA_SUCCESS);
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  reset();
  REQUIRE(World::launch(reinterpret_cast<CUfunction>(kernel), params) == CUDA_SUCCESS);
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  for (const FakeLaunch& made : launches()) {
    REQUIRE(made.device == 1);
    REQUIRE(made.kernel == std::string("touch"));
  }
  REQUIRE(launches().size() == 2);
  REQUIRE(TESSERA_DRIVER(cuMemFree_v2)(pointer) == CUDA_SUCCESS);
}

TEST_CASE("a recycled handle never shows the kernel that had it before", "[B5]") {
  const World world;
  CUcontext context = nullptr;
  TESSERA_DRIVER(cuCtxGetCurrent)(&context);
  unsigned wrong = 0;
  const auto work = [&](const char* name) {
    TESSERA_DRIVER(cuCtxSetCurrent)(context);
    const std::string image = ptx(name);
    CUdeviceptr pointer = World::memory(64);
    void* params[] = {&pointer};
    for (int i = 0; i < 300; ++i) {
      const CUmodule module = World::module(image);
      if (World::launch(World::function(module, name), params) != CUDA_SUCCESS) ++wrong;
      if (TESSERA_DRIVER(cuModuleUnload)(module) != CUDA_SUCCESS) ++wrong;
    }
    TESSERA_DRIVER(cuMemFree_v2)(pointer);
  };
  std::thread first(work, "first"), second(work, "second");
  first.join();
  second.join();
  REQUIRE(wrong == 0);
  std::vector<FakeLaunch> made(600);
  REQUIRE(by_name<decltype(&fake_launches)>("fake_launches")(made.data(), 600) == 600);
  unsigned firsts = 0;
  for (const FakeLaunch& one : made) firsts += one.kernel == std::string("first") ? 1 : 0;
  REQUIRE(firsts == 300);
}

TEST_CASE("code that the other GPU can't load stays home, and the program sees no error", "[B6][B7]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  const CUmodule module = World::module(ptx("touch", "sm_90a"));
  REQUIRE(World::launch(World::function(module, "touch"), params) == CUDA_SUCCESS);
  REQUIRE(launches().size() == 1);
  REQUIRE(launches()[0].device == 0);
}

TEST_CASE("attributes are set there too; what the other GPU refuses stays home", "[B10]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  const auto set = TESSERA_DRIVER(cuFuncSetAttribute);
  reset();
  REQUIRE(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000) == CUDA_SUCCESS);
  REQUIRE(calls("cuFuncSetAttribute") == 2);
  REQUIRE(World::launch(function, params, nullptr, nullptr, 60000) == CUDA_SUCCESS);
  REQUIRE(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000) == CUDA_SUCCESS);
  REQUIRE(World::launch(function, params, nullptr, nullptr, 100000) == CUDA_SUCCESS);
  REQUIRE(launches()[0].device == 1);
  REQUIRE(launches()[0].shared == 60000);
  REQUIRE(launches()[1].device == 0);
  REQUIRE(launches()[1].shared == 100000);
}

TEST_CASE("many parameters, and launch attributes", "[B12]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  const CUfunction function = World::function(World::module(ptx("touch", "sm_80", 199)), "touch");
  std::vector<unsigned> values(199, 7);
  std::vector<void*> params = {&pointer};
  for (unsigned& value : values) params.push_back(&value);
  reset();
  REQUIRE(World::launch(function, params.data()) == CUDA_SUCCESS);
  REQUIRE(launches()[0].device == 1);

  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, nullptr, &attribute, 1};
  REQUIRE(TESSERA_DRIVER(cuLaunchKernelEx)(&config, function, params.data(), nullptr) == CUDA_SUCCESS);
  REQUIRE(calls("cuLaunchKernelEx") == 1);
  REQUIRE(launches()[1].device == 0);
  config.numAttrs = 0;
  REQUIRE(TESSERA_DRIVER(cuLaunchKernelEx)(&config, function, params.data(), nullptr) == CUDA_SUCCESS);
  REQUIRE(launches()[2].device == 1);
}

TEST_CASE("a kernel without parameters stays with the driver's own idea of it", "[E5]") {
  const World world;
  const CUfunction function =
      World::function(World::module(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry none()\n{\nret;\n}\n"), "none");
  REQUIRE(World::launch(function, nullptr) == CUDA_SUCCESS);
  REQUIRE(launches().size() == 1);
  REQUIRE(launches()[0].kernel == std::string("none"));
}

TEST_CASE("memory that a stream operation can see stays home for good", "[memory]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  reset();
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  REQUIRE(TESSERA_DRIVER(cuStreamWriteValue32_v2)(nullptr, pointer, 1, 0) == CUDA_SUCCESS);
  REQUIRE(calls("cuMemcpyPeerAsync") == 2);
  REQUIRE(World::launch(function, params) == CUDA_SUCCESS);
  REQUIRE(launches()[0].device == 1);
  REQUIRE(launches()[1].device == 0);
}

TEST_CASE("while a stream is captured nothing is redirected", "[capture]") {
  const World world;
  CUdeviceptr pointer = World::memory(64);
  void* params[] = {&pointer};
  const CUfunction function = World::function(World::module(ptx("touch")), "touch");
  CUstream stream = nullptr;
  REQUIRE(TESSERA_DRIVER(cuStreamCreateWithPriority)(&stream, 0, 0) == CUDA_SUCCESS);
  reset();
  REQUIRE(World::launch(function, params, nullptr, stream) == CUDA_SUCCESS);
  REQUIRE(TESSERA_DRIVER(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  REQUIRE(calls("cuMemcpyPeerAsync") == 2);  // home before it begins
  REQUIRE(World::launch(function, params, nullptr, stream) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(TESSERA_DRIVER(cuStreamEndCapture)(stream, &graph) == CUDA_SUCCESS);
  REQUIRE(World::launch(function, params, nullptr, stream) == CUDA_SUCCESS);
  REQUIRE(launches()[0].device == 1);
  REQUIRE(launches()[1].device == 0);
  REQUIRE(launches()[2].device == 1);
}
