#include "tools/simgpu/exec/form.h"

#include <algorithm>

namespace tessera::simgpu {
namespace {

Rounding rounding_of(ptx::Modifier m) {
  switch (m) {
    case ptx::Modifier::rn:
      return Rounding::rn;
    case ptx::Modifier::rz:
      return Rounding::rz;
    case ptx::Modifier::rm:
      return Rounding::rm;
    case ptx::Modifier::rp:
      return Rounding::rp;
    case ptx::Modifier::rna:
      return Rounding::rna;
    case ptx::Modifier::rni:
      return Rounding::rni;
    case ptx::Modifier::rzi:
      return Rounding::rzi;
    case ptx::Modifier::rmi:
      return Rounding::rmi;
    case ptx::Modifier::rpi:
      return Rounding::rpi;
    default:
      return Rounding::none;
  }
}

}  // namespace

bool Form::has(ptx::Modifier m) const { return function->has(*instr, m); }

ptx::Modifier Form::first_of(std::initializer_list<ptx::Modifier> list) const {
  for (const ptx::Modifier m : function->modifiers_of(*instr)) {
    if (std::find(list.begin(), list.end(), m) != list.end()) return m;
  }
  return ptx::Modifier::first_unknown;
}

Form form_of(const ptx::Function& function, const ptx::Instr& instr) {
  Form f;
  f.function = &function;
  f.instr = &instr;
  f.opcode = instr.opcode;
  f.types.fill(ptx::Type::none);
  f.space = function.space_of(instr);
  f.vector = function.vector_of(instr);
  for (const ptx::Modifier m : function.modifiers_of(instr)) {
    const ptx::Type type = ptx::type_of_modifier(m);
    if (type != ptx::Type::none && f.type_count < f.types.size()) f.types[f.type_count++] = type;
    if (f.rounding == Rounding::none) f.rounding = rounding_of(m);
    f.ftz |= m == ptx::Modifier::ftz;
    f.sat |= m == ptx::Modifier::sat;
  }
  return f;
}

}  // namespace tessera::simgpu
