// The CUDA runtime for the test programs: every call checked, device arrays freed at the end of their scope.
// A failed call prints where it was made and what the runtime says, and ends the program with status 1.
#pragma once

#include <cuda_runtime.h>

#include "program.h"

namespace program {

inline void check_runtime(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(error), cudaGetErrorName(error));
  std::exit(1);
}

#define CHECK(call) ::program::check_runtime((call), #call, __FILE__, __LINE__)
// After a <<<…>>> launch.
#define CHECK_LAUNCH() CHECK(cudaGetLastError())

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { CHECK(cudaFree(data_)); }

  void upload(const std::vector<T>& values) { CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(count_);
    CHECK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  [[nodiscard]] T* get() const { return data_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

constexpr unsigned blocks_for(std::size_t count, unsigned block) { return static_cast<unsigned>((count + block - 1) / block); }

}  // namespace program
