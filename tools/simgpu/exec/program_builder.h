// What the functions of one program share while it is being decoded: literals, special registers, shared memory, call targets.
//
// Invariant: slots handed out stay valid; equal requests give equal slots. Threads: one decode at a time.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tools/simgpu/exec/code.h"
#include "tools/simgpu/exec/decode.h"
#include "tools/simgpu/exec/footprint.h"
#include "tools/simgpu/exec/function_address.h"

namespace tessera::simgpu {

class ProgramBuilder {
 public:
  ProgramBuilder(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of, const Semantics& semantics,
                 std::uint64_t code_base, Program& program);

  [[nodiscard]] const ptx::Module& module() const { return module_; }
  [[nodiscard]] const Semantics& semantics() const { return semantics_; }
  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] const Footprint& footprint() const { return footprint_; }
  [[nodiscard]] std::optional<std::uint64_t> address_of(const ptx::Variable& v) const { return address_of_(v); }

  [[nodiscard]] std::uint64_t address_of(const ptx::Function& f) const { return function_address(module_, f, code_base_); }

  // A literal of 4 or 8 bytes, the same in all lanes.
  Slot literal(std::uint64_t bits, unsigned storage);
  Slot special(ptx::SpecialReg reg, std::uint8_t component);
  // Index in Program::functions of a function of the footprint.
  [[nodiscard]] std::optional<std::uint32_t> function_index(const ptx::Function& f) const;
  std::uint32_t next_reach() { return program_.reaches++; }
  std::uint32_t new_block();
  // Lays the pool out.
  void finish();

 private:
  const ptx::Module& module_;
  const AddressOf& address_of_;
  const Semantics& semantics_;
  const std::uint64_t code_base_;
  Program& program_;
  Footprint footprint_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> literals_;
  std::uint32_t pool_bytes_ = 0;
};

}  // namespace tessera::simgpu
