// Operands → slots.
#include <fmt/core.h>

#include <bit>

#include "placement/ptx/print.h"
#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {
namespace {

constexpr std::uint32_t absent = ~0u;
constexpr std::uint32_t line = 64;
constexpr std::uint32_t predicates_a_line = line / 4;

unsigned storage_for(ptx::Type t) { return ptx::bytes_of(t) > 8 ? 16 : ptx::bytes_of(t) == 8 ? 8 : 4; }

bool is_shared(ptx::Space s) { return s == ptx::Space::shared || s == ptx::Space::shared_cta; }

// Special registers whose value changes while a warp runs.
bool is_clock(ptx::SpecialReg reg) {
  switch (reg) {
    case ptx::SpecialReg::clock:
    case ptx::SpecialReg::clock_hi:
    case ptx::SpecialReg::clock64:
    case ptx::SpecialReg::globaltimer:
    case ptx::SpecialReg::globaltimer_lo:
    case ptx::SpecialReg::globaltimer_hi:
      return true;
    default:
      return false;
  }
}

}  // namespace

Slot FunctionDecoder::scratch(unsigned bytes) {
  const Slot slot = Slot::of(Bank::frame, frame_bytes_);
  frame_bytes_ += bytes * warp_size;
  return slot;
}

Slot FunctionDecoder::scratch_predicate() {
  if (predicates_left_ == 0) {
    predicate_chunk_ = frame_bytes_;
    frame_bytes_ += line;
    predicates_left_ = predicates_a_line;
  }
  return Slot::of(Bank::frame, predicate_chunk_ + 4 * (predicates_a_line - predicates_left_--));
}

Slot FunctionDecoder::register_slot(ptx::Index reg, std::uint8_t component) {
  const ptx::RegisterDecl& decl = function_.decl_of(reg);
  std::uint32_t& offset = register_offset_[reg];
  if (decl.type == ptx::Type::pred) {
    if (offset == absent) offset = scratch_predicate().offset();
    return Slot::of(Bank::frame, offset);
  }
  const unsigned storage = storage_for(decl.type);
  if (offset == absent) {
    offset = frame_bytes_;
    frame_bytes_ += decl.vector * storage * warp_size;
  }
  const std::uint32_t part = component == ptx::no_component ? 0u : component;
  return Slot::of(Bank::frame, offset + part * storage * warp_size);
}

ptx::Type FunctionDecoder::register_type(const ptx::Operand& o) const {
  return o.kind == ptx::OperandKind::reg ? function_.decl_of(o.ref).type : ptx::Type::none;
}

unsigned FunctionDecoder::storage_of(const ptx::Operand& o, unsigned otherwise) const {
  if (o.kind == ptx::OperandKind::vector || o.kind == ptx::OperandKind::pair) {
    for (const ptx::Operand& child : function_.children_of(o)) {
      if (child.kind == ptx::OperandKind::reg) return storage_of(child, otherwise);
    }
    return otherwise;
  }
  const ptx::Type type = register_type(o);
  return type == ptx::Type::none || type == ptx::Type::pred ? otherwise : storage_for(type);
}

Slot FunctionDecoder::immediate(const ptx::Operand& o, ptx::Type type) {
  std::uint64_t bits = o.value;
  if (type == ptx::Type::pred) {
    const Slot slot = scratch_predicate();
    Op op;
    op.fn = builder_.semantics().move_kind(MoveKind::set_predicate, false);
    op.d = slot;
    op.imm = bits != 0 ? full_mask : 0u;
    emit(op);
    return slot;
  }
  const unsigned storage = storage_for(type);
  if (o.kind == ptx::OperandKind::float_imm) {
    const bool wide_target = type == ptx::Type::f64 || type == ptx::Type::b64;
    if (o.type == ptx::Type::f64 && storage == 4) bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (o.type == ptx::Type::f32 && wide_target)
      bits = std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  } else if (type == ptx::Type::f32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(bits)));
  } else if (type == ptx::Type::f64) {
    bits = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(bits)));
  }
  return builder_.literal(bits, storage);
}

std::optional<std::uint32_t> FunctionDecoder::local_offset(const ptx::Operand& o) const {
  switch (o.symbol_space) {
    case ptx::SymbolSpace::function_variable:
      if (variable_offset_[o.ref] == absent) return std::nullopt;
      return variable_offset_[o.ref];
    case ptx::SymbolSpace::parameter:
      if (function_.is_entry) return std::nullopt;
      return code_.param_offsets[o.ref];
    case ptx::SymbolSpace::return_parameter:
      return code_.return_offsets[o.ref];
    case ptx::SymbolSpace::module_variable:
      return std::nullopt;
  }
  return std::nullopt;
}

Slot FunctionDecoder::variable_address(const ptx::Operand& o, ptx::Type type) {
  const unsigned storage = storage_for(type);
  if (const auto local = local_offset(o)) {
    Op op;
    op.fn = builder_.semantics().move_kind(MoveKind::frame_address, storage == 8);
    op.d = scratch(storage);
    op.imm = *local + o.value;
    emit(op);
    return op.d;
  }
  const ptx::Variable& v = builder_.module().variable_of(function_, o);
  if (o.symbol_space == ptx::SymbolSpace::parameter) return builder_.literal(v.offset + o.value, storage);
  if (is_shared(v.space)) return builder_.literal(builder_.footprint().shared.at(&v) + o.value, storage);
  const auto address = builder_.address_of(v);
  if (!address) {
    fail(fmt::format("variable {} has no address on this device", builder_.module().text(v.name)));
    return {};
  }
  return builder_.literal(*address + o.value, storage);
}

Slot FunctionDecoder::special_register(const ptx::Operand& o, ptx::Type type) {
  const auto reg = static_cast<ptx::SpecialReg>(o.ref);
  const unsigned storage = storage_for(type);
  const unsigned bits = ptx::bits_of(reg);
  if ((bits == 64 ? 8u : 4u) != storage) {
    fail(fmt::format("{} has {} bits, the instruction wants {}", ptx::text_of(reg), bits, 8 * storage));
    return {};
  }
  if (!is_clock(reg)) return builder_.special(reg, o.component == ptx::no_component ? std::uint8_t{0} : o.component);
  Op op;
  op.fn = builder_.semantics().move_kind(MoveKind::clock, storage == 8);
  op.d = scratch(storage);
  op.x = reg == ptx::SpecialReg::clock_hi || reg == ptx::SpecialReg::globaltimer_hi ? 1 : 0;
  emit(op);
  return op.d;
}

Slot FunctionDecoder::predicate(const ptx::Operand& o) { return source(o, ptx::Type::pred); }

Slot FunctionDecoder::source(const ptx::Operand& o, ptx::Type type) {
  switch (o.kind) {
    case ptx::OperandKind::reg:
      break;
    case ptx::OperandKind::immediate:
    case ptx::OperandKind::float_imm:
      return immediate(o, type);
    case ptx::OperandKind::special_reg:
      return special_register(o, type);
    case ptx::OperandKind::variable:
      return variable_address(o, type);
    case ptx::OperandKind::vector:
      if (o.child_count == 1) return source(function_.children_of(o)[0], type);
      [[fallthrough]];
    default:
      fail(fmt::format("operand {} is of a kind that isn't simulated here", ptx::print_operand(builder_.module(), function_, o)));
      return {};
  }
  const ptx::Type declared = register_type(o);
  const bool fits =
      (declared == ptx::Type::pred) == (type == ptx::Type::pred) && (type == ptx::Type::pred || storage_for(declared) == storage_for(type));
  if (!fits || (o.negated && type != ptx::Type::pred)) {
    fail(fmt::format("operand {} is {}, the instruction wants {}", ptx::print_operand(builder_.module(), function_, o),
                     ptx::text_of(declared), ptx::text_of(type)));
    return {};
  }
  const Slot slot = register_slot(o.ref, o.component);
  Op op;
  if (o.value != 0) {  // %r + constant
    op.fn = builder_.semantics().move_kind(MoveKind::add_constant, storage_for(type) == 8);
    op.a = slot;
    op.d = scratch(storage_for(type));
    op.imm = o.value;
    emit(op);
    return op.d;
  }
  if (!o.negated) return slot;
  op.fn = builder_.semantics().move_kind(MoveKind::not_predicate, false);
  op.a = slot;
  op.d = scratch_predicate();
  emit(op);
  return op.d;
}

Slot FunctionDecoder::destination(const ptx::Operand& o, ptx::Type type) {
  if (o.kind == ptx::OperandKind::sink) return type == ptx::Type::pred ? scratch_predicate() : scratch(storage_for(type));
  if (o.kind == ptx::OperandKind::vector && o.child_count == 1) return destination(function_.children_of(o)[0], type);
  if (o.kind != ptx::OperandKind::reg) {
    fail(fmt::format("operand {} can't be written", ptx::print_operand(builder_.module(), function_, o)));
    return {};
  }
  return source(o, type);
}

}  // namespace tessera::simgpu
