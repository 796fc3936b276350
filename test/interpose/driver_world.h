// The driver as a program finds it, in a process that has libtessera.so preloaded over the fake driver (ctest sets both up).
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "interpose/resolve/cuda_api.h"
#include "test/fake/fake_driver.h"

namespace tessera::test {

inline void* driver_library() {
  static void* const library = [] {
    void* opened = dlopen("libcuda.so.1", RTLD_NOW);
    if (opened == nullptr || dlsym(opened, "fake_reset") == nullptr) {
      throw std::runtime_error("run this through ctest: it needs libtessera.so preloaded over the fake driver");
    }
    return opened;
  }();
  return library;
}

template <typename Pointer>
Pointer by_name(const char* symbol) {
  return reinterpret_cast<Pointer>(dlsym(driver_library(), symbol));
}
#define TESSERA_DRIVER(symbol) tessera::test::by_name<decltype(&::symbol)>(#symbol)

inline std::vector<FakeLaunch> launches() {
  std::vector<FakeLaunch> list(256);
  list.resize(by_name<decltype(&fake_launches)>("fake_launches")(list.data(), 256));
  return list;
}
inline unsigned calls(const char* symbol) { return by_name<decltype(&fake_calls)>("fake_calls")(symbol); }
inline void reset() { by_name<decltype(&fake_reset)>("fake_reset")(); }

// A program on GPU 0.
struct World {
  World() {
    TESSERA_DRIVER(cuInit)(0);
    CUcontext context = nullptr;
    TESSERA_DRIVER(cuDevicePrimaryCtxRetain)(&context, 0);
    TESSERA_DRIVER(cuCtxSetCurrent)(context);
    reset();
  }
  ~World() {
    for (const CUdeviceptr pointer : memories()) TESSERA_DRIVER(cuMemFree_v2)(pointer);  // some are freed already
    memories().clear();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static std::vector<CUdeviceptr>& memories() {
    static thread_local std::vector<CUdeviceptr> list;
    return list;
  }
  // Freed with the world.
  static CUdeviceptr memory(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    if (TESSERA_DRIVER(cuMemAlloc_v2)(&pointer, bytes) != CUDA_SUCCESS) throw std::runtime_error("no memory");
    memories().push_back(pointer);
    return pointer;
  }
  static CUmodule module(const std::string& image) {
    CUmodule loaded = nullptr;
    if (TESSERA_DRIVER(cuModuleLoadData)(&loaded, image.c_str()) != CUDA_SUCCESS) throw std::runtime_error("no module");
    return loaded;
  }
  static CUfunction function(CUmodule module, const char* name) {
    CUfunction found = nullptr;
    if (TESSERA_DRIVER(cuModuleGetFunction)(&found, module, name) != CUDA_SUCCESS) throw std::runtime_error("no function");
    return found;
  }
  static CUresult launch(CUfunction function, void** params, void** extra = nullptr, CUstream stream = nullptr, unsigned shared = 0) {
    return TESSERA_DRIVER(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, shared, stream, params, extra);
  }
};

// One kernel that reads and writes through its only pointer, behind `padding` 32-bit parameters.
inline std::string ptx(const std::string& name, const std::string& target = "sm_80", unsigned padding = 0) {
  std::string text = ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry " + name + "(.param .u64 p";
  for (unsigned i = 0; i < padding; ++i) text += ", .param .u32 q" + std::to_string(i);
  return text +
         ")\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"
         "ld.global.u32 %r1, [%rd2];\nst.global.u32 [%rd2], %r1;\nret;\n}\n";
}

}  // namespace tessera::test
