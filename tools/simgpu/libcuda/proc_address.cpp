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
#define SIM_ERROR(name, text) \
  { name, #name, text }
constexpr ErrorRow errors[] = {
    SIM_ERROR(CUDA_SUCCESS, "no error"),
    SIM_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SIM_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SIM_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    SIM_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    SIM_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    SIM_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SIM_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    SIM_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    SIM_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    SIM_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    SIM_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain"),
    SIM_ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the requested execution affinity is not supported"),
    SIM_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    SIM_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SIM_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SIM_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    SIM_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    SIM_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SIM_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    SIM_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    SIM_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    SIM_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SIM_ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    SIM_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
    SIM_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    SIM_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    SIM_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    SIM_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    SIM_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SIM_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    SIM_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    SIM_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef SIM_ERROR

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
