// Declarations of variables, parameters and registers, and initialisers.
#include <bit>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {
namespace {

Space space_of_word(std::string_view word) {
  for (unsigned s = 1; s <= static_cast<unsigned>(Space::param_func); ++s) {
    if (text_of(static_cast<Space>(s)) == word) return static_cast<Space>(s);
  }
  return Space::generic;
}

bool is_object(Type type) { return type == Type::texref || type == Type::samplerref || type == Type::surfref; }

}  // namespace

bool Parser::linkage_word(std::string_view word) {
  constexpr std::pair<std::string_view, Linkage> words[] = {
      {"visible", Linkage::visible}, {"extern", Linkage::external}, {"weak", Linkage::weak}, {"common", Linkage::common}};
  for (const auto& [text, linkage] : words) {
    if (text != word) continue;
    prefix_.linkage = linkage;
    return true;
  }
  return word == "hidden";  // says something to a linker only
}

bool Parser::variable_attributes(Variable& v) {
  while (*c_.at == '.') {
    const std::string_view word = c_.dot_word();
    if (word.empty()) return fail("a type or a state space");
    c_.skip_space();
    if (!variable_attribute(word, v)) return false;
  }
  if (v.type == Type::none) return fail("a type");
  return true;
}

bool Parser::variable_attribute(std::string_view word, Variable& v) {
  if (word == "align") {
    const SourcePlace place = c_.place();
    std::uint64_t align = 0;
    if (!unsigned_constant(align)) return false;
    if (!std::has_single_bit(align) || align > (1U << 30U)) {
      return fail_at(place, "found alignment " + std::to_string(align) + ", expected a power of two");
    }
    (v.ptr.present ? v.ptr.align : v.align) = static_cast<std::uint32_t>(align);
    return true;
  }
  if (word == "ptr") {
    v.ptr.present = true;
    return true;
  }
  if (word == "attribute") return attribute_text(v);
  if (word == "v2" || word == "v4" || word == "v8") {
    v.vector = static_cast<std::uint8_t>(word[1] - '0');
    return true;
  }
  if (const Type type = find_type(word); type != Type::none) {
    v.type = type;
    return true;
  }
  const Space space = space_of_word(word);
  if (space == Space::generic) {
    c_.at = word.data() - 1;
    return fail("a type, a state space, .align or .ptr");
  }
  (v.ptr.present ? v.ptr.space : v.space) = space;
  if (space == Space::const_ && *c_.at == '[') {  // a bank of PTX 1.x and 2.x: .const[3]
    std::uint64_t bank = 0;
    c_.take('[');
    if (!unsigned_constant(bank) || !expect(']')) return false;
    v.attributes = "const[" + std::to_string(bank) + "]";
  }
  return true;
}

bool Parser::attribute_text(Variable& v) {
  if (*c_.at != '(') return fail("'('");
  const char* begin = c_.at + 1;
  const char* end = begin;
  std::size_t depth = 0;
  do {
    if (c_.at_end() || *c_.at == ';' || *c_.at == '{') return fail("')'");
    if (*c_.at == '(') ++depth;
    if (*c_.at == ')') --depth;
    end = c_.at;
    c_.skip_token();
  } while (depth != 0);
  const std::string_view text{begin, static_cast<std::size_t>(end - begin)};
  if (text == ".managed") {
    v.managed = true;
  } else {
    v.attributes = text;
  }
  return true;
}

bool Parser::variable_statement(Declared declared) {
  Variable common;
  common.linkage = prefix_.linkage;
  common.place = c_.place();
  if (!variable_attributes(common)) return false;
  do {
    Variable v = common;
    v.place = c_.place();
    std::string_view text;
    if (!name(text, "a name")) return false;
    if (c_.take('<')) {  // name<4>: name0 … name3
      std::uint64_t count = 0;
      if (!unsigned_constant(count) || !expect('>')) return false;
      if (count > fill_budget_) return fail_at(v.place, "found " + std::to_string(count) + " variables in one declaration, expected fewer");
      fill_budget_ -= count;
      for (std::uint64_t i = 0; i < count; ++i) {
        Variable numbered = v;
        numbered.name = intern(keep(std::string{text} + std::to_string(i)));
        if (!(this->*declared)(std::move(numbered))) return false;
      }
      continue;
    }
    v.name = intern(text);
    if (!dimensions(v)) return false;
    if (c_.take('=') && !initialiser(v)) return false;
    const bool sized = v.dims.empty() || v.dims[0] != 0 || v.linkage == Linkage::external;
    if (!sized) return fail_at(v.place, "found no size for '" + std::string{text} + "', expected one: only .extern variables have none");
    if (!(this->*declared)(std::move(v))) return false;
  } while (c_.take(','));
  return expect(';');
}

bool Parser::dimensions(Variable& v) {
  while (c_.take('[')) {
    std::uint64_t dim = 0;
    if (*c_.at != ']' && !unsigned_constant(dim)) return false;
    if (!expect(']')) return false;
    v.dims.push_back(dim);
  }
  return true;
}

bool Parser::initialiser(Variable& v) {
  if (*c_.at != '{') return initial_value(v, v.init.emplace_back());
  if (!is_object(v.type)) return initialiser_list(v);
  const char* begin = c_.at;
  while (*c_.at != '}') {
    if (c_.at_end() || *c_.at == ';') return fail("'}'");
    c_.skip_token();
  }
  v.init_text.assign(begin, c_.at + 1);
  c_.take('}');
  return true;
}

// { 1, {2, 3}, … }: an inner list that ends early leaves zeros up to its end.
bool Parser::initialiser_list(Variable& v) {
  std::vector<std::uint64_t> extents = v.dims;
  if (v.vector > 1) extents.push_back(v.vector);
  std::vector<std::size_t> begins;  // of the open lists
  const auto extent_of_list = [&](std::size_t level) {
    std::uint64_t elements = 1;
    for (std::size_t i = level; i < extents.size(); ++i) {
      if (__builtin_mul_overflow(elements, extents[i], &elements)) return ~std::uint64_t{0};
    }
    return elements;
  };
  const std::uint64_t whole = extent_of_list(0);
  do {
    if (c_.take('{')) {
      if (begins.size() > extents.size()) return fail("a list nested less deeply");
      begins.push_back(v.init.size());
      if (*c_.at != '}') continue;
    } else if (*c_.at != '}') {
      if (whole != 0 && v.init.size() >= whole) return fail("at most " + std::to_string(whole) + " initial values");
      if (!initial_value(v, v.init.emplace_back())) return false;
    }
    while (*c_.at == '}') {
      c_.take('}');
      const std::size_t level = begins.size() - 1;
      const std::uint64_t extent = level == 0 ? 0 : extent_of_list(level);
      const std::size_t used = v.init.size() - begins.back();
      begins.pop_back();
      if (used > extent && level != 0) return fail("fewer values in an inner list");
      if (level != 0 && extent - used > fill_budget_) return fail("an initialiser without so large a gap");
      if (level != 0) {
        fill_budget_ -= extent - used;
        InitValue zero;
        convert_initial(v, {}, zero);
        v.init.resize(v.init.size() + (extent - used), zero);
      }
      if (begins.empty()) break;
    }
    if (begins.empty()) break;
    if (!c_.take(',')) return fail("',' or '}'");
  } while (!c_.at_end());
  if (!begins.empty()) return fail("'}'");
  if (!v.dims.empty() && v.dims[0] == 0) {
    const std::uint64_t row = extent_of_list(1);
    if (row != 0) v.dims[0] = (v.init.size() + row - 1) / row;
  }
  return true;
}

bool Parser::initial_value(const Variable& v, InitValue& value) {
  if (is(*c_.at, char_class::name_start) && c_.peek_name() != "WARP_SZ") return symbol_value(value);
  Constant c;
  if ((!is(*c_.at, char_class::digit) || !plain_number(c.bits)) && !constant(Binding::conditional, c)) return false;
  if (*c_.at != '(') {
    convert_initial(v, c, value);
    return true;
  }
  c_.take('(');  // 0xff00(symbol)
  if (!symbol_value(value) || !expect(')')) return false;
  value.kind = InitValue::Kind::masked_address;
  value.mask = c.bits;
  return true;
}

// symbol, generic(symbol), each with + or - a constant.
bool Parser::symbol_value(InitValue& value) {
  std::string_view text;
  if (!name(text, "a symbol")) return false;
  value.kind = InitValue::Kind::address;
  if (text == "generic" && c_.take('(')) {
    value.generic = true;
    if (!name(text, "a symbol") || !symbol_offset(value) || !expect(')')) return false;
  }
  value.symbol = intern(text);
  return symbol_offset(value);
}

bool Parser::symbol_offset(InitValue& value) {
  while (*c_.at == '+' || *c_.at == '-') {
    const bool minus = *c_.at == '-';
    c_.take(*c_.at);
    Constant c;
    if (!constant(Binding::product, c)) return false;
    value.bits = minus ? value.bits - c.bits : value.bits + c.bits;
  }
  return true;
}

// The number as bits of the variable's type.
void Parser::convert_initial(const Variable& v, const Constant& c, InitValue& value) {
  value.kind = InitValue::Kind::integer;
  value.bits = c.bits;
  if (v.type == Type::f64) {
    value.kind = InitValue::Kind::real;
    value.bits = std::bit_cast<std::uint64_t>(c.real());
  } else if (v.type == Type::f32) {
    value.kind = InitValue::Kind::real;
    value.bits = c.type == Type::f32 ? c.bits : std::bit_cast<std::uint32_t>(static_cast<float>(c.real()));
  }
}

bool Parser::parameter_list(std::vector<Variable>& list) {
  if (!expect('(')) return false;
  while (*c_.at != ')') {
    Variable v;
    v.space = Space::param;
    v.place = c_.place();
    if (!variable_attributes(v)) return false;
    std::string_view text;
    if (!name(text, "the parameter's name")) return false;
    v.name = intern(text);
    if (!dimensions(v)) return false;
    list.push_back(std::move(v));
    if (!c_.take(',') && *c_.at != ')') return fail("',' or ')'");
  }
  c_.take(')');
  return true;
}

// .reg .v4 .f32 a, b; .reg .b32 %r<100>;
bool Parser::register_statement() {
  Variable form;
  form.space = Space::reg;
  if (!variable_attributes(form)) return false;
  do {
    const SourcePlace place = c_.place();
    std::string_view text;
    if (!name(text, "a register's name")) return false;
    std::uint64_t count = 1;
    const bool numbered = c_.take('<');
    if (numbered && (!unsigned_constant(count) || !expect('>'))) return false;
    if (count > fill_budget_) return fail_at(place, "found " + std::to_string(count) + " registers in one declaration, expected fewer");
    fill_budget_ -= count;
    if (!declare_register(form, text, numbered, static_cast<std::uint32_t>(count), place)) return false;
    add_marker(MarkerKind::register_decl, static_cast<Index>(function_->register_decls.size() - 1));
  } while (c_.take(','));
  return expect(';');
}

bool Parser::declare_register(const Variable& form, std::string_view text, bool numbered, std::uint32_t count, SourcePlace place) {
  Function& f = *function_;
  RegisterDecl decl;
  decl.name = intern(text);
  decl.type = form.type;
  decl.vector = form.vector;
  decl.numbered = numbered;
  decl.count = count;
  decl.first = static_cast<Index>(f.registers.size());
  decl.scope = current_scope();
  decl.place = place;
  const bool fresh =
      numbered ? locals_.declare_numbered(text, decl.first, count) : locals_.declare(text, {LocalName::Kind::reg, decl.first});
  if (!fresh) return fail_at(place, "found a second declaration of '" + std::string{text} + "' in one scope, expected a new name");
  const auto index = static_cast<Index>(f.register_decls.size());
  f.register_decls.push_back(decl);
  f.registers.resize(f.registers.size() + count);  // grows by doubling, unlike reserve()
  for (std::uint32_t i = 0; i < count; ++i) f.registers[decl.first + i] = {index, i};
  return true;
}

bool Parser::add_function_variable(Variable&& v) {
  Function& f = *function_;
  const auto index = static_cast<Index>(f.variables.size());
  v.scope = current_scope();
  if (!locals_.declare(view_of(v.name), {LocalName::Kind::variable, index})) {
    return fail_at(v.place, "found a second declaration of '" + m_.strings[v.name] + "' in one scope, expected a new name");
  }
  f.variables.push_back(std::move(v));
  add_marker(MarkerKind::variable_decl, index);
  return true;
}

// PTX before 1.4 declared a kernel's parameters in its body.
bool Parser::add_old_parameter(Variable&& v) {
  Function& f = *function_;
  if (!locals_.declare(view_of(v.name), {LocalName::Kind::parameter, static_cast<Index>(f.params.size())})) {
    return fail_at(v.place, "found a second declaration of '" + m_.strings[v.name] + "' in one scope, expected a new name");
  }
  f.params.push_back(std::move(v));
  return true;
}

}  // namespace tessera::ptx
