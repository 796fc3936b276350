// Faults on order: each shows as the documented code at the documented place, and nowhere else.
#include <cuda.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "test/simgpu/in_child.h"

namespace {

using tessera::test::in_child;

// A file with these faults that goes with the object.
class FaultFile {
 public:
  explicit FaultFile(const std::string& text) {
    const int file = mkstemp(path_);
    REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    close(file);
  }
  FaultFile(const FaultFile&) = delete;
  FaultFile& operator=(const FaultFile&) = delete;
  ~FaultFile() { unlink(path_); }
  [[nodiscard]] std::map<std::string, std::string> environment() const { return {{"TESSERA_SIM_FAULTS", path_}}; }

 private:
  char path_[32] = "/tmp/tessera-faults-XXXXXX";
};

std::string list(const std::string& faults) { return R"({"schema_version":1,"faults":[)" + faults + "]}"; }

const char* const kernel_ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry one(.param .u64 out)
{
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], 1;
  ret;
}
)";

struct Gpu {
  CUcontext context = nullptr;
  CUfunction one = nullptr;
  CUdeviceptr memory = 0;
  explicit Gpu(int device = 0) {
    CUmodule module = nullptr;
    cuInit(0);
    cuCtxCreate(&context, nullptr, 0, device);
    cuModuleLoadData(&module, kernel_ptx);
    cuModuleGetFunction(&one, module, "one");
    cuMemAlloc(&memory, std::size_t{1} << 20);
  }
  CUresult launch() {
    void* params[] = {&memory};
    cuLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
    return cuCtxSynchronize();
  }
  float copy_ms() const {
    CUevent begin = nullptr, end = nullptr;
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    std::vector<char> host(std::size_t{1} << 20);
    cuEventRecord(begin, nullptr);
    cuMemcpyHtoD(memory, host.data(), host.size());
    cuEventRecord(end, nullptr);
    float ms = -1;
    cuEventElapsedTime(&ms, begin, end);
    return ms;
  }
};

}  // namespace

TEST_CASE("the n-th allocation fails, and only that one") {
  const FaultFile file(list(R"({"kind":"allocation","device":0,"nth":3,"count":2})"));
  CHECK(in_child(file.environment(), [] {
          const Gpu gpu;  // takes the first
          std::string codes;
          for (int i = 0; i < 5; ++i) {
            CUdeviceptr p = 0;
            codes += std::to_string(cuMemAlloc(&p, 16)) + " ";
          }
          return codes;
        }) == "0 2 2 0 0 ");
}

TEST_CASE("an ECC error at the n-th kernel stays in the context, and leaves other GPUs alone") {
  const FaultFile file(list(R"({"kind":"ecc","device":0,"nth":2})"));
  CHECK(in_child(file.environment(), [] {
          Gpu gpu, other(1);
          std::string codes;
          cuCtxSetCurrent(gpu.context);
          for (int i = 0; i < 3; ++i) codes += std::to_string(gpu.launch()) + " ";
          cuCtxSetCurrent(other.context);
          for (int i = 0; i < 3; ++i) codes += std::to_string(other.launch()) + " ";
          return codes;
        }) == "0 214 214 0 0 0 ");
}

TEST_CASE("a lost device fails whatever comes behind that time") {
  const FaultFile file(list(R"({"kind":"device_lost","device":0,"at_s":0.001})"));
  CHECK(in_child(file.environment(), [] {
          Gpu gpu;
          std::string codes = std::to_string(gpu.launch());
          for (int i = 0; i < 1000; ++i) gpu.launch();  // each takes microseconds
          CUdeviceptr p = 0;
          return codes + " " + std::to_string(gpu.launch()) + " " + std::to_string(cuMemAlloc(&p, 4));
        }) == "0 999 999");
}

TEST_CASE("a copy fails with the code that was asked for") {
  const FaultFile file(list(R"({"kind":"copy","nth":2,"code":719})"));
  CHECK(in_child(file.environment(), [] {
          const Gpu gpu;
          unsigned value = 0;
          std::string codes;
          for (int i = 0; i < 3; ++i) codes += std::to_string(cuMemcpyDtoH(&value, gpu.memory, 4)) + " ";
          return codes;
        }) == "0 719 719 ");
}

TEST_CASE("a slow link and a slow clock stretch times by their factor while they last") {
  const auto copy = [] { return std::to_string(Gpu().copy_ms()); };
  const float normal = std::stof(in_child({}, copy));
  const FaultFile slow(list(R"({"kind":"link","device":0,"slowdown":4})")),
      later(list(R"({"kind":"link","device":0,"slowdown":4,"from_s":10})"));
  CHECK(std::stof(in_child(slow.environment(), copy)) > 3.5f * normal);
  CHECK(std::stof(in_child(later.environment(), copy)) == normal);
}

TEST_CASE("a list of faults that can't be understood stops the driver from starting") {
  const std::string none = std::to_string(CUDA_ERROR_NO_DEVICE);
  for (const std::string& text : {std::string(), std::string("{"), list(R"({"kind":"earthquake"})"), list(R"({"kind":"ecc","nth":0})"),
                                  list(R"({"kind":"link"})"), list(R"({"kind":"copy","dev":1})"), list("7"),
                                  std::string(R"({"schema_version":2,"faults":[]})"), list(R"({"kind":"clock","slowdown":"x"})")}) {
    INFO(text);
    const FaultFile file(text);
    CHECK(in_child(file.environment(), [] { return std::to_string(cuInit(0)); }) == none);
  }
  CHECK(in_child({{"TESSERA_SIM_FAULTS", "/nonexistent.json"}}, [] { return std::to_string(cuInit(0)); }) == none);
}
