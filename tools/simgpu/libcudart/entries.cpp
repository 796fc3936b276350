// The runtime's names that aren't offered: each says so once, by name.
#include <atomic>

#include "profiles/base/log.h"

namespace {

constexpr int error_not_supported = 801;  // cudaErrorNotSupported

}  // namespace

#define RUNTIME_DEFINE_implemented(symbol)
#define RUNTIME_DEFINE_not_supported(symbol)                                                                               \
  extern "C" __attribute__((visibility("default"))) int symbol() noexcept {                                                \
    static std::atomic<bool> said{false};                                                                                  \
    if (!said.exchange(true)) tessera::log::warn("simulated runtime: {} is not offered (cudaErrorNotSupported)", #symbol); \
    return error_not_supported;                                                                                            \
  }
#define RUNTIME_API(symbol, status) RUNTIME_DEFINE_##status(symbol)
#include "tools/simgpu/libcudart/api.def"
#undef RUNTIME_API
