#include "interpose/resolve/driver.h"

#include <dlfcn.h>

#include <atomic>

#include "interpose/resolve/real_dlsym.h"

namespace tessera::interpose::driver {
namespace {

std::atomic<void*> known_handle{nullptr};

void keep(void* found) {
  void* expected = nullptr;
  if (!known_handle.compare_exchange_strong(expected, found, std::memory_order_acq_rel)) dlclose(found);
}

// A library counts as the driver when it has a cuInit of its own.
bool is_driver(void* candidate) {
  void* init = real_dlsym(candidate, "cuInit");
  return init != nullptr && !is_ours(init);
}

}  // namespace

void* handle(bool load) noexcept {
  if (void* known = known_handle.load(std::memory_order_acquire)) return known;
  for (const char* name : {"libcuda.so.1", "libcuda.so"}) {
    if (void* loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr && is_driver(loaded)) {
      keep(loaded);
      return known_handle.load(std::memory_order_acquire);
    }
  }
  if (!load) return nullptr;
  if (void* loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); loaded != nullptr && is_driver(loaded)) keep(loaded);
  return known_handle.load(std::memory_order_acquire);
}

void adopt(void* address) noexcept {
  if (known_handle.load(std::memory_order_acquire) != nullptr) return;
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
  if (void* loaded = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr && is_driver(loaded)) keep(loaded);
}

void* symbol(const char* name) noexcept {
  void* library = handle(true);
  return library == nullptr ? nullptr : real_dlsym(library, name);
}

std::string path() {
  Dl_info info{};
  void* init = symbol("cuInit");
  if (init == nullptr || dladdr(init, &info) == 0 || info.dli_fname == nullptr) return "libcuda.so.1";
  return info.dli_fname;
}

bool is_simulated() noexcept { return symbol("tessera_simulated_driver") != nullptr; }

}  // namespace tessera::interpose::driver
