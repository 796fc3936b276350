// Branches, calls, barriers, and the other ends of straight-line code.
#include <fmt/core.h>

#include <algorithm>

#include "tools/simgpu/exec/function_address.h"
#include "tools/simgpu/exec/function_decoder.h"
#include "tools/simgpu/exec/warp.h"

namespace tessera::simgpu {
namespace {

Builtin builtin_of(std::string_view name) {
  if (name == "vprintf") return Builtin::vprintf;
  if (name == "__assertfail") return Builtin::assertfail;
  return name == "cudaGraphSetConditional" ? Builtin::set_conditional : Builtin::none;
}

// The lanes that an indirect call concerns: f = the guard, if there is one; x = negated.
void begin_choice(Warp& w, const Op& op) {
  std::uint32_t lanes = w.exec;
  if (op.f.valid()) lanes &= op.x != 0 ? ~w.predicate(op.f) : w.predicate(op.f);
  w.set_predicate(op.d, lanes);
}
void choose_callee(Warp& w, const Op& op) {
  const auto* target = w.at<const std::uint64_t>(op.a);
  const auto* address = w.at<const std::uint64_t>(op.b);
  std::uint32_t going = 0;
  for (unsigned i = 0; i < warp_size; ++i) going |= (target[i] == address[i] ? 1u : 0u) << i;
  going &= w.predicate(op.e) & w.exec;
  w.set_predicate(op.d, going);
  w.set_predicate(op.e, w.predicate(op.e) & ~going);
}
void refuse_callee(Warp& w, const Op& op) {
  if (w.exec == 0) return;
  w.fault(FaultKind::illegal_instruction, op, static_cast<unsigned>(__builtin_ctz(w.exec)),
          "an indirect call of what isn't the address of a function of this module that takes these arguments");
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

// call (ret), name, (args);  — lists may be absent. An indirect one has a register for the name, and a prototype or targets behind.
bool FunctionDecoder::decode_call() {
  CallText call;
  for (const ptx::Operand& o : operands_) {
    if (o.kind == OperandKind::list)
      (call.target == nullptr ? call.results : call.arguments) = function_.children_of(o);
    else if (call.target == nullptr)
      call.target = &o;
  }
  if (call.target == nullptr) return unsupported();
  if (call.target->kind != OperandKind::function) return decode_indirect_call(call);
  const ptx::Function* callee = builder_.module().definition_of(call.target->ref);
  if (callee == nullptr) return fail("a call of an unknown function");
  if (callee->has_body) return call_function(call, *callee, {});
  CallSite site;
  site.name = builder_.module().name_of(*callee);
  site.builtin = builtin_of(site.name);
  if (site.builtin == Builtin::none) return fail(fmt::format("function {} has no body, and the simulator doesn't provide it", site.name));
  Op op;
  op.imm = builder_.program().calls.size();
  op.control = Control::builtin;
  const CalleeParams params{callee->params, {}, {}}, returns{callee->returns, {}, {}};
  if (!match_params(call.arguments, params, false, site) || !match_params(call.results, returns, true, site)) return false;
  builder_.program().calls.push_back(std::move(site));
  emit(op);
  begin_block(instr_index_);
  return true;
}

// A call of a function with a body, by the lanes in `who` (a predicate), or those that the instruction's guard says.
bool FunctionDecoder::call_function(const CallText& call, const ptx::Function& callee, Slot who) {
  const auto index = builder_.function_index(callee);
  CallSite site;
  site.name = builder_.module().name_of(callee);
  if (!index) return fail(fmt::format("function {} was not found", site.name));
  site.function = *index;
  const Code& code = builder_.program().functions[*index];
  const CalleeParams params{callee.params, code.param_offsets, code.param_slots};
  const CalleeParams returns{callee.returns, code.return_offsets, code.return_slots};
  if (!match_params(call.arguments, params, false, site) || !match_params(call.results, returns, true, site)) return false;
  Op op;
  op.control = Control::call;
  op.imm = builder_.program().calls.size();
  op.guard = who;
  builder_.program().calls.push_back(std::move(site));
  emit(op);
  // Lanes that return at different times meet here again.
  begin_block(instr_index_);
  return true;
}

// Whether the function takes and gives what the call does, by number and size.
bool FunctionDecoder::fits(const CallText& call, const ptx::Function& callee) const {
  const auto same = [&](Operands caller, const std::vector<ptx::Variable>& variables) {
    if (caller.size() != variables.size()) return false;
    for (std::size_t i = 0; i < caller.size(); ++i) {
      const bool in_memory = caller[i].kind == OperandKind::variable;
      if (in_memory != (variables[i].space != ptx::Space::reg)) return false;
      if (in_memory && builder_.module().variable_of(function_, caller[i]).size() != variables[i].size()) return false;
    }
    return true;
  };
  return same(call.arguments, callee.params) && same(call.results, callee.returns);
}

// Each function that fits is called by the lanes whose register holds its address; a lane that none of them takes has a wrong one.
// The lanes are told apart before the first call. Op of such a choice: a = register, b = address, d = the lanes that go, e = those left.
bool FunctionDecoder::decode_indirect_call(const CallText& call) {
  const Slot target = source(*call.target, ptx::Type::b64);
  if (!error_.empty()) return false;
  std::vector<std::pair<const ptx::Function*, Slot>> choices;
  const Slot left = scratch_predicate();
  Op all;
  all.fn = begin_choice;
  all.d = left;
  if (instr_->guarded) {
    all.f = register_slot(instr_->guard, ptx::no_component);
    all.x = instr_->guard_negated ? 1 : 0;
  }
  emit_for_all(all);
  for (const ptx::Function* callee : address_taken(builder_.module())) {
    if (!fits(call, *callee)) continue;
    Op choice;
    choice.fn = choose_callee;
    choice.a = target;
    choice.b = builder_.literal(builder_.address_of(*callee), 8);
    choice.d = scratch_predicate();
    choice.e = left;
    emit_for_all(choice);
    choices.emplace_back(callee, choice.d);
  }
  Op wrong;
  wrong.fn = refuse_callee;
  wrong.a = target;
  wrong.guard = left;
  emit(wrong);
  for (const auto& [callee, who] : choices) {
    if (!call_function(call, *callee, who)) return false;
  }
  return true;
}

// An op that the instruction's guard doesn't switch off.
void FunctionDecoder::emit_for_all(Op op) {
  op.instr = instr_index_;
  code_.ops.push_back(op);
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
