// The addresses of functions, which nothing lies at: programs pass them on and call them.
//
// Unique among the modules of a process: a function that isn't the module's own can't be called, as its code isn't known to the kernel.
// Threads: pure functions, but for new_code_base().
#pragma once

#include <cstdint>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::simgpu {

// Where the functions of one module begin: another place for each call, the same in every run.
[[nodiscard]] std::uint64_t new_code_base();
[[nodiscard]] std::uint64_t function_address(const ptx::Module& module, const ptx::Function& function, std::uint64_t code_base);
// The definition of that name, or null.
[[nodiscard]] const ptx::Function* function_named(const ptx::Module& module, std::string_view name);
// Functions that an indirect call may reach: those whose address an instruction takes or an initialiser holds.
[[nodiscard]] std::vector<const ptx::Function*> address_taken(const ptx::Module& module);
// Whether the function calls through a register.
[[nodiscard]] bool calls_indirectly(const ptx::Function& function);

}  // namespace tessera::simgpu
