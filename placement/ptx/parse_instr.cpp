// Instructions: guard, opcode with modifiers, operands.
#include <algorithm>
#include <limits>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {
namespace {

constexpr unsigned deepest_operand = 4;
constexpr std::size_t most_operands = std::numeric_limits<std::uint16_t>::max();

// a value that takes the place of an address when an array element stands there: ld.global.u32 r, table[3];
bool takes_addresses(Opcode opcode) {
  const MemoryEffect effect = row_of(opcode).memory;
  return effect == MemoryEffect::load || effect == MemoryEffect::store || effect == MemoryEffect::atomic || effect == MemoryEffect::hint;
}

}  // namespace

bool Parser::instruction() {
  Instr i;
  stack_.clear();
  Function& f = *function_;
  const std::size_t modifiers_before = f.modifiers.size();
  const std::size_t operands_before = f.operands.size();
  const std::size_t labels_before = label_operands_.size();
  if (*c_.at == '@' && !guard(i)) return false;
  i.place = c_.place();
  if (opcode_and_modifiers(i) && operands(i)) {
    f.instrs.push_back(i);
    return true;
  }
  f.modifiers.resize(modifiers_before);
  f.operands.resize(operands_before);
  label_operands_.resize(labels_before);
  return false;
}

bool Parser::guard(Instr& i) {
  c_.take('@');
  i.guarded = true;
  i.guard_negated = c_.take('!');
  const SourcePlace place = c_.place();
  const std::string_view text = c_.name();
  const LocalName found = text.empty() ? LocalName{} : locals_.find(text);
  if (found.kind != LocalName::Kind::reg) {
    return fail_at(place,
                   "found " + (text.empty() ? c_.found() : "'" + std::string{text} + "'") + ", expected a declared predicate register");
  }
  i.guard = found.ref;
  c_.skip_space();
  return true;
}

bool Parser::opcode_and_modifiers(Instr& i) {
  const char* begin = c_.at;
  if (!is(*begin, char_class::name_start)) return fail("an opcode");
  for (;; c_.at += 2) {
    while (is(*c_.at, char_class::opcode)) ++c_.at;
    if (c_.at[0] != ':' || c_.at[1] != ':') break;
  }
  const std::string_view text{begin, static_cast<std::size_t>(c_.at - begin)};
  if (text.empty()) return fail("an opcode");
  auto [chunk, fresh] = chunks_.insert(text, {});
  if (fresh && !decode(text, chunk))
    return fail_at(c_.place_of(begin), "found '" + std::string{text} + "', expected an opcode with its modifiers");
  if (!chunk.valid) return fail_at(c_.place_of(begin), "found '" + std::string{text} + "', expected an opcode with its modifiers");
  Function& f = *function_;
  i.opcode = chunk.opcode;
  i.name = chunk.name;
  i.modifiers = static_cast<Index>(f.modifiers.size());
  i.modifier_count = chunk.count;
  const auto first = chunk_modifiers_.begin() + chunk.first;
  f.modifiers.insert(f.modifiers.end(), first, first + chunk.count);
  if (*c_.at == '[') {
    c_.skip_space();
  } else {
    c_.skip_space();
    if (*c_.at != '.') return true;
  }
  return loose_modifiers(i, text);
}

// "ld.global.v4.f32" -> opcode and modifiers; done once for each distinct text.
bool Parser::decode(std::string_view text, Chunk& chunk) {
  const std::size_t dot = text.find('.');
  const std::string_view opcode_text = text.substr(0, dot);
  chunk.first = static_cast<Index>(chunk_modifiers_.size());
  std::vector<Modifier> list;
  for (std::size_t at = dot; at < text.size();) {
    const std::size_t end = std::min(text.find('.', at + 1), text.size());
    if (!modifier(text.substr(at + 1, end - at - 1), list)) return false;
    at = end;
  }
  if (list.size() > std::numeric_limits<std::uint16_t>::max() || opcode_text.find(':') != std::string_view::npos) return false;
  chunk.opcode = find_opcode(opcode_text);
  if (chunk.opcode == Opcode::unknown) chunk.name = intern(opcode_text);
  chunk.count = static_cast<std::uint16_t>(list.size());
  chunk_modifiers_.insert(chunk_modifiers_.end(), list.begin(), list.end());
  chunk.valid = true;
  return true;
}

bool Parser::modifier(std::string_view text, std::vector<Modifier>& into) {
  if (text.empty()) return false;
  if (const auto known = find_modifier(text)) {
    into.push_back(*known);
    return true;
  }
  constexpr std::size_t first = static_cast<std::size_t>(Modifier::first_unknown);
  constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();
  if (first + m_.unknown_modifiers.size() >= most) return false;
  const auto [index, fresh] = unknown_modifiers_.insert(text, static_cast<Index>(m_.unknown_modifiers.size()));
  if (fresh) m_.unknown_modifiers.emplace_back(text);
  into.push_back(static_cast<Modifier>(first + index));
  return true;
}

// Modifiers behind white space ("ld .global .u32"), and behind the bank number of PTX 1.x ("ld.const[2].f32"; the variable has the bank).
bool Parser::loose_modifiers(Instr& i, std::string_view text) {
  std::vector<Modifier> list;
  if (*c_.at == '[' && text.size() > 6 && text.substr(text.size() - 6) == ".const") {
    Cursor ahead = c_;
    ahead.take('[');
    while (is(*ahead.at, char_class::digit)) ++ahead.at;
    ahead.skip_space();
    if (ahead.take(']') && *ahead.at == '.') c_ = ahead;
  }
  while (*c_.at == '.') {
    const std::string_view word = c_.dot_word();
    if (!modifier(word, list)) return fail("a modifier");
    c_.skip_space();
  }
  if (list.size() + i.modifier_count > std::numeric_limits<std::uint16_t>::max()) return fail("fewer modifiers");
  i.modifier_count = static_cast<std::uint16_t>(i.modifier_count + list.size());
  function_->modifiers.insert(function_->modifiers.end(), list.begin(), list.end());
  return true;
}

bool Parser::operands(Instr& i) {
  control_ = row_of(i.opcode).control;
  if (*c_.at != ';') {
    do {
      if (!operand(0)) return false;
    } while (c_.take(','));
    if (*c_.at != ';') return fail("',' or ';'");
  }
  c_.take(';');
  if (stack_.size() > most_operands) return fail("fewer operands");
  i.operands = static_cast<Index>(function_->operands.size());
  i.operand_count = static_cast<std::uint16_t>(stack_.size());
  if (takes_addresses(i.opcode)) {
    for (Operand& o : stack_) {
      if (o.kind == OperandKind::variable && !o.negated) element_to_address(o);
    }
  }
  append_operands(0);
  return true;
}

void Parser::element_to_address(Operand& o) {
  o.kind = OperandKind::address;
  o.base_kind = BaseKind::variable;
}

// The operands on stack_ from `first` on go to where they stay.
void Parser::append_operands(std::size_t first) {
  auto& all = function_->operands;
  const auto begin = static_cast<Index>(all.size() - first);
  for (std::size_t k = first; k < stack_.size(); ++k) {
    if (stack_[k].kind == OperandKind::label) label_operands_.push_back(begin + static_cast<Index>(k));
  }
  all.insert(all.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
}

// One operand, left on stack_; a|b makes a pair of two.
bool Parser::operand(unsigned depth) {
  const std::size_t first = stack_.size();
  if (!simple_operand(depth)) return false;
  if (*c_.at != '|') return true;
  while (c_.take('|')) {
    if (!simple_operand(depth)) return false;
  }
  return make_parent(OperandKind::pair, first);
}

bool Parser::simple_operand(unsigned depth) {
  const char here = *c_.at;
  if (is(here, char_class::digit)) return immediate_operand();
  switch (here) {
    case '[':
      return address_operand(depth);
    case '{':
      return bracketed_children(OperandKind::vector, '}', depth);
    case '(':
      if (control_ != ControlEffect::call) return immediate_operand();
      return bracketed_children(OperandKind::list, ')', depth);
    case '!':
    case '-': {
      Cursor ahead = c_;
      ahead.take(here);
      if (!is(*ahead.at, char_class::name_start) || ahead.peek_name() == "WARP_SZ") return immediate_operand();
      c_ = ahead;
      return named_operand(true);
    }
    case '+':
    case '~':
      return immediate_operand();
    default:
      break;
  }
  if (!is(here, char_class::name_start)) return fail("an operand");
  if (here == 'W' && c_.peek_name() == "WARP_SZ") return immediate_operand();
  return named_operand(false);
}

// The common case of an integer: decimal digits alone.
bool Parser::plain_number(std::uint64_t& value) {
  constexpr std::ptrdiff_t most_digits = 18;
  const char* p = c_.at;
  value = 0;
  for (; is(*p, char_class::digit); ++p) value = value * 10 + static_cast<unsigned>(*p - '0');
  if (p - c_.at > most_digits || (*c_.at == '0' && p - c_.at > 1)) return false;
  if (*p != ',' && *p != ';' && *p != ']' && *p != '}') return false;
  c_.at = p;
  return true;
}

bool Parser::immediate_operand() {
  Constant c;
  if (std::uint64_t value = 0; is(*c_.at, char_class::digit) && plain_number(value)) {
    Operand& o = stack_.emplace_back();
    o.kind = OperandKind::immediate;
    o.type = Type::s64;
    o.value = value;
    return true;
  }
  if (!constant(Binding::conditional, c)) return false;
  Operand o;
  o.kind = c.floating() ? OperandKind::float_imm : OperandKind::immediate;
  o.type = c.type;
  o.value = c.bits;
  stack_.push_back(o);
  return true;
}

bool Parser::named_operand(bool negated) {
  const SourcePlace place = c_.place();
  const std::string_view text = c_.name();
  Operand o;
  if (text.size() == 1 && text[0] == '_') {
    o.kind = OperandKind::sink;
    c_.skip_space();
    stack_.push_back(o);
    return true;
  }
  if (!name_as_operand(text, place, o)) return false;
  o.negated = negated;
  if (*c_.at == '.' && !component(o)) return false;
  c_.skip_space();
  if (*c_.at == '[' && o.kind == OperandKind::variable && !array_index(o)) return false;
  if ((*c_.at == '+' || *c_.at == '-') &&
      (o.kind == OperandKind::variable || (o.kind == OperandKind::reg && o.component != selector_component)) && !address_offset(o))
    return false;
  stack_.push_back(o);
  return true;
}

bool Parser::name_as_operand(std::string_view text, SourcePlace place, Operand& o) {
  if (control_ == ControlEffect::branch) {
    // A branch names labels; only the index of brx.idx is a register.
    const LocalName local = locals_.find(text);
    if (local.kind == LocalName::Kind::reg && stack_.empty()) {
      o.kind = OperandKind::reg;
      o.ref = local.ref;
      return true;
    }
    o.kind = OperandKind::label;
    o.ref = label_reference(text, place);
    return true;
  }
  const LocalName local = locals_.find(text);
  o.ref = local.ref;
  switch (local.kind) {
    case LocalName::Kind::reg:
      o.kind = OperandKind::reg;
      return true;
    case LocalName::Kind::variable:
      o.kind = OperandKind::variable;
      o.symbol_space = SymbolSpace::function_variable;
      return true;
    case LocalName::Kind::parameter:
      o.kind = OperandKind::variable;
      o.symbol_space = SymbolSpace::parameter;
      return true;
    case LocalName::Kind::return_parameter:
      o.kind = OperandKind::variable;
      o.symbol_space = SymbolSpace::return_parameter;
      return true;
    case LocalName::Kind::none:
      break;
  }
  if (text[0] == '%') {
    if (const SpecialReg special = find_special_reg(text); special != SpecialReg::unknown) {
      o.kind = OperandKind::special_reg;
      o.ref = static_cast<Index>(special);
      return true;
    }
  }
  if (const ModuleName* global = module_names_.find(text); global != nullptr) {
    o.kind = global->kind == ModuleName::Kind::function ? OperandKind::function : OperandKind::variable;
    o.ref = global->ref;
    return true;
  }
  if (control_ == ControlEffect::call) {  // a prototype, perhaps declared further down
    o.kind = OperandKind::label;
    o.ref = label_reference(text, place);
    return true;
  }
  return fail_at(place, "found '" + std::string{text} + "', expected a declared register, variable or function");
}

// .x .y .z .w, .r .g .b .a, and the lane selectors of video instructions: .b0 .h1 .b3210
bool Parser::component(Operand& o) {
  constexpr std::string_view letters = "xyzwrgba";
  const std::string_view word = c_.dot_word();
  if (o.kind != OperandKind::reg && o.kind != OperandKind::special_reg) return fail("',' or ';'");
  if (word.size() == 1 && letters.find(word[0]) != std::string_view::npos) {
    o.component = static_cast<std::uint8_t>(letters.find(word[0]) % 4);
    return true;
  }
  const bool selector = word.size() >= 2 && word.size() <= 5 && (word[0] == 'b' || word[0] == 'h') &&
                        word.find_first_not_of("01234567", 1) == std::string_view::npos && o.kind == OperandKind::reg;
  if (!selector) return fail("a component: .x .y .z .w, or a lane selector such as .b0");
  o.component = selector_component;
  for (std::size_t k = word.size(); k-- > 0;) o.value = o.value << 8U | static_cast<unsigned char>(word[k]);
  return true;
}

// table[3]: the address of an element.
bool Parser::array_index(Operand& o) {
  c_.take('[');
  Constant index;
  if (!constant(Binding::conditional, index)) return false;
  if (index.floating()) return fail("an integer index");
  if (!expect(']')) return false;
  const Variable& v = m_.variable_of(*function_, o);
  std::uint64_t bytes = std::uint64_t{bytes_of(v.type)} * v.vector;
  for (std::size_t d = 1; d < v.dims.size(); ++d) bytes *= v.dims[d];
  o.value += index.bits * bytes;
  return true;
}

bool Parser::bracketed_children(OperandKind kind, char close, unsigned depth) {
  if (depth >= deepest_operand) return fail("an operand nested less deeply");
  const std::size_t first = stack_.size();
  ++c_.at;
  c_.skip_space();
  if (*c_.at != close) {
    do {
      if (!operand(depth + 1)) return false;
    } while (c_.take(','));
  }
  if (*c_.at != close) return fail(std::string{"',' or '"} + close + "'");
  c_.take(close);
  return make_parent(kind, first);
}

// The operands on stack_ from `first` become the children of one.
bool Parser::make_parent(OperandKind kind, std::size_t first) {
  const std::size_t count = stack_.size() - first;
  if (count > most_operands) return fail("fewer operands");
  Operand parent;
  parent.kind = kind;
  parent.ref = static_cast<Index>(function_->operands.size());
  parent.child_count = static_cast<std::uint16_t>(count);
  append_operands(first);
  stack_.resize(first);
  stack_.push_back(parent);
  return true;
}

// [base + offset], and [base, {c0, c1}, …] of textures and tensor maps
bool Parser::address_operand(unsigned depth) {
  if (depth >= deepest_operand) return fail("an operand nested less deeply");
  const std::size_t first = stack_.size();
  c_.take('[');
  Operand o;
  o.kind = OperandKind::address;
  if (!address_base(o) || !address_offset(o)) return false;
  stack_.push_back(o);
  if (c_.take(']')) return true;
  if (*c_.at != ',') return fail("'+', ',' or ']'");
  while (c_.take(',')) {
    if (!operand(depth + 1)) return false;
  }
  if (!c_.take(']')) return fail("',' or ']'");
  return make_parent(OperandKind::compound, first);
}

bool Parser::address_base(Operand& o) {
  if (!is(*c_.at, char_class::name_start) || c_.peek_name() == "WARP_SZ") {
    Constant base;
    o.base_kind = BaseKind::immediate;
    if (!constant(Binding::conditional, base)) return false;
    if (base.floating()) return fail("an integer address");
    o.value = base.bits;
    return true;
  }
  const SourcePlace place = c_.place();
  const std::string_view text = c_.name();
  Operand base;
  const ControlEffect control = std::exchange(control_, ControlEffect::none);
  const bool known = name_as_operand(text, place, base);
  control_ = control;
  if (!known) return false;
  o.symbol_space = base.symbol_space;
  o.ref = base.ref;
  switch (base.kind) {
    case OperandKind::reg:
      o.base_kind = BaseKind::reg;
      if (*c_.at == '.') {
        if (!component(base)) return false;
        if (base.component == selector_component) return fail("a component: .x .y .z .w");
        o.component = base.component;
      }
      break;
    case OperandKind::variable:
      o.base_kind = BaseKind::variable;
      break;
    default:
      return fail_at(place, "found '" + std::string{text} + "', expected a register or variable as the base of an address");
  }
  c_.skip_space();
  if (*c_.at == '[' && base.kind == OperandKind::variable) {
    if (!array_index(base)) return false;
    o.value += base.value;
  }
  return true;
}

// + and - terms, added up: [r+4+4], [r+-8], [r + (2*8)]
bool Parser::address_offset(Operand& o) {
  while (*c_.at == '+' || *c_.at == '-') {
    const bool minus = *c_.at == '-';
    c_.take(*c_.at);
    Constant term;
    if ((!is(*c_.at, char_class::digit) || !plain_number(term.bits)) && !constant(Binding::product, term)) return false;
    if (term.floating()) return fail("an integer offset");
    o.value = minus ? o.value - term.bits : o.value + term.bits;
  }
  return true;
}

}  // namespace tessera::ptx
