// The simulated runtime's table against the real library's exports, and the codes of both APIs.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Row {
  const char* symbol;
  bool implemented;
};
constexpr bool implemented = true, not_supported = false;
const Row rows[] = {
#define RUNTIME_API(symbol, status) {#symbol, status},
#include "tools/simgpu/libcudart/api.def"
#undef RUNTIME_API
};

}  // namespace

TEST_CASE("every name of the table is exported with the real library's symbol version, and the refused ones refuse") {
  void* library = dlopen(TESSERA_SIMCUDART, RTLD_NOW);
  REQUIRE(library != nullptr);
  for (const Row& row : rows) {
    INFO(row.symbol);
    void* symbol = dlvsym(library, row.symbol, "libcudart.so.13");
    REQUIRE(symbol != nullptr);
    if (!row.implemented) CHECK(reinterpret_cast<cudaError_t (*)()>(symbol)() == cudaErrorNotSupported);
  }
}

TEST_CASE("the table has every function that the toolkit's own runtime exports") {
  void* real = dlopen((std::string(TESSERA_CUDA_HOME) + "/lib64/libcudart.so.13").c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (real == nullptr) {
    WARN("SKIPPED: the toolkit has no libcudart.so.13");
    return;
  }
  for (const Row& row : rows) {
    INFO(row.symbol);
    CHECK(dlsym(real, row.symbol) != nullptr);
  }
  dlclose(real);
}

TEST_CASE("errors are remembered by thread until they are taken") {
  CHECK(cudaGetLastError() == cudaSuccess);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
  CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaMalloc(&p, 0) == cudaSuccess);
  CHECK(cudaFree(nullptr) == cudaSuccess);
}

TEST_CASE("devices have the catalogue's figures and say that they are simulated") {
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  REQUIRE(count == 3);
  cudaDeviceProp p{};
  REQUIRE(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
  CHECK(std::strstr(p.name, "A100") != nullptr);
  CHECK(std::strstr(p.name, "simulated") != nullptr);
  CHECK((p.major == 8 && p.minor == 0 && p.multiProcessorCount == 108 && p.warpSize == 32));
  CHECK(p.maxThreadsDim[2] == 64);
  CHECK(cudaGetDeviceProperties(&p, 3) == cudaErrorInvalidDevice);
}

TEST_CASE("memory by the runtime: every direction, and what pointers are") {
  std::vector<int> host(256, 5), back(256);
  int *a = nullptr, *b = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&a), 1024) == cudaSuccess);
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&b), 1024) == cudaSuccess);
  CHECK(cudaMemcpy(a, host.data(), 1024, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemcpy(b, a, 1024, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemset(b, 0, 4) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), b, 1024, cudaMemcpyDeviceToHost) == cudaSuccess);
  host[0] = 0;
  CHECK(back == host);
  CHECK(cudaMemcpy(back.data(), b, 1028, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(back.data(), b, 4, static_cast<cudaMemcpyKind>(7)) == cudaErrorInvalidMemcpyDirection);
  cudaPointerAttributes attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, a) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(cudaPointerGetAttributes(&attributes, host.data()) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(a) == cudaErrorInvalidValue);
  CHECK(cudaFree(b) == cudaSuccess);
}

TEST_CASE("host functions run, unregistered kernels are refused, entry points are found by version") {
  int called = 0;
  CHECK(cudaLaunchHostFunc(
            nullptr, [](void* p) { ++*static_cast<int*>(p); }, &called) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(called == 1);
  CHECK(cudaLaunchKernel(&called, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult status;
  CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, cudaEnableDefault, &status) == cudaSuccess);
  CHECK((entry != nullptr && status == cudaDriverEntryPointSuccess));
  CHECK(cudaGetDriverEntryPointByVersion("cuNothing", &entry, 12000, cudaEnableDefault, &status) == cudaSuccess);
  CHECK(status == cudaDriverEntryPointSymbolNotFound);
}
