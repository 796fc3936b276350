// Branches, calls, barriers, and the other ends of straight-line code.
#include <fmt/core.h>

#include <algorithm>

#include "tools/simgpu/exec/function_decoder.h"

namespace tessera::simgpu {
namespace {

Builtin builtin_of(std::string_view name) {
  if (name == "vprintf") return Builtin::vprintf;
  if (name == "__assertfail") return Builtin::assertfail;
  return name == "cudaGraphSetConditional" ? Builtin::set_conditional : Builtin::none;
}

}  // namespace

using ptx::ControlEffect;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OperandKind;

std::optional<bool> FunctionDecoder::decode_control(const Form& form) {
  Op op;
  switch (instr_->opcode) {
    case Opcode::bra:
      return decode_branch(form);
    case Opcode::brx:
      return decode_indexed_branch();
    case Opcode::call:
      return decode_call();
    case Opcode::ret:
      op.control = Control::ret;
      break;
    case Opcode::exit:
      op.control = Control::exit;
      break;
    case Opcode::trap:
    case Opcode::brkpt:
      op.control = Control::trap;
      break;
    case Opcode::nanosleep:
      op.control = Control::yield;
      break;
    case Opcode::bar:
    case Opcode::barrier:
      if (form.has(Modifier::warp)) return std::nullopt;
      return decode_barrier(form);
    default:
      return std::nullopt;
  }
  emit(op);
  return true;
}

bool FunctionDecoder::decode_branch(const Form&) {
  if (operands_.empty() || operands_[0].kind != OperandKind::label) return unsupported();
  const ptx::Index target = function_.labels[operands_[0].ref].target;
  Op op;
  if (target >= function_.instrs.size()) {
    op.control = Control::ret;  // a label behind the last instruction
  } else {
    op.control = instr_->guarded ? Control::branch : Control::jump;
    op.imm = cfg_.block_of[target];
  }
  emit(op);
  return true;
}

bool FunctionDecoder::decode_indexed_branch() {
  if (operands_.size() < 2 || operands_[1].kind != OperandKind::proto) return unsupported();
  const ptx::Prototype& list = function_.prototypes[operands_[1].ref];
  Op op;
  op.control = Control::branch_indexed;
  op.a = source(operands_[0], ptx::Type::u32);
  op.extra = static_cast<std::uint32_t>(code_.targets.size());
  op.x = static_cast<std::uint16_t>(list.targets.size());
  for (const ptx::Index label : list.targets) {
    const ptx::Index target = function_.labels[label].target;
    if (target >= function_.instrs.size()) return fail("a branch target behind the last instruction");
    code_.targets.push_back(cfg_.block_of[target]);
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

bool FunctionDecoder::match_params(Operands caller, const CalleeParams& callee, bool results, CallSite& site) {
  if (caller.size() != callee.variables.size()) {
    return fail(fmt::format("{} arguments where the function has {}", caller.size(), callee.variables.size()));
  }
  for (std::size_t i = 0; i < caller.size(); ++i) {
    const ptx::Variable& v = callee.variables[i];
    if (v.space == ptx::Space::reg) {
      const std::uint8_t bytes = v.type == ptx::Type::pred ? 0 : ptx::bytes_of(v.type) == 8 ? 8 : 4;
      const Slot slot = results ? destination(caller[i], v.type) : source(caller[i], v.type);
      (results ? site.register_results : site.register_arguments).push_back({slot, callee.slots[i], bytes});
      continue;
    }
    const auto from = caller[i].kind == OperandKind::variable ? local_offset(caller[i]) : std::nullopt;
    if (!from) return fail("an argument of a call that isn't a .param variable");
    const std::uint32_t to = callee.offsets.empty() ? 0 : callee.offsets[i];
    (results ? site.results : site.arguments).push_back({*from, to, static_cast<std::uint32_t>(v.size())});
  }
  return error_.empty();
}

// call (ret), name, (args);  — lists may be absent.
bool FunctionDecoder::decode_call() {
  Operands results, arguments;
  const ptx::Operand* target = nullptr;
  for (const ptx::Operand& o : operands_) {
    if (o.kind == OperandKind::list)
      (target == nullptr ? results : arguments) = function_.children_of(o);
    else if (target == nullptr)
      target = &o;
  }
  if (target == nullptr || target->kind != OperandKind::function) return fail("an indirect call is not simulated");
  const ptx::Function* callee = builder_.module().definition_of(target->ref);
  if (callee == nullptr) return fail("a call of an unknown function");
  CallSite site;
  site.name = builder_.module().name_of(*callee);
  Op op;
  op.imm = builder_.program().calls.size();
  CalleeParams params{callee->params, {}, {}}, returns{callee->returns, {}, {}};
  if (callee->has_body) {
    const auto index = builder_.function_index(*callee);
    if (!index) return fail(fmt::format("function {} was not found", site.name));
    site.function = *index;
    op.control = Control::call;
    const Code& code = builder_.program().functions[*index];
    params = {callee->params, code.param_offsets, code.param_slots};
    returns = {callee->returns, code.return_offsets, code.return_slots};
  } else {
    site.builtin = builtin_of(site.name);
    if (site.builtin == Builtin::none) return fail(fmt::format("function {} has no body, and the simulator doesn't provide it", site.name));
    op.control = Control::builtin;
  }
  if (!match_params(arguments, params, false, site) || !match_params(results, returns, true, site)) return false;
  builder_.program().calls.push_back(std::move(site));
  emit(op);
  // Lanes that return at different times meet here again.
  begin_block(instr_index_);
  return true;
}

// bar{.cta}.sync a{, b};  .arrive a, b;  .red.popc.u32 d, a{, b}, p;  .red.and.pred p, a{, b}, q;
bool FunctionDecoder::decode_barrier(const Form& form) {
  Op op;
  op.control = Control::barrier;
  BarrierKind kind = BarrierKind::sync;
  std::size_t at = 0, end = operands_.size();
  if (form.has(Modifier::cluster)) return unsupported();
  if (form.has(Modifier::red)) {
    if (operands_.size() < 3) return unsupported();
    kind = form.has(Modifier::popc) ? BarrierKind::red_popc : form.has(Modifier::and_) ? BarrierKind::red_and : BarrierKind::red_or;
    op.d = destination(operands_[0], kind == BarrierKind::red_popc ? ptx::Type::u32 : ptx::Type::pred);
    op.c = predicate(operands_.back());
    at = 1;
    end -= 1;
  } else if (form.has(Modifier::arrive)) {
    kind = BarrierKind::arrive;
  }
  if (at < end) op.a = source(operands_[at], ptx::Type::u32);
  if (at + 1 < end) op.b = source(operands_[at + 1], ptx::Type::u32);
  if (!error_.empty()) return false;
  op.x = static_cast<std::uint16_t>(kind);
  emit(op);
  return true;
}

}  // namespace tessera::simgpu
