#include "tools/simgpu/libcudart/error_names.h"

namespace tessera::simgpu::runtime {
namespace {

struct Row {
  cudaError_t code;
  const char* name;
  const char* text;
};
constexpr Row rows[] = {
#define DRIVER_ERROR(name, text)
#define RUNTIME_ERROR(name, text) {name, #name, text},
#include "tools/simgpu/errors.def"
#undef DRIVER_ERROR
#undef RUNTIME_ERROR
};

const Row* row_of(cudaError_t code) {
  for (const Row& row : rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace

const char* error_name(cudaError_t error) noexcept {
  const Row* row = row_of(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}
const char* error_text(cudaError_t error) noexcept {
  const Row* row = row_of(error);
  return row == nullptr ? "unrecognized error code" : row->text;
}

}  // namespace tessera::simgpu::runtime
