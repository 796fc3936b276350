#include "placement/ptx/ir.h"

#include <algorithm>
#include <cctype>

namespace tessera::ptx {
namespace {

// a * b, at most 2^64 - 1.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~std::uint64_t{0} : product;
}

}  // namespace

std::uint64_t Variable::size() const {
  std::uint64_t bytes = std::uint64_t{bytes_of(type)} * vector;
  for (std::uint64_t dim : dims) bytes = saturating_product(bytes, dim);
  return bytes;
}

std::uint32_t Variable::alignment() const {
  if (align != 0) return align;
  return std::max(1U, bytes_of(type) * vector);
}

bool Function::has(const Instr& i, Modifier m) const {
  const auto list = modifiers_of(i);
  return std::find(list.begin(), list.end(), m) != list.end();
}

Type Function::type_of(const Instr& i, unsigned n) const {
  for (Modifier m : modifiers_of(i)) {
    const Type type = type_of_modifier(m);
    if (type == Type::none) continue;
    if (n == 0) return type;
    --n;
  }
  return Type::none;
}

Space Function::space_of(const Instr& i) const {
  for (Modifier m : modifiers_of(i)) {
    const Space space = space_of_modifier(m);
    if (space != Space::generic) return space;
  }
  return Space::generic;
}

unsigned Function::vector_of(const Instr& i) const {
  for (Modifier m : modifiers_of(i)) {
    if (m == Modifier::v2) return 2;
    if (m == Modifier::v4) return 4;
    if (m == Modifier::v8) return 8;
  }
  return 1;
}

const Directive* Function::find_directive(std::string_view directive_name) const {
  for (const Directive& d : directives) {
    if (d.name == directive_name) return &d;
  }
  return nullptr;
}

std::string Module::register_name(const Function& f, Index reg) const {
  const RegisterDecl& decl = f.decl_of(reg);
  std::string name = strings[decl.name];
  if (decl.numbered) name += std::to_string(f.registers[reg].number);
  return name;
}

std::string_view Module::opcode_text(const Instr& i) const {
  if (i.opcode != Opcode::unknown) return row_of(i.opcode).text;
  return i.name == no_index ? std::string_view{} : std::string_view{strings[i.name]};
}

std::string_view Module::modifier_text(Modifier m) const {
  if (m < Modifier::first_unknown) return text_of_known(m);
  return unknown_modifiers[static_cast<std::size_t>(m) - static_cast<std::size_t>(Modifier::first_unknown)];
}

const Function* Module::find_function(std::string_view name) const {
  const Function* declaration = nullptr;
  for (const Function& f : functions) {
    if (strings[f.name] != name) continue;
    if (f.has_body) return &f;
    if (declaration == nullptr) declaration = &f;
  }
  return declaration;
}

const Function* Module::definition_of(Index function) const {
  if (function >= functions.size()) return nullptr;
  const Function& f = functions[function];
  return f.has_body ? &f : find_function(strings[f.name]);
}

const Variable* Module::find_variable(std::string_view name) const {
  const Variable* external = nullptr;
  for (const Variable& v : variables) {
    if (strings[v.name] != name) continue;
    if (v.linkage != Linkage::external) return &v;
    if (external == nullptr) external = &v;
  }
  return external;
}

const Variable& Module::variable_of(const Function& f, const Operand& o) const {
  switch (o.symbol_space) {
    case SymbolSpace::function_variable:
      return f.variables[o.ref];
    case SymbolSpace::parameter:
      return f.params[o.ref];
    case SymbolSpace::return_parameter:
      return f.returns[o.ref];
    case SymbolSpace::module_variable:
      break;
  }
  return variables[o.ref];
}

unsigned Module::sm() const {
  for (const std::string& target : targets) {
    const std::size_t underscore = target.find('_');
    if (underscore == std::string::npos) continue;
    const std::string_view family{target.data(), underscore};
    if (family != "sm" && family != "compute") continue;
    unsigned number = 0;
    for (std::size_t i = underscore + 1; i < target.size() && std::isdigit(static_cast<unsigned char>(target[i])) != 0 && number < 100000;
         ++i) {
      number = number * 10 + static_cast<unsigned>(target[i] - '0');
    }
    return number;
  }
  return 0;
}

}  // namespace tessera::ptx
