// Operands: names, immediates, addresses, vectors, lists, pairs.
#include <limits>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {
namespace {

constexpr unsigned deepest_operand = 4;

}  // namespace

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
  if (*c_.at == '[' && o.kind == OperandKind::variable) {
    if (!array_index(o)) return false;
    if (elements_are_addresses_) {
      o.kind = OperandKind::address;
      o.base_kind = BaseKind::variable;
    }
  }
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
  if (count > std::numeric_limits<std::uint16_t>::max()) return fail("fewer operands");
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
