// What a kernel reaches: the functions that it calls, directly or not, and where the shared variables that they name lie.
//
// Sized variables come first, unsized (dynamic) ones all begin behind them. Threads: pure function.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::simgpu {

struct Footprint {
  std::vector<const ptx::Function*> functions;  // the kernel first; definitions only; all that an indirect call may reach
  std::unordered_map<const ptx::Variable*, std::uint32_t> shared;
  std::uint32_t static_shared = 0;  // bytes, before dynamic ones are aligned
  std::uint32_t dynamic_base = 0;
};

[[nodiscard]] Footprint footprint_of(const ptx::Module& module, const ptx::Function& kernel);

}  // namespace tessera::simgpu
