#include "tools/simgpu/exec/footprint.h"

#include <algorithm>
#include <unordered_set>

#include "tools/simgpu/exec/function_address.h"

namespace tessera::simgpu {
namespace {

std::uint32_t align_up(std::uint32_t value, std::uint32_t to) { return (value + to - 1) / to * to; }

const ptx::Variable* variable_named_by(const ptx::Module& module, const ptx::Function& f, const ptx::Operand& o) {
  const bool names =
      o.kind == ptx::OperandKind::variable || (o.kind == ptx::OperandKind::address && o.base_kind == ptx::BaseKind::variable);
  return names ? &module.variable_of(f, o) : nullptr;
}

}  // namespace

Footprint footprint_of(const ptx::Module& module, const ptx::Function& kernel) {
  Footprint out;
  std::unordered_set<const ptx::Function*> seen{&kernel};
  std::vector<const ptx::Variable*> unsized;
  out.functions.push_back(&kernel);
  std::uint32_t dynamic_alignment = 16;
  for (std::size_t i = 0; i < out.functions.size(); ++i) {
    const ptx::Function& f = *out.functions[i];
    if (calls_indirectly(f)) {
      for (const ptx::Function* callee : address_taken(module)) {
        if (seen.insert(callee).second) out.functions.push_back(callee);
      }
    }
    for (const ptx::Operand& o : f.operands) {
      if (o.kind == ptx::OperandKind::function) {
        const ptx::Function* callee = module.definition_of(o.ref);
        if (callee != nullptr && callee->has_body && seen.insert(callee).second) out.functions.push_back(callee);
        continue;
      }
      const ptx::Variable* v = variable_named_by(module, f, o);
      if (v == nullptr || (v->space != ptx::Space::shared && v->space != ptx::Space::shared_cta) || out.shared.contains(v)) continue;
      if (v->size() == 0) {
        dynamic_alignment = std::max(dynamic_alignment, v->alignment());
        unsized.push_back(v);
        out.shared.emplace(v, 0);
        continue;
      }
      const std::uint32_t offset = align_up(out.static_shared, v->alignment());
      out.shared.emplace(v, offset);
      out.static_shared = offset + static_cast<std::uint32_t>(v->size());
    }
  }
  out.dynamic_base = align_up(out.static_shared, dynamic_alignment);
  for (const ptx::Variable* v : unsized) out.shared[v] = out.dynamic_base;
  return out;
}

}  // namespace tessera::simgpu
