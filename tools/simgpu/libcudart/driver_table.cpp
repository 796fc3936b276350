#include "tools/simgpu/libcudart/driver_table.h"

#include <dlfcn.h>

#include <cstring>

#include "profiles/base/log.h"

namespace tessera::simgpu::runtime {
namespace {

// The ABI of every function in the table, by the default names of cuda.h, is the newest one before 13.0 (which changed cuCtxSynchronize and
// cuCtxGetDevice under unchanged names).
constexpr int asked_version = 12090;

using LookUp = decltype(&::cuGetProcAddress);

DriverTable resolve() {
  DriverTable table;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    log::notice(std::string("simulated runtime: no CUDA driver: ") + dlerror());
    return table;
  }
  void* look_up_address = dlsym(library, "cuGetProcAddress_v2");
  if (look_up_address == nullptr) return table;
  LookUp look_up;
  std::memcpy(&look_up, &look_up_address, sizeof look_up);
  const auto get = [&](const char* name, auto& member, int version) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status;
    if (look_up(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS || address == nullptr) {
      log::warn("simulated runtime: the driver has no {}", name);
      return false;
    }
    std::memcpy(&member, &address, sizeof address);
    return true;
  };
  bool complete = true;
#define RUNTIME_DRIVER_CALL(name) complete &= get(#name, table.name, asked_version);
#define RUNTIME_DRIVER_CALL_13(name) complete &= get(#name, table.name, 13000);
#include "tools/simgpu/libcudart/driver_calls.def"
  if (complete) table.found = CUDA_SUCCESS;
  return table;
}

}  // namespace

const DriverTable& driver() {
  static const DriverTable table = resolve();
  return table;
}

}  // namespace tessera::simgpu::runtime
