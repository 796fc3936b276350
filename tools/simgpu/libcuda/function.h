// Kernel handles: a CUfunction belongs to a context's module, a CUkernel to a library; launches take either.
#pragma once

#include "tools/simgpu/libcuda/driver.h"

namespace tessera::simgpu {

// The library's module in this context, loaded on first use; nullptr with the code to return.
[[nodiscard]] Module* instance_of(Library& library, Context& context, CUresult& error);

// What a CUfunction, or a CUkernel cast to one, means in this context; nullptr with the code to return.
[[nodiscard]] Function* function_of(const void* handle, Context& context, CUresult& error);

}  // namespace tessera::simgpu
