// The driver as the CUDA runtime, Numba and others find it: dlopen, dlsym for one name, cuGetProcAddress for the rest,
// with versions and with the per-thread variant of the stream-taking names.
#include <dlfcn.h>

#include "driver_check.h"

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

// Types by decltype of the header's declaration; nothing here refers to a symbol of the library.
class Driver {
 public:
  Driver() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) fail(::dlerror());
    get_ = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
    if (get_ == nullptr) fail("libcuda.so.1 has no cuGetProcAddress_v2");
  }

  template <class Function>
  Function* find(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) const {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found{};
    CHECK(get_(name, &address, version, flags, &found));
    if (address == nullptr || found != CU_GET_PROC_ADDRESS_SUCCESS) fail(name);
    return reinterpret_cast<Function*>(address);
  }

  // A name that no driver has: refused, with a null pointer.
  [[nodiscard]] bool refuses(const char* name) const {
    void* address = &address;
    CUdriverProcAddressQueryResult found{};
    const CUresult result = get_(name, &address, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    return address == nullptr && (result == CUDA_ERROR_NOT_FOUND || found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "driver_proc_address: %s\n", what);
    std::exit(1);
  }

  GetProcAddress get_ = nullptr;
};

// What the file launches with: the legacy default stream, or each thread's own.
struct Launcher {
  decltype(::cuLaunchKernel)* launch;
  decltype(::cuMemcpyHtoD)* to_device;
  decltype(::cuMemcpyDtoH)* to_host;
};

}  // namespace

int main(int argc, char** argv) {
  program::Run run(argc, argv, "driver_proc_address", 30'000);
  const std::size_t count = run.size();
  const std::size_t bytes = count * sizeof(float);
  program::Numbers numbers(14);
  const std::vector<float> x = numbers.units(count);
  const std::vector<float> y = numbers.units(count);

  const Driver driver;
  CHECK(driver.find<decltype(::cuInit)>("cuInit", 2000)(0));
  CUdevice device = 0;
  CHECK(driver.find<decltype(::cuDeviceGet)>("cuDeviceGet", 2000)(&device, 0));
  CUcontext context = nullptr;
  CHECK(driver.find<decltype(::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", 7000)(&context, device));
  CHECK(driver.find<decltype(::cuCtxSetCurrent)>("cuCtxSetCurrent", 4000)(context));
  CUmodule module = nullptr;
  {
    const std::vector<char> ptx = program::file_beside_program("driver_kernels.ptx");  // freed after the load
    CHECK(driver.find<decltype(::cuModuleLoadDataEx)>("cuModuleLoadDataEx", 2010)(&module, ptx.data(), 0, nullptr, nullptr));
  }
  CUfunction saxpy = nullptr;
  CHECK(driver.find<decltype(::cuModuleGetFunction)>("cuModuleGetFunction", 2000)(&saxpy, module, "saxpy"));
  auto* allocate = driver.find<decltype(::cuMemAlloc)>("cuMemAlloc", 3020);
  CUdeviceptr memory[3] = {};
  for (CUdeviceptr& array : memory) CHECK(allocate(&array, bytes));

  auto want = y;
  for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_LEGACY_STREAM, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
    const bool legacy = flags == CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    const Launcher api{driver.find<decltype(::cuLaunchKernel)>("cuLaunchKernel", legacy ? 4000 : 7000, flags),
                       driver.find<decltype(::cuMemcpyHtoD)>("cuMemcpyHtoD", legacy ? 3020 : 7000, flags),
                       driver.find<decltype(::cuMemcpyDtoH)>("cuMemcpyDtoH", legacy ? 3020 : 7000, flags)};
    CHECK(api.to_device(memory[0], x.data(), bytes));
    CHECK(api.to_device(memory[1], want.data(), bytes));
    float factor = legacy ? 1.5F : -3.0F;
    auto n = static_cast<unsigned>(count);
    void* parameters[] = {&factor, &memory[0], &memory[1], &memory[2], &n};
    CHECK(api.launch(saxpy, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    std::vector<float> out(count);
    CHECK(api.to_host(out.data(), memory[2], bytes));
    want = program::host_saxpy(factor, x, want);
    run.expect_equal(legacy ? "legacy stream" : "per-thread stream", out, want);
  }

  run.expect_equal("unknown names refused", std::vector<int>{driver.refuses("cuNoSuchName"), driver.refuses("cudnnCreate")}, {1, 1});
  auto* release = driver.find<decltype(::cuMemFree)>("cuMemFree", 3020);
  for (const CUdeviceptr array : memory) CHECK(release(array));
  CHECK(driver.find<decltype(::cuModuleUnload)>("cuModuleUnload", 2000)(module));
  CHECK(driver.find<decltype(::cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease", 11000)(device));
  return run.finish();
}
