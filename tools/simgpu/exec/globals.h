// The initial bytes of module variables.
//
// Threads: pure function, but for the bytes that it writes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "placement/ptx/ir.h"
#include "profiles/base/result.h"

namespace tessera::simgpu {

// Writes all of v.size() bytes at `to`: the initialiser, and zeros behind it. `symbol`: address of another variable.
[[nodiscard]] Status initialise(const ptx::Module& module, const ptx::Variable& v, std::byte* to,
                                const std::function<std::optional<std::uint64_t>(std::string_view)>& symbol);

}  // namespace tessera::simgpu
