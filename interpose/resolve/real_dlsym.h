// The C library's dlsym, which our own export hides; and which addresses are ours.
//
// Works before our constructors and those of anybody else have run, since allocators and sanitizers call dlsym that early.
// Threads: any.
#pragma once

namespace tessera::interpose {

// noexcept: only so is a call of it in a noexcept function a tail call.
using Dlsym = void* (*)(void* handle, const char* name) noexcept;

// Found by dlvsym, once. Never null on a C library that has dlsym at all.
[[nodiscard]] Dlsym real_dlsym_pointer() noexcept;
inline void* real_dlsym(void* handle, const char* name) noexcept { return real_dlsym_pointer()(handle, name); }

// Does the address lie in this library?
[[nodiscard]] bool is_ours(const void* address) noexcept;

}  // namespace tessera::interpose
