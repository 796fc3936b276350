// Exchange between lanes and matrix instructions.
#include <fmt/core.h>

#include "tools/simgpu/exec/function_decoder.h"
#include "tools/simgpu/exec/wmma.h"

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
// The registers of all operands, one after the other, into Code::lists; the first `destinations` operands are written.
bool FunctionDecoder::fragments(Operands operands, std::size_t destinations, std::uint64_t registers, Op& op) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ptx::Operand& o = operands[i];
    const Operands children = o.kind == ptx::OperandKind::vector ? function_.children_of(o) : operands.subspan(i, 1);
    for (const ptx::Operand& child : children) {
      const Type type = register_type(child) == Type::none ? Type::b32 : register_type(child);
      slots.push_back(i < destinations ? destination(child, type) : source(child, type));
    }
  }
  if (slots.size() != registers) return fail("the fragments have another number of registers than the shape says");
  op.e.bits = static_cast<std::uint32_t>(code_.lists.size());
  code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
  return true;
}

// wmma.load.x d, [p]{, stride};  wmma.store.d [p], s{, stride};  wmma.mma d, a, b, c;
bool FunctionDecoder::decode_wmma(Form form) {
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  Op op;
  op.fn = choice.fn;
  op.x = choice.x;
  if (form.has(ptx::Modifier::mma)) {
    if (operands_.size() != 4) return unsupported();
    if (!fragments(operands_, 1, choice.imm, op)) return false;
  } else {
    const bool is_store = form.has(ptx::Modifier::store);
    if (operands_.size() < 2) return unsupported();
    if (!address(operands_[is_store ? 0 : 1], form, op)) return false;
    if (!fragments(operands_.subspan(is_store ? 1 : 0, 1), is_store ? 0 : 1, choice.imm, op)) return false;
    const WmmaPlan plan{choice.x};
    const auto matrix = static_cast<WmmaMatrix>(plan.field(6, 2));
    const bool by_column = plan.field(8, 1) != 0;
    op.b = operands_.size() > 2 ? source(operands_[2], Type::b32)
                                : builder_.literal(by_column ? rows_of(plan.shape(), matrix) : columns_of(plan.shape(), matrix), 4);
    op.width = static_cast<std::uint8_t>(bytes_of(plan.type()));
    op.count = 1;
    if (form.space != ptx::Space::shared && form.space != ptx::Space::shared_cta) op.extra = builder_.next_reach();
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

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
    if (!fragments(operands_, 1, choice.imm, op)) return false;
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
