// Gets the program's modules and kernels onto the helpers, when the program loads them rather than when it launches.
//
// A launch must not wait for a module load: a lazily loading driver drains the GPU for it, while something there may wait for the launch.
// Invariant: a kernel that can't run on a GPU has the reason in KernelThere::why. Threads: any; no lock of ours is held while
// the driver loads.
#pragma once

#include "interpose/engine.h"

namespace tessera::interpose::residence {

// The image was loaded for `home`; load it for every GPU that the policy may use.
void load_elsewhere(Engine& engine, ModuleRecord& module, int home);
// A handle of this kernel was given out while `home` was current (-1: none): find it on those GPUs, make it as the program has set it, and
// read its PTX for them.
void find_elsewhere(Engine& engine, KernelRecord& kernel, int home);
// The program unloads the module.
void unload_elsewhere(Engine& engine, ModuleRecord& module);
// The program set an attribute of the kernel.
void set_attribute(Engine& engine, KernelRecord& kernel, CUfunction_attribute attribute, int value);

}  // namespace tessera::interpose::residence
