// The driver library in this process: found when first needed, never before the program touches CUDA.
//
// A driver that is already loaded is taken, whatever path it came from; else libcuda.so.1 is loaded as the program would have.
// Invariant: looking for the driver never holds one of our locks. Threads: any.
#pragma once

#include <string>

namespace tessera::interpose::driver {

// The driver's dlopen handle, or null. Loads the driver if `load`.
[[nodiscard]] void* handle(bool load) noexcept;

// The program looked up a driver name and got `address`: the library that holds it is the driver, unless one is known.
void adopt(void* address) noexcept;

// Real dlsym on the driver; null when there is none.
[[nodiscard]] void* symbol(const char* name) noexcept;

// The file that the driver was loaded from, for messages.
[[nodiscard]] std::string path();

// Is it Tessera's simulated driver (it says so itself)?
[[nodiscard]] bool is_simulated() noexcept;

}  // namespace tessera::interpose::driver
