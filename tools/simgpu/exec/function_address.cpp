#include "tools/simgpu/exec/function_address.h"

#include <algorithm>
#include <atomic>

namespace tessera::simgpu {
namespace {

constexpr std::uint64_t first_base = 0x0c0de00000000000, between_modules = std::uint64_t{1} << 24, between_functions = 16;

// The operand of a call that says what is called.
const ptx::Operand* target_of(const ptx::Function& f, const ptx::Instr& call) {
  for (const ptx::Operand& o : f.operands_of(call)) {
    if (o.kind != ptx::OperandKind::list) return &o;
  }
  return nullptr;
}

}  // namespace

std::uint64_t new_code_base() {
  static std::atomic<std::uint64_t> next{first_base};
  return next.fetch_add(between_modules);
}

std::uint64_t function_address(const ptx::Module& module, const ptx::Function& function, std::uint64_t code_base) {
  return code_base + between_functions * (static_cast<std::uint64_t>(&function - module.functions.data()) + 1);
}

const ptx::Function* function_named(const ptx::Module& module, std::string_view name) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const ptx::Function& f) { return f.has_body && module.name_of(f) == name; });
  return found == module.functions.end() ? nullptr : &*found;
}

bool calls_indirectly(const ptx::Function& function) {
  return std::any_of(function.instrs.begin(), function.instrs.end(), [&](const ptx::Instr& i) {
    if (i.opcode != ptx::Opcode::call) return false;
    const ptx::Operand* target = target_of(function, i);
    return target != nullptr && target->kind != ptx::OperandKind::function;
  });
}

std::vector<const ptx::Function*> address_taken(const ptx::Module& module) {
  std::vector<const ptx::Function*> taken;
  const auto take = [&](const ptx::Function* f) {
    if (f != nullptr && f->has_body && !f->is_entry && std::find(taken.begin(), taken.end(), f) == taken.end()) taken.push_back(f);
  };
  const auto look_at = [&](const ptx::Variable& v) {
    for (const ptx::InitValue& value : v.init) {
      if (value.symbol != ptx::no_index) take(function_named(module, module.text(value.symbol)));
    }
  };
  for (const ptx::Variable& v : module.variables) look_at(v);
  for (const ptx::Function& f : module.functions) {
    for (const ptx::Variable& v : f.variables) look_at(v);
    for (const ptx::Instr& i : f.instrs) {
      if (i.opcode == ptx::Opcode::call) continue;
      for (const ptx::Operand& o : f.operands_of(i)) {
        if (o.kind == ptx::OperandKind::function) take(module.definition_of(o.ref));
      }
    }
  }
  return taken;
}

}  // namespace tessera::simgpu
