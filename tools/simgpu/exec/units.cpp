#include "tools/simgpu/exec/units.h"

#include <array>

namespace tessera::simgpu {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

struct MmaShape {
  Modifier modifier;
  std::uint32_t m, n, k;
};
constexpr std::array<MmaShape, 15> mma_shapes{{{Modifier::m16n8k16, 16, 8, 16},
                                               {Modifier::m16n8k8, 16, 8, 8},
                                               {Modifier::m16n8k4, 16, 8, 4},
                                               {Modifier::m8n8k4, 8, 8, 4},
                                               {Modifier::m16n8k32, 16, 8, 32},
                                               {Modifier::m8n8k16, 8, 8, 16},
                                               {Modifier::m8n8k32, 8, 8, 32},
                                               {Modifier::m16n16k16, 16, 16, 16},
                                               {Modifier::m8n32k16, 8, 32, 16},
                                               {Modifier::m32n8k16, 32, 8, 16},
                                               {Modifier::m16n16k8, 16, 16, 8},
                                               {Modifier::m16n8k64, 16, 8, 64},
                                               {Modifier::m8n8k128, 8, 8, 128},
                                               {Modifier::m16n8k128, 16, 8, 128},
                                               {Modifier::m16n8k256, 16, 8, 256}}};

void add_tensor(const Form& form, BlockCost& cost) {
  const Type input = form.type_count > 1 ? form.types[1] : form.types[0];
  TensorType type = TensorType::f16;
  if (input == Type::bf16) type = TensorType::bf16;
  if (input == Type::tf32) type = TensorType::tf32;
  if (input == Type::f64) type = TensorType::f64;
  if (input == Type::s8 || input == Type::u8) type = TensorType::i8;
  for (const MmaShape& shape : mma_shapes) {
    if (form.has(shape.modifier)) cost.tensor[static_cast<unsigned>(type)] += std::uint64_t{shape.m} * shape.n * shape.k;
  }
}

Unit unit_of(const Form& form) {
  const ptx::OpcodeRow& row = ptx::row_of(form.opcode);
  if (row.control != ptx::ControlEffect::none) return Unit::control;
  if (row.memory != ptx::MemoryEffect::none) return Unit::memory;
  switch (form.opcode) {
    case Opcode::cvt:
      return Unit::convert;
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::lg2:
    case Opcode::ex2:
    case Opcode::tanh:
    case Opcode::rsqrt:
      return Unit::special;
    case Opcode::rcp:
    case Opcode::sqrt:
    case Opcode::div:
      if (form.types[0] == Type::f32) return Unit::special;
      break;
    case Opcode::membar:
    case Opcode::fence:
      return Unit::memory;
    default:
      break;
  }
  switch (form.types[0]) {
    case Type::f64:
      return Unit::fp64;
    case Type::f32:
    case Type::f32x2:
      return form.opcode == Opcode::mov || form.opcode == Opcode::selp ? Unit::integer : Unit::fp32;
    case Type::f16:
    case Type::bf16:
    case Type::f16x2:
    case Type::bf16x2:
      return Unit::fp16;
    default:
      return Unit::integer;
  }
}

}  // namespace

void add_cost(const Form& form, BlockCost& cost) {
  if (form.opcode == Opcode::mma || (form.opcode == Opcode::wmma && form.has(Modifier::mma))) {
    add_tensor(form, cost);
    return;
  }
  const Type t = form.types[0];
  const bool packed = t == Type::f16x2 || t == Type::bf16x2 || t == Type::f32x2;
  const Unit unit = unit_of(form);
  cost.units[static_cast<unsigned>(unit)] += packed && (unit == Unit::fp16 || unit == Unit::fp32) ? 2 : 1;
}

}  // namespace tessera::simgpu
