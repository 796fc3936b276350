// How programs find entry points: cuGetProcAddress in both its forms; error names; the table of what isn't offered.
#include <cstring>

#include "profiles/base/log.h"
#include "tools/simgpu/libcuda/driver.h"

using namespace tessera;
using namespace tessera::simgpu;

#define SIM_API(symbol, stem, since, variant, status) extern "C" void* const sim_entry_##symbol;
#include "tools/simgpu/libcuda/api.def"
#undef SIM_API

namespace {

enum class Variant : std::uint8_t { plain, ptsz, ptds };
struct Row {
  const char* stem;
  int since;
  Variant variant;
  void* const* entry;
};
const Row rows[] = {
#define SIM_API(symbol, stem, since, variant, status) {#stem, since, Variant::variant, &sim_entry_##symbol},
#include "tools/simgpu/libcuda/api.def"
#undef SIM_API
};

// The newest ABI that a caller of `version` knows; per-thread variants when asked for and where there is one.
CUresult look_up(const char* name, void** result, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (name == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = nullptr;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Row* best = nullptr;
  bool too_new = false;
  for (const Row& row : rows) {
    if (std::strcmp(row.stem, name) != 0 || (!per_thread && row.variant != Variant::plain)) continue;
    if (row.since > version) {
      too_new = true;
      continue;
    }
    const bool special = row.variant != Variant::plain, best_special = best != nullptr && best->variant != Variant::plain;
    if (best == nullptr || (special && !best_special) || (special == best_special && row.since > best->since)) best = &row;
  }
  if (best == nullptr) {
    if (status != nullptr && too_new) *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return CUDA_ERROR_NOT_FOUND;
  }
  *result = *best->entry;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

struct ErrorRow {
  CUresult code;
  const char* name;
  const char* text;
};
constexpr ErrorRow errors[] = {
#define DRIVER_ERROR(name, text) {name, #name, text},
#define RUNTIME_ERROR(name, text)
#include "tools/simgpu/errors.def"
#undef DRIVER_ERROR
#undef RUNTIME_ERROR
};

const ErrorRow* row_of(CUresult code) {
  for (const ErrorRow& row : errors) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace

SIM_EXPORT CUresult cuGetProcAddress(const char* name, void** result, int version, cuuint64_t flags) SIM_NOEXCEPT {
  return look_up(name, result, version, flags, nullptr);
}
SIM_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** result, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) SIM_NOEXCEPT {
  return look_up(name, result, version, flags, status);
}

SIM_EXPORT CUresult cuGetErrorName(CUresult code, const char** text) SIM_NOEXCEPT {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = row_of(code);
  *text = row == nullptr ? nullptr : row->name;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuGetErrorString(CUresult code, const char** text) SIM_NOEXCEPT {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = row_of(code);
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The driver's private tables are not imitated.
SIM_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* id) SIM_NOEXCEPT {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  log::debug("simulated driver: a private export table was asked for; there is none");
  return CUDA_ERROR_NOT_FOUND;
}

SIM_EXPORT CUresult cuProfilerStart() SIM_NOEXCEPT { return CUDA_SUCCESS; }
SIM_EXPORT CUresult cuProfilerStop() SIM_NOEXCEPT { return CUDA_SUCCESS; }
SIM_EXPORT CUresult cuProfilerInitialize(const char*, const char*, int) SIM_NOEXCEPT { return CUDA_ERROR_NOT_SUPPORTED; }
