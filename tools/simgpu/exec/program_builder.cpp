#include "tools/simgpu/exec/program_builder.h"

#include <algorithm>
#include <cstring>

namespace tessera::simgpu {

ProgramBuilder::ProgramBuilder(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of,
                               const Semantics& semantics, std::uint64_t code_base, Program& program)
    : module_(module),
      address_of_(address_of),
      semantics_(semantics),
      code_base_(code_base),
      program_(program),
      footprint_(footprint_of(module, kernel)) {
  program_.module = &module;
  program_.static_shared = footprint_.dynamic_base;
}

Slot ProgramBuilder::literal(std::uint64_t bits, unsigned storage) {
  if (storage == 4) bits &= 0xffffffffu;
  const auto [it, fresh] = literals_.try_emplace({bits, storage}, pool_bytes_);
  if (fresh) pool_bytes_ += warp_size * storage;
  return Slot::of(Bank::pool, it->second);
}

Slot ProgramBuilder::special(ptx::SpecialReg reg, std::uint8_t component) {
  for (const SpecialSlot& s : program_.specials) {
    if (s.reg == reg && s.component == component) return Slot::of(Bank::special, s.offset);
  }
  const std::uint32_t offset = program_.special_bytes;
  program_.specials.push_back({reg, component, offset});
  program_.special_bytes += ptx::bits_of(reg) == 64 ? 8 * warp_size : 4 * warp_size;
  return Slot::of(Bank::special, offset);
}

std::optional<std::uint32_t> ProgramBuilder::function_index(const ptx::Function& f) const {
  const auto it = std::find(footprint_.functions.begin(), footprint_.functions.end(), &f);
  if (it == footprint_.functions.end()) return std::nullopt;
  return static_cast<std::uint32_t>(it - footprint_.functions.begin());
}

std::uint32_t ProgramBuilder::new_block() {
  program_.blocks.emplace_back();
  return static_cast<std::uint32_t>(program_.blocks.size() - 1);
}

void ProgramBuilder::finish() {
  constexpr std::size_t line = 64;
  program_.pool_storage.assign(pool_bytes_ + line, std::byte{0});
  auto start = reinterpret_cast<std::uintptr_t>(program_.pool_storage.data());
  start = (start + line - 1) / line * line;
  program_.pool = reinterpret_cast<std::byte*>(start);
  for (const auto& [key, offset] : literals_) {
    for (unsigned i = 0; i < warp_size; ++i) std::memcpy(program_.pool + offset + i * key.second, &key.first, key.second);
  }
}

}  // namespace tessera::simgpu
