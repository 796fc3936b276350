#include "interpose/resolve/real_dlsym.h"

#include <dlfcn.h>

#include <atomic>

namespace tessera::interpose {
namespace {

std::atomic<Dlsym> found{nullptr};

void* no_dlsym(void*, const char*) noexcept { return nullptr; }

}  // namespace

Dlsym real_dlsym_pointer() noexcept {
  if (Dlsym known = found.load(std::memory_order_acquire)) return known;
  Dlsym pointer = nullptr;
  // glibc's versions of dlsym: since libdl was merged, x86-64, AArch64.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    pointer = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version));
    if (pointer != nullptr) break;
  }
  if (pointer == nullptr) pointer = &no_dlsym;
  found.store(pointer, std::memory_order_release);
  return pointer;
}

bool is_ours(const void* address) noexcept {
  Dl_info theirs{}, ours{};
  if (dladdr(address, &theirs) == 0 || dladdr(reinterpret_cast<const void*>(&real_dlsym_pointer), &ours) == 0) return false;
  return theirs.dli_fbase == ours.dli_fbase;
}

}  // namespace tessera::interpose
