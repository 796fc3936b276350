// The driver API by a direct link: PTX text inside the executable, all three ways to pass parameters, module variables.
#include <cstddef>

#include "driver_check.h"

// driver_kernels.ptx, with the NUL that ends PTX text.
extern "C" const char embedded_ptx[];
__asm__(
    ".section .rodata\n"
    ".global embedded_ptx\n"
    "embedded_ptx: .incbin \"" TESSERA_PROGRAMS_PTX
    "\"\n"
    ".byte 0\n"
    ".previous\n");

static CUdeviceptr upload(const std::vector<float>& values) {
  CUdeviceptr device = 0;
  CHECK(cuMemAlloc(&device, values.size() * sizeof(float)));
  CHECK(cuMemcpyHtoD(device, values.data(), values.size() * sizeof(float)));
  return device;
}

static std::vector<float> download(CUdeviceptr device, std::size_t count) {
  std::vector<float> values(count);
  CHECK(cuMemcpyDtoH(values.data(), device, count * sizeof(float)));
  return values;
}

static void launch_by_array(CUfunction saxpy, unsigned blocks, float factor, CUdeviceptr x, CUdeviceptr y, CUdeviceptr out,
                            unsigned count) {
  void* parameters[] = {&factor, &x, &y, &out, &count};
  CHECK(cuLaunchKernel(saxpy, blocks, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
}

static void launch_by_buffer(CUfunction saxpy, unsigned blocks, float factor, CUdeviceptr x, CUdeviceptr y, CUdeviceptr out,
                             unsigned count) {
  struct {
    float factor;
    CUdeviceptr x, y, out;
    unsigned count;
  } buffer{factor, x, y, out, count};
  std::size_t size = offsetof(decltype(buffer), count) + sizeof count;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(saxpy, blocks, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
}

static void launch_by_config(CUfunction swap, unsigned blocks, CUstream stream, CUdeviceptr values, unsigned count) {
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = 128 * sizeof(float);
  config.hStream = stream;
  void* parameters[] = {&values, &count};
  CHECK(cuLaunchKernelEx(&config, swap, parameters, nullptr));
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "driver_vector_add", 50'000);
  const std::size_t count = run.size();
  const auto n = static_cast<unsigned>(count);
  const unsigned blocks = (n + 127) / 128;
  program::Numbers numbers(13);
  const std::vector<float> x = numbers.units(count);
  const std::vector<float> y = numbers.units(count);

  CHECK(cuInit(0));
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, embedded_ptx));
  CUfunction saxpy = nullptr;
  CUfunction swap = nullptr;
  CUfunction count_launch = nullptr;
  CHECK(cuModuleGetFunction(&saxpy, module, "saxpy"));
  CHECK(cuModuleGetFunction(&swap, module, "swap_neighbours"));
  CHECK(cuModuleGetFunction(&count_launch, module, "count_launch"));

  const CUdeviceptr device_x = upload(x);
  const CUdeviceptr device_y = upload(y);
  CUdeviceptr device_out = 0;
  CHECK(cuMemAlloc(&device_out, count * sizeof(float)));
  CHECK(cuMemsetD32(device_out, 0xffffffffU, count));
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  launch_by_array(saxpy, blocks, 2.0F, device_x, device_y, device_out, n);
  launch_by_buffer(saxpy, blocks, -0.5F, device_out, device_x, device_out, n);
  launch_by_config(swap, blocks, stream, device_out, n);
  CHECK(cuStreamSynchronize(stream));
  std::vector<float> want = program::host_saxpy(-0.5F, program::host_saxpy(2.0F, x, y), x);
  for (std::size_t i = 0; i + 1 < count; i += 2) std::swap(want[i], want[i + 1]);
  run.expect_equal("out", download(device_out, count), want);

  unsigned step = 21;
  void* parameters[] = {&step};
  for (int launch = 0; launch < 2; ++launch) CHECK(cuLaunchKernel(count_launch, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  CUdeviceptr launches = 0;
  std::size_t size = 0;
  CHECK(cuModuleGetGlobal(&launches, &size, module, "launches"));
  unsigned counted = 0;
  CHECK(cuMemcpyDtoH(&counted, launches, sizeof counted));
  run.expect_equal("launches", std::vector<unsigned>{counted, static_cast<unsigned>(size)}, {42U, 4U});

  CHECK(cuStreamDestroy(stream));
  for (const CUdeviceptr memory : {device_x, device_y, device_out}) CHECK(cuMemFree(memory));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return run.finish();
}
