// PTX functions → decoded code: operands to slots, instructions to handlers, blocks in running order.
//
// Each kernel becomes a Program of its own: its literals, its shared memory layout, the functions that it calls.
// Error: unsupported, with the opcode, its modifiers and the line, when any instruction of the kernel or of a function that it calls isn't
// simulated. Threads: pure apart from `resolve`, which must be safe to call.
#pragma once

#include <functional>
#include <memory>

#include "placement/ptx/ir.h"
#include "profiles/base/result.h"
#include "tools/simgpu/exec/code.h"
#include "tools/simgpu/exec/semantics.h"

namespace tessera::simgpu {

// Device address of a .global or .const variable. `code_base`: where the module's functions have their addresses (function_address.h).
using AddressOf = std::function<std::optional<std::uint64_t>(const ptx::Variable&)>;

[[nodiscard]] Result<std::unique_ptr<Program>> decode(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of,
                                                      const Semantics& semantics, std::uint64_t code_base = 0);

}  // namespace tessera::simgpu
