#include "tools/simgpu/exec/decode.h"

#include <fmt/core.h>

#include <algorithm>

#include "placement/ptx/print.h"
#include "tools/simgpu/exec/function_decoder.h"
#include "tools/simgpu/exec/order.h"
#include "tools/simgpu/exec/units.h"

namespace tessera::simgpu {
namespace {

constexpr std::uint32_t absent = ~0u;
constexpr std::uint32_t recursion_bytes = 16 * 1024;  // of stack, where the depth of calls can't be known

std::uint32_t align_up(std::uint32_t value, std::uint32_t to) { return (value + to - 1) / to * to; }

}  // namespace

FunctionDecoder::FunctionDecoder(ProgramBuilder& builder, const ptx::Function& function, Code& code)
    : builder_(builder),
      function_(function),
      code_(code),
      cfg_(ptx::build_cfg(builder.module(), function)),
      block_start_(cfg_.blocks.size(), absent),
      register_offset_(function.registers.size(), absent),
      variable_offset_(function.variables.size(), absent) {}

// Local memory of an activation: .local variables, then parameters: those of calls that it makes, and its own.
void FunctionDecoder::lay_out_locals() {
  std::uint32_t at = 0;
  const auto place = [&](const ptx::Variable& v) {
    at = align_up(at, std::max(v.alignment(), 1u));
    const std::uint32_t offset = at;
    at += static_cast<std::uint32_t>(v.size());
    return offset;
  };
  for (std::size_t i = 0; i < function_.variables.size(); ++i) {
    const ptx::Variable& v = function_.variables[i];
    if (v.space == ptx::Space::local || v.space == ptx::Space::param) variable_offset_[i] = place(v);
  }
  if (!function_.is_entry) {
    for (const ptx::Variable& v : function_.params) code_.param_offsets.push_back(place(v));
    for (const ptx::Variable& v : function_.returns) code_.return_offsets.push_back(place(v));
    // Parameters in registers were declared first: results, then arguments.
    ptx::Index next = 0;
    const auto slot_of = [&](const ptx::Variable& v) {
      return v.space == ptx::Space::reg ? register_slot(next++, ptx::no_component) : Slot{};
    };
    for (const ptx::Variable& v : function_.returns) code_.return_slots.push_back(slot_of(v));
    for (const ptx::Variable& v : function_.params) code_.param_slots.push_back(slot_of(v));
  }
  code_.local_bytes = align_up(at, 16);
}

void FunctionDecoder::prepare() {
  code_.function = &function_;
  lay_out_locals();
}

bool FunctionDecoder::run() {
  const std::vector<ptx::Index> order = layout_order(cfg_);
  for (std::size_t i = 0; i < order.size() && error_.empty(); ++i) {
    const ptx::Block& block = cfg_.blocks[order[i]];
    const bool next = i + 1 < order.size() && cfg_.blocks[order[i + 1]].begin == block.end;
    decode_block(order[i], next);
  }
  if (!error_.empty()) return false;
  patch_targets();
  code_.frame_bytes = align_up(frame_bytes_, 64);
  return true;
}

void FunctionDecoder::begin_block(ptx::Index instr) {
  block_ = builder_.new_block();
  Op op;
  op.control = Control::block;
  op.extra = block_;
  op.instr = instr;
  code_.ops.push_back(op);
}

void FunctionDecoder::decode_block(ptx::Index index, bool falls_into_next) {
  const ptx::Block& block = cfg_.blocks[index];
  block_start_[index] = static_cast<std::uint32_t>(code_.ops.size());
  begin_block(block.begin);
  for (ptx::Index i = block.begin; i < block.end; ++i) {
    if (!decode_instr(i)) return;
  }
  const ptx::Instr* last = block.end > block.begin ? &function_.instrs[block.end - 1] : nullptr;
  const bool open =
      last == nullptr || last->guarded ||
      (ptx::row_of(last->opcode).control != ptx::ControlEffect::branch && ptx::row_of(last->opcode).control != ptx::ControlEffect::ret &&
       ptx::row_of(last->opcode).control != ptx::ControlEffect::exit);
  if (!open) return;
  Op op;
  op.instr = block.end > 0 ? block.end - 1 : 0;
  if (block.end >= function_.instrs.size()) {
    op.control = Control::ret;
    code_.ops.push_back(op);
  } else if (!falls_into_next) {
    op.control = Control::jump;
    op.imm = cfg_.block_of[block.end];
    code_.ops.push_back(op);
  }
}

// Until now targets are blocks of the flow graph; make them op indices.
void FunctionDecoder::patch_targets() {
  for (Op& op : code_.ops) {
    if (op.control == Control::jump || op.control == Control::branch) op.imm = block_start_[op.imm];
  }
  for (std::uint32_t& target : code_.targets) target = block_start_[target];
}

Op& FunctionDecoder::emit(Op op) {
  op.instr = instr_index_;
  if (instr_->guarded && !op.guard.valid()) {
    op.guard = register_slot(instr_->guard, ptx::no_component);
    op.guard_negated = instr_->guard_negated;
  }
  code_.ops.push_back(op);
  return code_.ops.back();
}

bool FunctionDecoder::fail(std::string message) {
  if (error_.empty()) {
    error_ = std::move(message);
    error_line_ = instr_ != nullptr ? instr_->place.line : function_.place.line;
  }
  return false;
}

bool FunctionDecoder::unsupported() {
  std::string name(builder_.module().opcode_text(*instr_));
  for (const ptx::Modifier m : function_.modifiers_of(*instr_)) name += fmt::format(".{}", builder_.module().modifier_text(m));
  return fail(fmt::format("instruction {} is not simulated", name));
}

void FunctionDecoder::count(const Form& form) {
  BlockCost& cost = builder_.program().blocks[block_];
  cost.instructions += 1;
  add_cost(form, cost);
}

bool FunctionDecoder::decode_instr(ptx::Index index) {
  instr_index_ = index;
  instr_ = &function_.instrs[index];
  operands_ = function_.operands_of(*instr_);
  const Form form = form_of(function_, *instr_);
  count(form);
  if (const auto done = decode_control(form)) return *done;
  if (const auto done = decode_warp(form)) return *done;
  switch (instr_->opcode) {
    case ptx::Opcode::mov:
      return decode_move(form);
    case ptx::Opcode::createpolicy:
      return decode_policy();
    case ptx::Opcode::cvt:
      return decode_convert(form);
    case ptx::Opcode::ld:
    case ptx::Opcode::ldu:
    case ptx::Opcode::st:
      return decode_memory(form);
    case ptx::Opcode::atom:
    case ptx::Opcode::red:
      return decode_atomic(form);
    case ptx::Opcode::cp:
      return decode_cp(form);
    case ptx::Opcode::mbarrier:
      return decode_mbarrier(form);
    case ptx::Opcode::wmma:
      return decode_wmma(form);
    case ptx::Opcode::mma:
    case ptx::Opcode::ldmatrix:
    case ptx::Opcode::stmatrix:
      return decode_matrix(form);
    case ptx::Opcode::prefetch:
    case ptx::Opcode::prefetchu:
    case ptx::Opcode::applypriority:
    case ptx::Opcode::discard:
    case ptx::Opcode::membar:
    case ptx::Opcode::fence:
    case ptx::Opcode::pmevent:
    case ptx::Opcode::setmaxnreg:
    case ptx::Opcode::griddepcontrol:
      return true;  // nothing that this machine could do differently
    default:
      break;
  }
  const Choice choice = builder_.semantics().choose(form);
  if (!choice) return unsupported();
  return decode_plain(form, choice);
}

// createpolicy: caches aren't modelled, so any policy will do.
bool FunctionDecoder::decode_policy() {
  if (operands_.empty()) return unsupported();
  Op op;
  op.fn = builder_.semantics().move_kind(MoveKind::extend_unsigned, true);
  op.a = builder_.literal(0, 4);
  op.d = destination(operands_[0], ptx::Type::b64);
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

// Registers and immediates only, as the choice's shape says; the destination may be p|q.
bool FunctionDecoder::decode_plain(const Form& form, const Choice& choice) {
  Op op;
  op.fn = choice.fn;
  op.imm = choice.imm;
  op.x = choice.x;
  op.y = choice.y;
  Slot* const places[] = {&op.d, &op.a, &op.b, &op.c, &op.e};
  std::size_t n = 0;
  while (n < choice.shape.size() && choice.shape[n] != ptx::Type::none) ++n;
  if (operands_.size() < n) return fail(fmt::format("{} operands where {} are expected", operands_.size(), n));
  for (std::size_t i = 1; i < n; ++i) {
    *places[i] = source(operands_[i], choice.shape[i]);
    if (!error_.empty()) return false;
  }
  const ptx::Operand& first = operands_[0];
  if (first.kind == ptx::OperandKind::pair) {
    const auto children = function_.children_of(first);
    op.d = destination(children[0], choice.shape[0]);
    op.e = destination(children[1], ptx::Type::pred);
  } else {
    op.d = destination(first, choice.shape[0]);
  }
  if (form.opcode == ptx::Opcode::lop3) {
    const bool with_predicate = first.kind == ptx::OperandKind::pair;
    if (operands_.size() < 5 || operands_[4].kind != ptx::OperandKind::immediate) return fail("lop3 without an immediate table");
    op.imm = operands_[4].value;
    if (with_predicate) op.f = predicate(operands_[5]);
  }
  if (!error_.empty()) return false;
  emit(op);
  return true;
}

namespace {

// Bytes of local memory that a thread needs from function `f` on; calls that come back to one that is on the way get a fixed stack.
std::uint32_t stack_of(const Program& program, std::uint32_t f, std::vector<bool>& on_the_way) {
  if (on_the_way[f]) return recursion_bytes;
  on_the_way[f] = true;
  std::uint32_t deepest = 0;
  for (const Op& op : program.functions[f].ops) {
    if (op.control != Control::call) continue;
    deepest = std::max(deepest, stack_of(program, program.calls[op.imm].function, on_the_way));
  }
  on_the_way[f] = false;
  return program.functions[f].local_bytes + deepest;
}

}  // namespace

Result<std::unique_ptr<Program>> decode(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of,
                                        const Semantics& semantics, std::uint64_t code_base) {
  auto program = std::make_unique<Program>();
  ProgramBuilder builder(module, kernel, address_of, semantics, code_base, *program);
  const auto& functions = builder.footprint().functions;
  program->functions.resize(functions.size());
  std::vector<FunctionDecoder> decoders;
  decoders.reserve(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const ptx::Function& f = *functions[i];
    const auto where = [&](std::uint32_t line) { return fmt::format("kernel {}, line {}", module.name_of(kernel), line); };
    if (f.broken) {
      return Error{ErrorCode::bad_data, fmt::format("function {} could not be parsed", module.name_of(f)), where(f.place.line),
                   "see the module's diagnostics"};
    }
    decoders.emplace_back(builder, f, program->functions[i]);
  }
  for (FunctionDecoder& decoder : decoders) decoder.prepare();
  for (FunctionDecoder& decoder : decoders) {
    if (decoder.run()) continue;
    return Error{ErrorCode::unsupported, decoder.error(), fmt::format("kernel {}, line {}", module.name_of(kernel), decoder.error_line()),
                 "this kernel can't run on a simulated GPU"};
  }
  std::vector<bool> on_the_way(functions.size());
  program->local_bytes = align_up(stack_of(*program, 0, on_the_way), 16);
  builder.finish();
  return program;
}

}  // namespace tessera::simgpu
