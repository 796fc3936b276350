// dlsym as we export it.
//
// Other names, and every RTLD_NEXT, go to the real dlsym by a tail call, so that it sees the true caller (it decides by the return
// address what "next" means). This file is compiled with sibling-call optimisation in every build for that reason.
#include <dlfcn.h>

#include <string_view>

#include "interpose/resolve/driver.h"
#include "interpose/resolve/proc_address.h"
#include "interpose/resolve/real_dlsym.h"
#include "interpose/start.h"

namespace tessera::interpose {
namespace {

// The answer for a name that we hook.
[[gnu::noinline]] void* answer_hooked(void* handle, const char* name) noexcept {
  void* answered = real_dlsym(handle, name);
  if (answered == nullptr) return nullptr;
  if (is_ours(answered)) {
    // Found through the global scope. Without us it would be there only if the driver is.
    return driver::handle(false) == nullptr ? nullptr : answered;
  }
  driver::adopt(answered);
  return wrapper_for(name, answered);
}

[[gnu::always_inline]] inline bool concerns_us(void* handle, const char* name) noexcept {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && handle != RTLD_NEXT && is_hooked_symbol(name) && !start::is_inert();
}

}  // namespace
}  // namespace tessera::interpose

extern "C" __attribute__((visibility("default"))) void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
  using namespace tessera::interpose;
  if (concerns_us(handle, name)) return answer_hooked(handle, name);
  return real_dlsym_pointer()(handle, name);
}
