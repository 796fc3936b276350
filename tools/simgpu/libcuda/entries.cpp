// The exported names as addresses, and the ones that aren't offered. No CUDA header here: the names alone count.
#include <atomic>

#include "profiles/base/log.h"

namespace {

constexpr int error_not_supported = 801;  // CUDA_ERROR_NOT_SUPPORTED

template <typename Tag>
int refuse(const char* name) noexcept {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) tessera::log::warn("simulated driver: {} is not offered (CUDA_ERROR_NOT_SUPPORTED)", name);
  return error_not_supported;
}

}  // namespace

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))
#define SIM_DEFINE_implemented(symbol) extern "C" int symbol();
#define SIM_DEFINE_not_supported(symbol) \
  SIM_EXPORT int symbol() noexcept {     \
    struct Tag;                          \
    return refuse<Tag>(#symbol);         \
  }
#define SIM_API(symbol, stem, since, variant, status) SIM_DEFINE_##status(symbol)
#include "tools/simgpu/libcuda/api.def"
#undef SIM_API

#define SIM_API(symbol, stem, since, variant, status)                              \
  extern "C" __attribute__((visibility("hidden"))) void* const sim_entry_##symbol; \
  void* const sim_entry_##symbol = reinterpret_cast<void*>(&symbol);
#include "tools/simgpu/libcuda/api.def"
#undef SIM_API
