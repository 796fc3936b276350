// A fat binary from a file (compressed PTX inside), loaded as a module and as a context-independent library whose
// kernel handle is launched directly.
#include "driver_check.h"

static void saxpy(CUfunction function, float factor, CUdeviceptr x, CUdeviceptr y, CUdeviceptr out, unsigned count) {
  void* parameters[] = {&factor, &x, &y, &out, &count};
  CHECK(cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "driver_fatbin", 30'000);
  const std::size_t count = run.size();
  const std::size_t bytes = count * sizeof(float);
  const auto n = static_cast<unsigned>(count);
  program::Numbers numbers(15);
  const std::vector<float> x = numbers.units(count);
  const std::vector<float> y = numbers.units(count);

  CHECK(cuInit(0));
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  {
    const std::vector<char> image = program::file_beside_program("driver_kernels.fatbin");  // freed after the loads
    CHECK(cuModuleLoadFatBinary(&module, image.data()));
    CHECK(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "saxpy"));
  CUkernel kernel = nullptr;
  CHECK(cuLibraryGetKernel(&kernel, library, "saxpy"));
  CUfunction of_kernel = nullptr;
  CHECK(cuKernelGetFunction(&of_kernel, kernel));

  CUdeviceptr memory[3] = {};
  for (CUdeviceptr& array : memory) CHECK(cuMemAlloc(&array, bytes));
  CHECK(cuMemcpyHtoD(memory[0], x.data(), bytes));
  CHECK(cuMemcpyHtoD(memory[1], y.data(), bytes));
  saxpy(function, 2.0F, memory[0], memory[1], memory[2], n);
  saxpy(reinterpret_cast<CUfunction>(kernel), 0.5F, memory[2], memory[1], memory[2], n);
  saxpy(of_kernel, -1.0F, memory[2], memory[0], memory[1], n);
  CHECK(cuCtxSynchronize());
  std::vector<float> out(count);
  CHECK(cuMemcpyDtoH(out.data(), memory[1], bytes));
  const std::vector<float> second = program::host_saxpy(0.5F, program::host_saxpy(2.0F, x, y), y);
  run.expect_equal("out", out, program::host_saxpy(-1.0F, second, x));

  for (const CUdeviceptr array : memory) CHECK(cuMemFree(array));
  CHECK(cuLibraryUnload(library));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return run.finish();
}
