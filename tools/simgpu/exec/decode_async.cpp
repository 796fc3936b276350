// Asynchronous copies, which are done at once, and the mbarrier objects that count them.
#include "tools/simgpu/exec/function_decoder.h"
#include "tools/simgpu/exec/mbarrier.h"

namespace tessera::simgpu {

using ptx::Modifier;
using ptx::Space;

// An address as a register and an offset that is left in half.imm: a literal where the text names no register.
Slot FunctionDecoder::as_register(Op& half, bool& wide) {
  wide = (half.y & 1u) != 0;
  if (half.a.valid()) return half.a;
  const Slot slot = builder_.literal(half.imm, 8);
  half.imm = 0;
  wide = true;
  return slot;
}

// Both addresses of a copy into the op: d = to, a = from; y bits 0 and 1: wide; imm: the offsets.
bool FunctionDecoder::copy_addresses(const ptx::Operand& to_operand, Space to_space, const ptx::Operand& from_operand, Space from_space,
                                     const Form& form, Op& op) {
  Form to_form = form, from_form = form;
  Op to, from;
  to_form.space = to_space;
  from_form.space = from_space;
  if (!address(to_operand, to_form, to) || !address(from_operand, from_form, from)) return false;
  bool to_wide = false, from_wide = false;
  op.d = as_register(to, to_wide);
  op.a = as_register(from, from_wide);
  op.y = static_cast<std::uint16_t>((from_wide ? 1u : 0u) | (to_wide ? 2u : 0u));
  op.imm = (to.imm & 0xffffffffu) | from.imm << 32;
  return true;
}

bool FunctionDecoder::decode_cp(const Form& form) {
  const bool waits = form.has(Modifier::commit_group) || form.has(Modifier::wait_group) || form.has(Modifier::wait_all);
  if (waits || (form.has(Modifier::bulk) && form.has(Modifier::prefetch))) return true;  // what was copied is there
  if (form.has(Modifier::mbarrier)) return decode_copy_arrival(form);
  return form.has(Modifier::bulk) ? decode_bulk_copy(form) : decode_copy_async(form);
}

// cp.async.ca.shared.global [dst], [src], size{, src-size | ignore-src}{, cache-policy};
bool FunctionDecoder::decode_copy_async(const Form& form) {
  const Choice choice = builder_.semantics().choose(form);
  if (!choice || operands_.size() < 3 || operands_[2].kind != ptx::OperandKind::immediate) return unsupported();
  Op op;
  op.fn = choice.fn;
  if (!copy_addresses(operands_[0], Space::shared, operands_[1], Space::global, form, op)) return false;
  op.width = static_cast<std::uint8_t>(operands_[2].value);
  op.count = 1;
  if (operands_.size() > 3) {
    const ptx::Operand& o = operands_[3];
    const ptx::Type declared = register_type(o);
    if (declared == ptx::Type::pred)
      op.c = predicate(o);
    else if (ptx::bytes_of(declared) != 8)
      op.b = source(o, ptx::Type::u32);  // 64 bits: a cache policy
  }
  if (!error_.empty()) return false;
  op.extra = builder_.next_reach();
  emit(op);
  return true;
}

// cp.async.mbarrier.arrive{.noinc}.b64 [addr]; without .noinc the arrival was counted as one more first.
bool FunctionDecoder::decode_copy_arrival(Form form) {
  const Choice choice = builder_.semantics().choose(form);
  if (!choice || operands_.empty()) return unsupported();
  if (!form.has(Modifier::noinc)) return true;
  Op op;
  form.space = Space::shared;
  if (!address(operands_[0], form, op)) return false;
  op.fn = choice.fn;
  op.x = choice.x;
  op.width = 8;
  op.count = 1;
  emit(op);
  return true;
}

// cp.async.bulk.to.from{.completion} [dst], [src], size{, [mbarrier]}{, cta-mask}{, cache-policy};
bool FunctionDecoder::decode_bulk_copy(const Form& form) {
  const Choice choice = builder_.semantics().choose(form);
  const bool counted = form.has(Modifier::mbarrier_complete_tx_bytes);
  if (!choice || operands_.size() < (counted ? 4u : 3u) || form.has(Modifier::multicast_cluster) || form.has(Modifier::cp_mask))
    return unsupported();
  const bool to_global = form.has(Modifier::bulk_group);
  Op op;
  op.fn = choice.fn;
  op.width = 16;
  op.count = 1;
  if (!copy_addresses(operands_[0], to_global ? Space::global : Space::shared, operands_[1], to_global ? Space::shared : Space::global,
                      form, op))
    return false;
  op.b = source(operands_[2], ptx::Type::u32);
  if (counted) {
    Form barrier_form = form;
    Op barrier;
    bool wide = false;
    barrier_form.space = Space::shared;
    if (!address(operands_[3], barrier_form, barrier)) return false;
    op.c = as_register(barrier, wide);
    op.e = builder_.literal(barrier.imm, 4);
    op.y |= wide ? 4u : 0u;
  }
  if (!error_.empty()) return false;
  op.extra = builder_.next_reach();
  emit(op);
  return true;
}

// mbarrier.action{…}.b64 {d,} [addr]{, operand}{, hint};  mbarrier.pending_count.b64 d, state;
bool FunctionDecoder::decode_mbarrier(Form form) {
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  if (form.has(Modifier::pending_count)) return decode_plain(form, choice);
  const auto action = static_cast<MbarrierAction>(choice.x);
  const bool tests = action == MbarrierAction::test_state || action == MbarrierAction::test_parity;
  const bool gives = !operands_.empty() && operands_[0].kind != ptx::OperandKind::address;
  const std::size_t at = gives ? 1 : 0;
  if (operands_.size() <= at || (tests && (!gives || operands_.size() < 3))) return unsupported();
  Op op;
  if (!address(operands_[at], form, op)) return false;
  op.fn = choice.fn;
  op.x = choice.x;
  op.width = 8;
  op.count = 1;
  if (gives && operands_[0].kind != ptx::OperandKind::sink) op.d = destination(operands_[0], tests ? ptx::Type::pred : ptx::Type::b64);
  if (operands_.size() > at + 1) op.b = source(operands_[at + 1], action == MbarrierAction::test_state ? ptx::Type::b64 : ptx::Type::b32);
  if (!error_.empty()) return false;
  if (form.space == Space::generic) op.extra = builder_.next_reach();
  emit(op);
  return true;
}

}  // namespace tessera::simgpu
