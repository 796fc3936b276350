// Loads, stores, atomics.
#include <fmt/core.h>

#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {
namespace {

using ptx::Modifier;
using ptx::Space;

bool is_shared(Space s) { return s == Space::shared || s == Space::shared_cta || s == Space::shared_cluster; }
bool reaches_global(Space s) { return s == Space::global || s == Space::generic || s == Space::const_; }

}  // namespace

// The address operand: its register, offset, and what its base says about the space (form.space is narrowed).
bool FunctionDecoder::address(const ptx::Operand& o, Form& form, Op& op) {
  if (o.kind == ptx::OperandKind::compound) return address(function_.children_of(o)[0], form, op);
  if (o.kind != ptx::OperandKind::address) return fail("the operand isn't an address");
  op.imm = o.value;
  switch (o.base_kind) {
    case ptx::BaseKind::none:
    case ptx::BaseKind::immediate:
      return true;
    case ptx::BaseKind::reg: {
      const ptx::RegisterDecl& decl = function_.decl_of(o.ref);
      op.a = register_slot(o.ref, o.component);
      if (ptx::bytes_of(decl.type) == 8) op.y |= 1u;
      if (form.space == Space::param || form.space == Space::param_func || form.space == Space::param_entry) {
        form.space = function_.is_entry && form.space != Space::param_func ? Space::param : Space::local;
      }
      return true;
    }
    case ptx::BaseKind::variable:
      break;
  }
  if (const auto local = local_offset(o)) {
    op.imm += *local;
    form.space = Space::param_func;  // relative to the activation, see FrameSpace
    return true;
  }
  const ptx::Variable& v = builder_.module().variable_of(function_, o);
  if (o.symbol_space == ptx::SymbolSpace::parameter) {
    op.imm += v.offset;
    form.space = Space::param_entry;
    return true;
  }
  if (is_shared(v.space)) {
    op.imm += builder_.footprint().shared.at(&v);
    form.space = Space::shared;
    return true;
  }
  const auto base = builder_.address_of(v);
  if (!base) return fail(fmt::format("variable {} has no address on this device", builder_.module().text(v.name)));
  op.imm += *base;
  if (form.space == Space::generic) form.space = Space::global;
  return true;
}

std::vector<ptx::Operand> FunctionDecoder::elements_of(const ptx::Operand& o) const {
  if (o.kind == ptx::OperandKind::vector) {
    const auto children = function_.children_of(o);
    return {children.begin(), children.end()};
  }
  std::vector<ptx::Operand> parts;
  if (o.kind != ptx::OperandKind::reg || o.component != ptx::no_component) return parts;
  const unsigned count = function_.decl_of(o.ref).vector;
  for (unsigned i = 0; count > 1 && i < count; ++i) {
    parts.push_back(o);
    parts.back().component = static_cast<std::uint8_t>(i);
  }
  return parts;
}

// The registers of {a, b, …} into Code::lists.
bool FunctionDecoder::vector_list(const ptx::Operand& o, ptx::Type type, unsigned bytes, bool write, Op& op) {
  op.e.bits = static_cast<std::uint32_t>(code_.lists.size());
  const std::vector<ptx::Operand> children = elements_of(o);
  // Sources may need ops of their own and lists of their own: resolve them before they are filed.
  std::vector<Slot> slots;
  for (const ptx::Operand& child : children) {
    if (child.kind == ptx::OperandKind::sink) {
      slots.emplace_back();
      continue;
    }
    const ptx::Type declared = register_type(child);
    const ptx::Type wanted = declared == ptx::Type::none ? type : declared;
    slots.push_back(write ? destination(child, wanted) : source(child, wanted));
    if (!error_.empty()) return false;
  }
  code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
  op.count = static_cast<std::uint8_t>(slots.size());
  op.width = static_cast<std::uint8_t>(bytes * slots.size());
  return true;
}

bool FunctionDecoder::decode_memory(Form form) {
  const bool is_store = instr_->opcode == ptx::Opcode::st;
  if (operands_.size() < 2) return unsupported();
  const ptx::Operand& place = operands_[is_store ? 0 : 1];
  const ptx::Operand& value = operands_[is_store ? 1 : 0];
  const ptx::Type type = form.types[0];
  Op op;
  if (!address(place, form, op)) return false;
  const unsigned natural = ptx::bytes_of(type) == 8 ? 8 : 4;
  (is_store ? form.src_bytes : form.dst_bytes) = storage_of(value, natural);
  const Choice choice = builder_.semantics().choose(form);
  if (!choice || ptx::bytes_of(type) > 8) return unsupported();
  op.fn = choice.fn;
  op.width = static_cast<std::uint8_t>(ptx::bytes_of(type));
  op.count = 1;
  if (const std::size_t elements = elements_of(value).size(); elements != 0) {
    if (elements != form.vector) return fail("the vector has another length than the instruction says");
    if (!vector_list(value, type, ptx::bytes_of(type), !is_store, op)) return false;
    if (op.count == 1) (is_store ? op.b : op.d) = code_.lists[op.e.bits];
  } else if (is_store) {
    const ptx::Type declared = register_type(value);
    op.b = source(value, declared == ptx::Type::none ? (natural == 8 ? ptx::Type::b64 : type) : declared);
  } else {
    const ptx::Type declared = register_type(value);
    op.d = destination(value, declared == ptx::Type::none ? type : declared);
  }
  if (!error_.empty()) return false;
  if (form.space == Space::param_entry && op.imm + op.width > function_.param_bytes) return fail("a load behind the kernel's parameters");
  if (reaches_global(form.space)) op.extra = builder_.next_reach();
  if (order_shows(form)) builder_.program().ordered = true;
  emit(op);
  return true;
}

// Whether the order of blocks could show in what this instruction makes of global memory.
bool FunctionDecoder::order_shows(const Form& form) const {
  if (!reaches_global(form.space)) return false;
  if (instr_->opcode == ptx::Opcode::red || (instr_->opcode == ptx::Opcode::atom && operands_[0].kind == ptx::OperandKind::sink)) {
    const Modifier what = form.first_of({Modifier::add, Modifier::min, Modifier::max, Modifier::and_, Modifier::or_, Modifier::xor_});
    return what == Modifier::first_unknown || (what == Modifier::add && ptx::is_float(form.types[0]));
  }
  if (instr_->opcode == ptx::Opcode::atom) return true;
  return form.has(Modifier::volatile_) || form.has(Modifier::relaxed) || form.has(Modifier::acquire) || form.has(Modifier::release) ||
         form.has(Modifier::mmio);
}

// atom d, [a], b{, c};  red [a], b;
bool FunctionDecoder::decode_atomic(Form form) {
  const bool returns = instr_->opcode == ptx::Opcode::atom;
  const std::size_t at = returns ? 1 : 0;
  if (operands_.size() < at + 2 || form.vector != 1 || operands_[at + 1].kind == ptx::OperandKind::vector) return unsupported();
  Op op;
  if (!address(operands_[at], form, op)) return false;
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  const ptx::Type type = form.types[0];
  op.fn = choice.fn;
  op.width = static_cast<std::uint8_t>(ptx::bytes_of(type));
  op.count = 1;
  if (returns && operands_[0].kind != ptx::OperandKind::sink) op.d = destination(operands_[0], type);
  op.b = source(operands_[at + 1], type);
  if (form.has(Modifier::cas)) {
    if (operands_.size() < at + 3) return unsupported();
    op.c = source(operands_[at + 2], type);
  }
  if (!error_.empty()) return false;
  if (reaches_global(form.space)) op.extra = builder_.next_reach();
  if (order_shows(form)) builder_.program().ordered = true;
  emit(op);
  return true;
}

}  // namespace tessera::simgpu
