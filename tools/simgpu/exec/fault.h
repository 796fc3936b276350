// How a kernel ended badly: what happened, to which thread, at which line of its PTX.
//
// Invariant: text() is one line that names kernel, line, block, thread and, for accesses, address, space, width and the nearest
// allocation. Lines count from 1; 0 = unknown. Threads: a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "placement/ptx/tables.h"

namespace tessera::simgpu {

enum class FaultKind : std::uint8_t {
  illegal_address,  // out of bounds, freed, another device's, null
  misaligned_address,
  trap,                 // trap, brkpt
  assertion,            // __assertfail
  barrier_deadlock,     // every warp of the block waits for something that can't come
  stack_overflow,       // calls nested deeper than local memory allows
  illegal_instruction,  // an argument that the instruction doesn't allow at run time
};

enum class Access : std::uint8_t { none, read, write, atomic };

struct Fault {
  FaultKind kind = FaultKind::trap;
  std::string kernel;
  std::uint32_t line = 0;
  std::string instruction;  // "ld.global.f32"
  std::array<std::uint32_t, 3> block{}, thread{};
  Access access = Access::none;
  std::uint64_t address = 0;
  ptx::Space space = ptx::Space::generic;
  std::uint32_t width = 0;  // bytes of the access
  std::string nearest;      // where the address lies relative to the nearest allocation
  std::string message;      // assertion text and the like

  [[nodiscard]] std::string text() const;
};

[[nodiscard]] std::string_view text_of(FaultKind kind);

}  // namespace tessera::simgpu
