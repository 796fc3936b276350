// Exchange between lanes and matrix instructions.
#include <fmt/core.h>

#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

// Op: d, e = d|p; a, b, c = sources; f = lane mask (none for the forms without .sync).
std::optional<bool> FunctionDecoder::decode_warp(const Form& form) {
  const Opcode opcode = instr_->opcode;
  const bool is_barrier = (opcode == Opcode::bar || opcode == Opcode::barrier) && form.has(Modifier::warp);
  switch (opcode) {
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
    case Opcode::activemask:
    case Opcode::elect:
      break;
    default:
      if (!is_barrier) return std::nullopt;
  }
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  const bool sync = form.has(Modifier::sync) && opcode != Opcode::activemask;
  Op op;
  op.fn = choice.fn;
  op.x = choice.x;
  op.control = sync ? Control::warp_sync : Control::none;
  Operands rest = operands_;
  if (!is_barrier) {
    if (rest.empty()) return unsupported();
    const Type d = choice.shape[0];
    if (rest[0].kind == ptx::OperandKind::pair) {
      const auto children = function_.children_of(rest[0]);
      op.d = destination(children[0], d);
      op.e = destination(children[1], Type::pred);
    } else {
      op.d = destination(rest[0], d);
    }
    rest = rest.subspan(1);
  }
  if (sync) {
    if (rest.empty()) return unsupported();
    op.f = source(rest.back(), Type::b32);
    rest = rest.first(rest.size() - 1);
  }
  Slot* const places[] = {&op.a, &op.b, &op.c};
  for (std::size_t i = 0; i < rest.size() && i < 3; ++i) *places[i] = source(rest[i], choice.shape[i + 1]);
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

// mma d, a, b, c: all vectors, in one list one behind the other. ldmatrix d, [p]; stmatrix [p], d.
bool FunctionDecoder::decode_matrix(const Form& form) {
  Form narrowed = form;
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  Op op;
  op.fn = choice.fn;
  op.x = choice.x;
  op.y = 0;
  if (instr_->opcode == Opcode::mma) {
    if (operands_.size() != 4) return unsupported();
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const ptx::Operand& o = operands_[i];
      const bool vector = o.kind == ptx::OperandKind::vector;
      const Operands children = vector ? function_.children_of(o) : operands_.subspan(i, 1);
      for (const ptx::Operand& child : children) {
        const Type type = register_type(child) == Type::none ? Type::b32 : register_type(child);
        slots.push_back(i == 0 ? destination(child, type) : source(child, type));
      }
    }
    if (slots.size() != choice.imm) return fail("the fragments of mma have another number of registers than the shape says");
    op.e.bits = static_cast<std::uint32_t>(code_.lists.size());
    code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
  } else {
    const bool is_store = instr_->opcode == Opcode::stmatrix;
    if (operands_.size() < 2) return unsupported();
    if (!address(operands_[is_store ? 0 : 1], narrowed, op)) return false;
    if (narrowed.space == ptx::Space::param_func) return unsupported();
    if (narrowed.space == ptx::Space::generic) op.extra = builder_.next_reach();
    const ptx::Operand& value = operands_[is_store ? 1 : 0];
    if (value.kind == ptx::OperandKind::vector) {
      if (!vector_list(value, Type::b32, 4, !is_store, op)) return false;
    } else {
      op.e.bits = static_cast<std::uint32_t>(code_.lists.size());
      code_.lists.push_back(is_store ? source(value, Type::b32) : destination(value, Type::b32));
      op.count = 1;
    }
    op.width = 16;  // a row
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

}  // namespace tessera::simgpu
