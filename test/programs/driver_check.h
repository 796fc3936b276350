// The CUDA driver API for the test programs: every call checked; files that lie beside the executable.
// A failed call prints where it was made and the error's number, and ends the program with status 1.
#pragma once

#include <cuda.h>
#include <unistd.h>

#include "program.h"

namespace program {

inline void check_driver(CUresult result, const char* call, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: %s: CUresult %d\n", file, line, call, static_cast<int>(result));
  std::exit(1);
}

#define CHECK(call) ::program::check_driver((call), #call, __FILE__, __LINE__)

// The contents of a file in the folder of the executable, followed by one NUL (as PTX text needs).
inline std::vector<char> file_beside_program(const char* name) {
  char path[4096] = {};
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  std::string full(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  full.resize(full.rfind('/') + 1);
  full += name;
  std::FILE* in = std::fopen(full.c_str(), "rb");
  if (in == nullptr) {
    std::fprintf(stderr, "can't read %s\n", full.c_str());
    std::exit(1);
  }
  std::vector<char> contents;
  char block[65536];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, in)) > 0;) contents.insert(contents.end(), block, block + got);
  std::fclose(in);
  contents.push_back('\0');
  return contents;
}

// What driver_kernels.cu computes, on the host.
inline std::vector<float> host_saxpy(float factor, const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = std::fma(factor, x[i], y[i]);
  return out;
}

}  // namespace program
