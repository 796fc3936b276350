// cvt, and mov: plain, vectors to scalars and back, vectors to vectors, functions.
#include <fmt/core.h>

#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {

using ptx::OperandKind;

bool FunctionDecoder::decode_move(const Form& form) {
  if (operands_.size() < 2) return unsupported();
  const ptx::Operand& to = operands_[0];
  const ptx::Operand& from = operands_[1];
  const ptx::Type type = form.types[0];
  const std::vector<ptx::Operand> targets = elements_of(to), sources = elements_of(from);
  const bool to_vector = !targets.empty(), from_vector = !sources.empty();
  const bool wide = ptx::bytes_of(type) == 8;
  if (ptx::bytes_of(type) > 8) return unsupported();
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  Op op;
  if (to_vector && from_vector) {  // mov.v2.u32 {a, b}, {c, d}
    if (targets.size() != sources.size()) return fail("vectors of different lengths");
    // All are read before the first is written: the vectors may share registers.
    std::vector<Slot> read;
    for (const ptx::Operand& o : sources) {
      op = Op{};
      op.fn = choice.fn;
      op.a = source(o, type);
      op.d = scratch(wide ? 8 : 4);
      if (!error_.empty()) return false;
      emit(op);
      read.push_back(op.d);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      op = Op{};
      op.fn = choice.fn;
      op.a = read[i];
      op.d = destination(targets[i], type);
      if (!error_.empty()) return false;
      emit(op);
    }
    return true;
  }
  if (to_vector) {  // mov.b64 {lo, hi}, x
    op.a = source(from, type);
    op.fn = builder_.semantics().move_kind(MoveKind::unpack, wide);
    const unsigned bytes = ptx::bytes_of(type) / static_cast<unsigned>(targets.size());
    if (bytes == 8 || !vector_list(to, type, bytes, true, op)) return unsupported();
    op.width = static_cast<std::uint8_t>(bytes);
  } else if (from_vector) {
    op.fn = builder_.semantics().move_kind(MoveKind::pack, wide);
    const unsigned bytes = ptx::bytes_of(type) / static_cast<unsigned>(sources.size());
    if (!vector_list(from,
                     bytes == 2   ? ptx::Type::b16
                     : bytes == 1 ? ptx::Type::b8
                     : bytes == 8 ? ptx::Type::b64
                                  : ptx::Type::b32,
                     bytes, false, op))
      return false;
    op.width = static_cast<std::uint8_t>(bytes);
    op.d = destination(to, type);
  } else {
    op.fn = choice.fn;
    if (from.kind == OperandKind::function) {
      const ptx::Function* f = builder_.module().definition_of(from.ref);
      if (f == nullptr || !f->has_body) return fail("the address of a function that the module doesn't define");
      op.a = builder_.literal(builder_.address_of(*f), wide ? 8 : 4);
    } else {
      op.a = source(from, type);
    }
    op.d = destination(to, type);
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

// cvt: registers may be wider than the types. The source's low half is taken, the result extended as its type says.
bool FunctionDecoder::decode_convert(const Form& form) {
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  const ptx::Operand& to = operands_[0];
  const ptx::Operand& from = operands_[1];
  const bool narrows = storage_of(from, 4) == 8 && ptx::bytes_of(choice.shape[1]) == 4;
  const bool widens = storage_of(to, 4) == 8 && ptx::bytes_of(choice.shape[0]) == 4;
  if (operands_.size() != 2 || (!narrows && !widens)) return decode_plain(form, choice);
  Op op;
  op.fn = choice.fn;
  op.imm = choice.imm;
  op.x = choice.x;
  op.y = choice.y;
  op.a = source(from, narrows ? ptx::Type::b64 : choice.shape[1]);
  if (narrows) {
    Op half;
    half.fn = builder_.semantics().move_kind(MoveKind::low_half, true);
    half.a = op.a;
    half.d = op.a = scratch(4);
    emit(half);
  }
  op.d = widens ? scratch(4) : destination(to, choice.shape[0]);
  if (!error_.empty()) return false;
  emit(op);
  if (widens) {
    Op extend;
    extend.fn = builder_.semantics().move_kind(ptx::is_signed(form.types[0]) ? MoveKind::extend_signed : MoveKind::extend_unsigned, true);
    extend.a = op.d;
    extend.d = destination(to, ptx::Type::b64);
    emit(extend);
  }
  return error_.empty();
}

}  // namespace tessera::simgpu
