#include "tools/simgpu/exec/address.h"

#include <sys/mman.h>

namespace tessera::simgpu {
namespace {

Windows reserve() {
#ifdef __SANITIZE_THREAD__  // ThreadSanitizer lets a program have only the top of the address space
  constexpr std::uint64_t wanted = 0x7e90'0000'0000;
#else
  constexpr std::uint64_t wanted = 0x1fff'0000'0000;
#endif
  constexpr std::uint64_t size = 3 * window_bytes;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* got = ::mmap(reinterpret_cast<void*>(wanted), size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) got = ::mmap(nullptr, size, PROT_NONE, flags, -1, 0);
  // Without any address space left, addresses that no host object can have still work.
  const std::uint64_t base = got == MAP_FAILED ? std::uint64_t{1} << 60 : reinterpret_cast<std::uint64_t>(got);
  return {.shared = base, .local = base + window_bytes, .param = base + 2 * window_bytes, .begin = base, .end = base + size};
}

}  // namespace

const Windows& windows() {
  static const Windows made = reserve();
  return made;
}

}  // namespace tessera::simgpu
