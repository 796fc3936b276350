// mov: plain, vectors to scalars and back, vectors to vectors, functions.
#include <fmt/core.h>

#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {

using ptx::OperandKind;

bool FunctionDecoder::decode_move(const Form& form) {
  if (operands_.size() < 2) return unsupported();
  const ptx::Operand& to = operands_[0];
  const ptx::Operand& from = operands_[1];
  const ptx::Type type = form.types[0];
  const bool to_vector = to.kind == OperandKind::vector, from_vector = from.kind == OperandKind::vector;
  const bool wide = ptx::bytes_of(type) == 8;
  if (ptx::bytes_of(type) > 8) return unsupported();
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  Op op;
  if (to_vector && from_vector) {  // mov.v2.u32 {a, b}, {c, d}
    const auto targets = function_.children_of(to), sources = function_.children_of(from);
    if (targets.size() != sources.size()) return fail("vectors of different lengths");
    for (std::size_t i = 0; i < targets.size(); ++i) {
      op = Op{};
      op.fn = choice.fn;
      op.a = source(sources[i], type);
      op.d = destination(targets[i], type);
      if (!error_.empty()) return false;
      emit(op);
    }
    return true;
  }
  if (to_vector) {  // mov.b64 {lo, hi}, x
    op.a = source(from, type);
    op.fn = builder_.semantics().move_kind(MoveKind::unpack, wide);
    const unsigned bytes = ptx::bytes_of(type) / to.child_count;
    if (bytes == 8 || !vector_list(to, type, bytes, true, op)) return unsupported();
    op.width = static_cast<std::uint8_t>(bytes);
  } else if (from_vector) {
    op.fn = builder_.semantics().move_kind(MoveKind::pack, wide);
    const unsigned bytes = ptx::bytes_of(type) / from.child_count;
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
    if (from.kind == OperandKind::function) return fail("the address of a function is not simulated");
    op.fn = choice.fn;
    op.a = source(from, type);
    op.d = destination(to, type);
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

}  // namespace tessera::simgpu
