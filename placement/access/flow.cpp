#include "placement/access/flow.h"

#include <fmt/core.h>

#include <algorithm>

#include "placement/ptx/print.h"

namespace tessera::access {

using ptx::Modifier;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Space;
using ptx::Type;

namespace {

constexpr unsigned most_rounds = 64;
constexpr std::uint64_t low_bits = 0xff;  // a replica agrees with its original in these: both are aligned to 256 bytes

bool is_shared(Space s) { return s == Space::shared || s == Space::shared_cta || s == Space::shared_cluster; }
bool is_param(Space s) { return s == Space::param || s == Space::param_entry || s == Space::param_func; }
bool is_global(Space s) { return s == Space::global || s == Space::generic || s == Space::const_; }

}  // namespace

Flow::Flow(const ptx::Module& module, const ptx::Function& kernel)
    : module_(module), kernel_(kernel), registers_(kernel.registers.size()) {}

KernelAccess Flow::run() {
  if (kernel_.broken || !kernel_.has_body) {
    result_.refusal = Refusal::broken;
    result_.reason = std::string(sentence_of(Refusal::broken));
    result_.line = kernel_.place.line;
    return std::move(result_);
  }
  for (const Instr& i : kernel_.instrs) {
    Refusal refusal = Refusal::none;
    if (needs_refusal(i, refusal)) {
      refuse(i, refusal);
      return std::move(result_);
    }
  }
  seed_unassigned();
  unsigned rounds = 0;
  do {
    changed_ = false;
    for (const Instr& i : kernel_.instrs) step(i);
    if (!result_.understood()) return std::move(result_);
    if (++rounds > most_rounds || overflow_) {
      result_.refusal = Refusal::too_complex;
      result_.reason = std::string(sentence_of(Refusal::too_complex));
      return std::move(result_);
    }
  } while (changed_ || seed_bottoms());
  recording_ = true;
  for (const Instr& i : kernel_.instrs) step(i);
  if (!result_.understood()) {
    result_.accesses.clear();
    result_.exposures.clear();
    result_.comparisons.clear();
  }
  return std::move(result_);
}

// A register that nothing assigns holds some number.
void Flow::seed_unassigned() {
  std::vector<bool> assigned(registers_.size());
  const auto mark = [&](const Operand& o) {
    if (o.kind == OperandKind::reg) assigned[o.ref] = true;
  };
  for (const Instr& i : kernel_.instrs) {
    const auto operands = kernel_.operands_of(i);
    if (operands.empty()) continue;
    mark(operands[0]);
    if (operands[0].child_count != 0) {
      for (const Operand& child : kernel_.children_of(operands[0])) mark(child);
    }
  }
  for (std::size_t r = 0; r < registers_.size(); ++r) {
    // A predicate holds no part of a pointer: what it was made of is judged where it is made.
    const bool is_predicate = kernel_.decl_of(static_cast<ptx::Index>(r)).type == Type::pred;
    if (!assigned[r] || is_predicate) registers_[r] = plain(integer);
  }
}

// What is still nothing when nothing changes any more is made only of itself: any number, but no parameter.
bool Flow::seed_bottoms() {
  bool any = false;
  for (Value& v : registers_) {
    if (v.kinds != 0) continue;
    v = plain(integer | loaded);
    any = true;
  }
  return any;
}

void Flow::refuse(const Instr& i, Refusal refusal) {
  if (!result_.understood()) return;
  result_.refusal = refusal;
  result_.line = i.place.line;
  result_.reason = fmt::format("{}: {}", sentence_of(refusal), ptx::print_instr(module_, kernel_, i));
}

// What no value can make acceptable.
bool Flow::needs_refusal(const Instr& i, Refusal& refusal) const {
  const auto has = [&](Modifier m) { return kernel_.has(i, m); };
  const auto no = [&](Refusal r) {
    refusal = r;
    return true;
  };
  const Space space = kernel_.space_of(i);
  switch (ptx::row_of(i.opcode).memory) {
    case ptx::MemoryEffect::unknown:
      return no(i.opcode == Opcode::tensormap ? Refusal::tensor_map : Refusal::unknown_opcode);
    case ptx::MemoryEffect::texture:
    case ptx::MemoryEffect::surface:
      return no(Refusal::texture);
    case ptx::MemoryEffect::call:
      return no(Refusal::call);
    default:
      break;
  }
  switch (i.opcode) {
    case Opcode::txq:
    case Opcode::suq:
    case Opcode::istypep:
      return no(Refusal::texture);
    case Opcode::multimem:
      return no(Refusal::system_scope);
    case Opcode::tcgen05:
    case Opcode::griddepcontrol:
      return no(Refusal::unsupported_form);
    case Opcode::cp:
      return has(Modifier::tensor)                                                               ? no(Refusal::tensor_map)
             : has(Modifier::bulk) && !has(Modifier::commit_group) && !has(Modifier::wait_group) ? no(Refusal::unsupported_form)
                                                                                                 : false;
    case Opcode::prefetch:
      return has(Modifier::tensormap) ? no(Refusal::tensor_map) : false;
    case Opcode::membar:
    case Opcode::fence:
      return has(Modifier::sys) ? no(Refusal::system_scope) : false;
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
      if (has(Modifier::sys) || has(Modifier::mmio)) return no(Refusal::system_scope);
      return has(Modifier::volatile_) && is_global(space) ? no(Refusal::system_scope) : false;
    default:
      return false;
  }
}

Value Flow::value_of(const Operand& o) const {
  switch (o.kind) {
    case OperandKind::reg:
      return registers_[o.ref];
    case OperandKind::variable: {
      const ptx::Variable& v = module_.variable_of(kernel_, o);
      if (o.symbol_space == ptx::SymbolSpace::parameter) {
        Value address = plain(window);
        address.param = Value::Param::exactly;
        address.param_offset = static_cast<std::int64_t>(v.offset + o.value);
        return address;
      }
      return plain(v.space == Space::global || v.space == Space::const_ || v.space == Space::tex ? variable : window);
    }
    case OperandKind::function:
      return plain(variable);
    case OperandKind::vector: {
      Value v;
      for (const Operand& child : kernel_.children_of(o)) v = mix(v, value_of(child));
      return v;
    }
    default:
      return plain(integer);
  }
}

Value Flow::address_of(const Operand& o) const {
  if (o.kind != OperandKind::address) return value_of(o);
  if (o.base_kind == ptx::BaseKind::reg) {
    Value v = registers_[o.ref];
    if (v.param == Value::Param::exactly) v.param_offset += static_cast<std::int64_t>(o.value);
    return v;
  }
  if (o.base_kind == ptx::BaseKind::variable) {
    Operand name = o;
    name.kind = OperandKind::variable;
    return value_of(name);
  }
  return plain(integer);
}

// `bytes` of the parameter block as one value: a whole word may be an address, a part of one only spoils what it's computed into.
Value Flow::read_params(std::int64_t offset, unsigned bytes) const {
  Value v;
  if (offset < 0 || offset > UINT16_MAX - 8) return plain(variable);
  if (bytes == 8) {
    v.kinds = word;
    v.sums.push_back({{static_cast<std::uint16_t>(offset)}, false});
    return v;
  }
  v.kinds = integer;
  for (std::int64_t at = offset & ~7; at < offset + bytes; at += 8) v.mixed.push_back(static_cast<std::uint16_t>(at));
  return v;
}

void Flow::merge(Value& to, const Value& from) {
  Value before = to;
  join(to, from);
  overflow_ |= to.sums.size() > most_sums;
  changed_ |= !(before == to);
}

void Flow::assign(const Operand& o, const Value& v) {
  switch (o.kind) {
    case OperandKind::reg:
      merge(registers_[o.ref], v);
      break;
    case OperandKind::vector:
    case OperandKind::pair:
      for (const Operand& child : kernel_.children_of(o)) assign(child, v);
      break;
    default:
      break;
  }
}

void Flow::access(const Instr& i, const Operand& operand, bool read, bool write) {
  if (!recording_) return;
  const Value v = address_of(operand);
  if (v.kinds == 0) return refuse(i, Refusal::unknown_base);  // made of nothing that was ever assigned
  if (v.has(variable)) return refuse(i, Refusal::module_variable);
  if (v.has(loaded)) return refuse(i, Refusal::loaded_base);
  const bool may_be_window = v.has(window) && kernel_.space_of(i) == Space::generic;
  if (!v.has(word)) {
    if (!may_be_window) refuse(i, Refusal::unknown_base);
    return;
  }
  if (may_be_window)
    return refuse(i, Refusal::unsupported_form);  // one instruction for both: which words are bases would depend on the thread
  for (const Sum& sum : v.sums) {
    auto known = std::find_if(result_.accesses.begin(), result_.accesses.end(),
                              [&](const PointerAccess& a) { return a.words == sum.words && a.mixed == v.mixed && a.loaded == sum.loaded; });
    if (known == result_.accesses.end()) {
      known = result_.accesses.insert(known, PointerAccess{sum.words, v.mixed, sum.loaded, false, false, i.place.line});
    }
    known->read |= read;
    known->written |= write;
  }
}

void Flow::expose(const Instr& i, const Value& v, Refusal refusal) {
  if (!recording_) return;
  if (v.has(variable)) return refuse(i, Refusal::module_variable);
  Words words = v.all_words();
  if (words.empty()) return;
  const auto same = [&](const Exposure& e) { return e.words == words; };
  if (std::any_of(result_.exposures.begin(), result_.exposures.end(), same)) return;
  result_.exposures.push_back({std::move(words), refusal, i.place.line});
}

void Flow::step(const Instr& i) {
  if (kernel_.has(i, Modifier::cc) || i.opcode == Opcode::addc || i.opcode == Opcode::subc || i.opcode == Opcode::madc)
    return step_carry(i);
  switch (i.opcode) {
    case Opcode::ld:
    case Opcode::ldu:
      return step_load(i);
    case Opcode::st:
      return step_store(i);
    case Opcode::atom:
    case Opcode::red:
      return step_atomic(i);
    case Opcode::cp:
      return step_async(i);
    case Opcode::wmma:
      return step_matrix(i);
    case Opcode::discard:
      return access(i, kernel_.operands_of(i)[0], false, true);
    case Opcode::mov:
    case Opcode::cvta:
    case Opcode::selp:
    case Opcode::min:
    case Opcode::max:
    case Opcode::cvt:
      return step_move(i);
    case Opcode::add:
      return step_add(i, false);
    case Opcode::sub:
      return step_add(i, true);
    case Opcode::mad:
      return step_mad(i);
    case Opcode::setp:
    case Opcode::set:
      return step_compare(i);
    default:
      return step_other(i);
  }
}

void Flow::step_load(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 2) return refuse(i, Refusal::unsupported_form);
  const Space space = kernel_.space_of(i);
  const unsigned bytes = ptx::bytes_of(kernel_.type_of(i));
  const Value address = address_of(operands[1]);
  const bool generic_param = space == Space::generic && address.param == Value::Param::exactly && address.kinds == window;
  if (is_param(space) || generic_param) {
    if (address.kinds == 0) return;
    if (address.param == Value::Param::never && address.kinds == window) return assign(operands[0], local_);  // a call's parameter area
    if (address.param != Value::Param::exactly) return refuse(i, Refusal::unsupported_form);
    if (operands[0].kind != OperandKind::vector) return assign(operands[0], read_params(address.param_offset, bytes));
    std::int64_t at = address.param_offset;
    for (const Operand& child : kernel_.children_of(operands[0])) {
      assign(child, read_params(at, bytes));
      at += bytes;
    }
    return;
  }
  if (is_shared(space) || space == Space::local) {
    const Value& summary = is_shared(space) ? shared_ : local_;
    Value v = bytes == 8 ? summary : mix(summary, Value{});
    v.kinds |= integer;
    return assign(operands[0], v);
  }
  if (address.param != Value::Param::never)
    return refuse(i, Refusal::unsupported_form);  // may read parameters, at an offset that isn't known
  access(i, operands[1], true, false);
  Value v = plain(loaded);
  if (space == Space::generic) {  // may have read what was stored to local or shared memory
    join(v, bytes == 8 ? local_ : mix(local_, Value{}));
    join(v, bytes == 8 ? shared_ : mix(shared_, Value{}));
  }
  assign(operands[0], v);
}

void Flow::step_store(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 2) return refuse(i, Refusal::unsupported_form);
  const Space space = kernel_.space_of(i);
  Value v;
  const bool wide = ptx::bytes_of(kernel_.type_of(i)) == 8;
  if (operands[1].kind == OperandKind::vector) {
    for (const Operand& child : kernel_.children_of(operands[1])) join(v, value_of(child));
  } else {
    v = value_of(operands[1]);
  }
  if (!wide) v = mix(v, Value{});
  if (is_shared(space)) return merge(shared_, v);
  if (space == Space::local || is_param(space)) return merge(local_, v);
  if (space == Space::generic) {
    const Value address = address_of(operands[0]);
    if (address.kinds == window) {
      merge(shared_, v);
      return merge(local_, v);
    }
  }
  access(i, operands[0], false, true);
  expose(i, v, Refusal::pointer_escapes);
}

void Flow::step_atomic(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  const std::size_t at = i.opcode == Opcode::red ? 0 : 1;
  if (operands.size() <= at) return refuse(i, Refusal::unsupported_form);
  const bool shared_only = is_shared(kernel_.space_of(i));
  for (std::size_t k = at + 1; k < operands.size(); ++k) {
    const Value v = value_of(operands[k]);
    if (shared_only)
      merge(shared_, v);
    else
      expose(i, v, Refusal::pointer_escapes);
  }
  if (!shared_only) access(i, operands[at], true, true);
  if (at == 1) {
    assign(operands[0], plain(loaded));
    if (shared_only) assign(operands[0], shared_);
  }
}

// cp.async shared, global …: the second operand is read. Group and barrier forms touch no global memory.
void Flow::step_async(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  const bool copies = kernel_.has(i, Modifier::async) && (kernel_.has(i, Modifier::ca) || kernel_.has(i, Modifier::cg));
  if (!copies) return;
  if (operands.size() < 2) return refuse(i, Refusal::unsupported_form);
  access(i, operands[1], true, false);
  merge(shared_, plain(loaded));
}

void Flow::step_matrix(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  const bool load = kernel_.has(i, Modifier::load), store = kernel_.has(i, Modifier::store);
  if (!load && !store) return step_other(i);
  if (operands.size() < 2) return refuse(i, Refusal::unsupported_form);
  if (is_shared(kernel_.space_of(i))) {
    if (load) assign(operands[0], mix(shared_, plain(integer)));
    return;
  }
  access(i, operands[load ? 1 : 0], load, store);
  if (load) assign(operands[0], plain(loaded));
}

// Copies, choices, conversions between 64-bit types keep an address; a conversion to or from a narrower type doesn't.
void Flow::step_move(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 2) return refuse(i, Refusal::unsupported_form);
  const bool keeps = ptx::bytes_of(kernel_.type_of(i)) == 8 && (i.opcode != Opcode::cvt || ptx::bytes_of(kernel_.type_of(i, 1)) == 8);
  const bool picks = i.opcode == Opcode::selp || i.opcode == Opcode::min || i.opcode == Opcode::max;
  Value v = value_of(operands[1]);
  if (picks && operands.size() > 2) {
    const Value other = value_of(operands[2]);
    if (i.opcode != Opcode::selp) expose(i, mix(v, other), Refusal::pointer_arithmetic);
    join(v, other);
  }
  const bool packs = operands[0].kind == OperandKind::vector || operands[1].kind == OperandKind::vector;
  if (!keeps || packs) {
    const auto kind = static_cast<std::uint8_t>(v.kinds & window);  // 32-bit addresses of shared memory stay what they are
    v = mix(v, Value{});
    v.kinds |= kind;
  }
  if (i.opcode == Opcode::cvta && v.param != Value::Param::never && !is_param(kernel_.space_of(i))) v.param = Value::Param::sometimes;
  assign(operands[0], v);
}

void Flow::step_add(const Instr& i, bool subtract) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 3) return refuse(i, Refusal::unsupported_form);
  const Value a = value_of(operands[1]), b = value_of(operands[2]);
  if (a.kinds == 0 || b.kinds == 0) return;
  if (ptx::is_float(kernel_.type_of(i)) || ptx::bytes_of(kernel_.type_of(i)) != 8) {
    Value v = mix(a, b);
    v.kinds |= static_cast<std::uint8_t>((a.kinds | b.kinds) & window);
    return assign(operands[0], v);
  }
  Value v = subtract ? sum(a, mix(b, Value{})) : sum(a, b);
  const bool fixed = operands[2].kind == OperandKind::immediate;
  if (fixed && a.param == Value::Param::exactly) {
    v.param = Value::Param::exactly;
    const auto step = static_cast<std::int64_t>(operands[2].value);
    v.param_offset = a.param_offset + (subtract ? -step : step);
  }
  assign(operands[0], v);
}

void Flow::step_mad(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 4) return refuse(i, Refusal::unsupported_form);
  const Value product = mix(value_of(operands[1]), value_of(operands[2])), c = value_of(operands[3]);
  if (c.kinds == 0 || product.kinds == 0) return;
  const bool wide = ptx::bytes_of(kernel_.type_of(i)) == 8 || kernel_.has(i, Modifier::wide);
  const bool adds_address = wide && !ptx::is_float(kernel_.type_of(i)) && !kernel_.has(i, Modifier::hi);
  assign(operands[0], adds_address ? sum(product, c) : mix(product, c));
}

// A pointer may be compared with null and with addresses made of the same words; anything else looks at its value.
void Flow::step_compare(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (i.opcode == Opcode::set && !operands.empty()) assign(operands[0], plain(integer));
  if (!recording_ || operands.size() < 3) return;
  const Value a = value_of(operands[1]), b = value_of(operands[2]);
  Value mixed;
  mixed.kinds = static_cast<std::uint8_t>((a.kinds | b.kinds) & variable);
  unite(mixed.mixed, a.mixed);
  unite(mixed.mixed, b.mixed);
  expose(i, mixed, Refusal::pointer_arithmetic);
  const auto is_null = [](const Operand& o) { return o.kind == OperandKind::immediate && o.value == 0; };
  if ((a.sums.empty() && b.sums.empty()) || is_null(operands[1]) || is_null(operands[2])) return;
  const auto alternatives = [](const Value& v) {
    std::vector<Words> all;
    for (const Sum& s : v.sums) all.push_back(s.words);
    if ((v.kinds & ~word) != 0) all.emplace_back();
    return all;
  };
  result_.comparisons.push_back({alternatives(a), alternatives(b), i.place.line});
}

// The condition code is a register that no operand names.
void Flow::step_carry(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.size() < 3) return refuse(i, Refusal::unsupported_form);
  Value v = carry_;
  for (std::size_t k = 1; k < operands.size(); ++k) v = mix(v, value_of(operands[k]));
  if (kernel_.has(i, Modifier::cc)) merge(carry_, v);
  assign(operands[0], v);
}

void Flow::step_other(const Instr& i) {
  const auto operands = kernel_.operands_of(i);
  if (operands.empty()) return;
  // Some forms write their first operand although most of the opcode's don't (bar.red, wmma.mma, mbarrier …): taken as written.
  const bool always_writes = ptx::row_of(i.opcode).destinations != 0;
  if (i.opcode == Opcode::brx) expose(i, value_of(operands[0]), Refusal::pointer_arithmetic);
  if (i.opcode == Opcode::stmatrix) {
    for (const Operand& o : operands) merge(shared_, mix(value_of(o), Value{}));
  }
  Value v;
  bool known = true;
  if (i.opcode == Opcode::ldmatrix || !always_writes) v = mix(shared_, Value{});
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const Value source = value_of(operands[k]);
    known &= source.kinds != 0;
    v = mix(v, source);
  }
  if (operands.size() == 1 && always_writes) v = plain(integer);  // activemask, elect …
  if (!known) return;
  // The low bits of an address are the same in every replica.
  const bool tests_alignment =
      i.opcode == Opcode::and_ && operands.size() == 3 && operands[2].kind == OperandKind::immediate && operands[2].value <= low_bits;
  if (tests_alignment) v.mixed.clear();
  for (std::size_t k = 1; k < operands.size(); ++k) {
    v.kinds |= static_cast<std::uint8_t>(value_of(operands[k]).kinds & window);
  }
  assign(operands[0], v);
}

}  // namespace tessera::access
