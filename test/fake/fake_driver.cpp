#include "test/fake/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interpose/resolve/cuda_api.h"

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

void fake_note(const char* symbol);

namespace {

struct FakeContext {
  int device;
};
struct FakeFunction {
  bool live = false;
  FakeContext* context = nullptr;
  std::string name;
};
struct FakeModule {
  FakeContext* context = nullptr;
  std::vector<FakeFunction*> functions;
};
struct FakeKernel {
  std::string name;
};

std::recursive_mutex mutex;
bool quiet = false;
std::map<std::string, unsigned, std::less<>> calls;
std::vector<FakeLaunch> launches;
FakeContext primary[2] = {{0}, {1}};
unsigned failing_allocations[2] = {0, 0};
std::vector<std::unique_ptr<FakeFunction>> functions;  // reused at once
std::map<CUdeviceptr, std::vector<char>> memory;
thread_local std::vector<FakeContext*> stack;

FakeContext* current() { return stack.empty() ? nullptr : stack.back(); }

CUfunction new_function(FakeContext* context, const char* name) {
  auto found = std::find_if(functions.begin(), functions.end(), [](const auto& f) { return !f->live; });
  if (found == functions.end()) found = functions.insert(functions.end(), std::make_unique<FakeFunction>());
  **found = {true, context, name};
  return reinterpret_cast<CUfunction>(found->get());
}

CUresult load(CUmodule* module, const void* image) {
  const char* text = static_cast<const char*>(image);
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current()->device == 1 && std::strstr(text, "sm_90a") != nullptr) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *module = reinterpret_cast<CUmodule>(new FakeModule{current(), {}});
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction handle, unsigned shared, CUstream stream, void** params, void** extra) {
  if (quiet) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex);
  const auto found =
      std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f.get() == reinterpret_cast<FakeFunction*>(handle); });
  if (found == functions.end() || !(*found)->live) return CUDA_ERROR_INVALID_HANDLE;
  FakeLaunch made{};
  made.device = (*found)->context != nullptr ? (*found)->context->device : current()->device;
  std::strncpy(made.kernel, (*found)->name.c_str(), sizeof made.kernel - 1);
  made.stream = stream;
  made.shared = shared;
  const void* first = params != nullptr ? params[0] : extra != nullptr ? extra[1] : nullptr;
  if (first != nullptr) std::memcpy(&made.first_param, first, sizeof made.first_param);
  launches.push_back(made);
  return CUDA_SUCCESS;
}

}  // namespace

void fake_note(const char* symbol) {
  if (quiet) return;
  const std::lock_guard lock(mutex);
  ++calls[symbol];
}

extern "C" unsigned fake_calls(const char* symbol) {
  const std::lock_guard lock(mutex);
  const auto found = calls.find(std::string_view(symbol));
  return found == calls.end() ? 0 : found->second;
}
extern "C" unsigned fake_launches(FakeLaunch* list, unsigned capacity) {
  const std::lock_guard lock(mutex);
  std::copy_n(launches.begin(), std::min<std::size_t>(capacity, launches.size()), list);
  return static_cast<unsigned>(launches.size());
}
extern "C" void fake_reset() {
  const std::lock_guard lock(mutex);
  calls.clear();
  launches.clear();
}
extern "C" void fake_quiet() { quiet = true; }
extern "C" void fake_fail_allocations(int device, unsigned count) { failing_allocations[device] = count; }

FAKE cuInit(unsigned) {
  fake_note("cuInit");
  return std::getenv("FAKE_STUB") != nullptr ? CUDA_ERROR_STUB_LIBRARY : CUDA_SUCCESS;
}
FAKE cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetCount(int* count) {
  *count = 2;
  return CUDA_SUCCESS;
}
FAKE cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetName(char* name, int length, CUdevice device) {
  std::strncpy(name, device == 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA L40S", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? (device == 0 ? 9 : 8)
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? (device == 0 ? 0 : 9)
                                                                       : 0;
  return CUDA_SUCCESS;
}
FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  fake_note(device == 0 ? "retain0" : "retain1");
  *context = reinterpret_cast<CUcontext>(&primary[device]);
  return CUDA_SUCCESS;
}
FAKE cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}
FAKE cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current());
  return CUDA_SUCCESS;
}
FAKE cuCtxSetCurrent(CUcontext context) {
  stack.assign(1, reinterpret_cast<FakeContext*>(context));
  return CUDA_SUCCESS;
}
FAKE cuCtxPushCurrent_v2(CUcontext context) {
  stack.push_back(reinterpret_cast<FakeContext*>(context));
  return CUDA_SUCCESS;
}
FAKE cuCtxPopCurrent_v2(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current());
  stack.pop_back();
  return CUDA_SUCCESS;
}
FAKE cuCtxGetDevice(CUdevice* device) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current()->device;
  return CUDA_SUCCESS;
}

FAKE cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  fake_note("cuMemAlloc_v2");
  const std::lock_guard lock(mutex);
  if (failing_allocations[current()->device] > 0) {
    --failing_allocations[current()->device];
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::vector<char> block(bytes + 512);
  *pointer = (reinterpret_cast<CUdeviceptr>(block.data()) + 255) & ~CUdeviceptr{255};
  memory[*pointer] = std::move(block);
  return CUDA_SUCCESS;
}
FAKE cuMemFree_v2(CUdeviceptr pointer) {
  fake_note("cuMemFree_v2");
  const std::lock_guard lock(mutex);
  return memory.erase(pointer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuMemcpyPeerAsync(CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, std::size_t bytes, CUstream) {
  fake_note("cuMemcpyPeerAsync");
  std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes);
  return CUDA_SUCCESS;
}
FAKE cuMemcpyDtoH_v2(void* target, CUdeviceptr source, std::size_t bytes) {
  fake_note("cuMemcpyDtoH_v2");
  std::memcpy(target, reinterpret_cast<const void*>(source), bytes);
  return CUDA_SUCCESS;
}

FAKE cuModuleLoadData(CUmodule* module, const void* image) {
  fake_note("cuModuleLoadData");
  return load(module, image);
}
FAKE cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  fake_note("cuModuleLoadDataEx");
  return load(module, image);
}
FAKE cuModuleUnload(CUmodule module) {
  fake_note("cuModuleUnload");
  const std::lock_guard lock(mutex);
  auto* gone = reinterpret_cast<FakeModule*>(module);
  for (FakeFunction* function : gone->functions) function->live = false;
  delete gone;
  return CUDA_SUCCESS;
}
FAKE cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  fake_note("cuModuleGetFunction");
  const std::lock_guard lock(mutex);
  auto* of = reinterpret_cast<FakeModule*>(module);
  *function = new_function(of->context, name);
  of->functions.push_back(reinterpret_cast<FakeFunction*>(*function));
  return CUDA_SUCCESS;
}
FAKE cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  fake_note("cuLibraryLoadData");
  *library = reinterpret_cast<CUlibrary>(new FakeModule);
  return CUDA_SUCCESS;
}
FAKE cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  fake_note("cuLibraryGetKernel");
  const std::lock_guard lock(mutex);
  *kernel = reinterpret_cast<CUkernel>(new_function(nullptr, name));
  return CUDA_SUCCESS;
}
FAKE cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  fake_note("cuKernelGetFunction");
  const std::lock_guard lock(mutex);
  *function = new_function(current(), reinterpret_cast<FakeFunction*>(kernel)->name.c_str());
  return CUDA_SUCCESS;
}
FAKE cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  fake_note("cuFuncSetAttribute");
  const bool on_second = reinterpret_cast<FakeFunction*>(function)->context->device == 1;
  return on_second && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > 65536 ? CUDA_ERROR_INVALID_VALUE
                                                                                                    : CUDA_SUCCESS;
}

FAKE cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, CUstream stream,
                    void** params, void** extra) {
  fake_note("cuLaunchKernel");
  return launch(f, shared, stream, params, extra);
}
FAKE cuLaunchKernel_ptsz(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, CUstream stream,
                         void** params, void** extra) {
  fake_note("cuLaunchKernel_ptsz");
  return launch(f, shared, stream, params, extra);
}
FAKE cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  fake_note("cuLaunchKernelEx");
  return launch(f, config->sharedMemBytes, config->hStream, params, extra);
}

FAKE cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new int(0));
  return CUDA_SUCCESS;
}
FAKE cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
FAKE cuEventQuery(CUevent) { return CUDA_SUCCESS; }
FAKE cuEventSynchronize(CUevent) {
  fake_note("cuEventSynchronize");
  return CUDA_SUCCESS;
}
FAKE cuStreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }
FAKE cuStreamCreateWithPriority(CUstream* stream, unsigned, int) {
  *stream = reinterpret_cast<CUstream>(new int(0));
  return CUDA_SUCCESS;
}
FAKE cuStreamGetCtx(CUstream, CUcontext* context) { return cuCtxGetCurrent(context); }

FAKE cuGetProcAddress_v2(const char* stem, void** answer, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  fake_note("cuGetProcAddress_v2");
  const char* symbol = fake_answer(stem, version, flags);
  *answer = symbol == nullptr ? nullptr : fake_address(symbol);
  if (status != nullptr) *status = symbol == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return symbol == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
FAKE cuGetProcAddress(const char* stem, void** answer, int version, cuuint64_t flags) {
  fake_note("cuGetProcAddress");
  return cuGetProcAddress_v2(stem, answer, version, flags, nullptr);
}
FAKE cuGetExportTable(const void** table, const CUuuid* id) {
  static const int known = 0;
  *table = id->bytes[0] == 1 ? &known : nullptr;
  return *table != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
