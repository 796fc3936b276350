// check(): the invariant of the representation.
#include <fmt/core.h>

#include "placement/ptx/ir.h"

namespace tessera::ptx {
namespace {

class Checker {
 public:
  explicit Checker(const Module& module) : m_(module) {}

  std::string run() {
    if (m_.strings.empty() || !m_.strings[0].empty()) return "string 0 is empty";
    for (const Variable& v : m_.variables) check_variable(v);
    for (const Module::Order& o : m_.order) check_order(o);
    for (const Function& f : m_.functions) {
      if (!problem_.empty()) break;
      check_function(f);
    }
    return problem_;
  }

 private:
  void require(bool holds, std::string_view sentence) {
    if (!holds && problem_.empty())
      problem_ = f_ == nullptr ? std::string{sentence} : fmt::format("{}: {}", m_.strings[f_->name], sentence);
  }
  void string(Index s) { require(s < m_.strings.size(), "names are strings of the module"); }
  void check_order(const Module::Order& o) {
    switch (o.kind) {
      case Module::Order::Kind::variable:
        return require(o.index < m_.variables.size(), "the order lists variables");
      case Module::Order::Kind::function:
        return require(o.index < m_.functions.size(), "the order lists functions");
      case Module::Order::Kind::text:
        return require(o.index < m_.passthrough.size(), "the order lists texts");
    }
  }
  void check_variable(const Variable& v) {
    string(v.name);
    require(v.type != Type::none, "variables have a type");
    for (const InitValue& i : v.init) {
      if (i.kind == InitValue::Kind::address || i.kind == InitValue::Kind::masked_address) string(i.symbol);
    }
  }
  void check_parameters(const Function& f);
  void check_function(const Function& f);
  void check_registers(const Function& f);
  void check_prototypes(const Function& f);
  void check_markers(const Function& f);
  void check_instr(const Function& f, const Instr& i);
  void check_operand(const Function& f, const Operand& o);
  void check_children(const Function& f, const Operand& o, Index parent);
  void check_reference(const Function& f, const Operand& o);

  const Module& m_;
  const Function* f_ = nullptr;
  std::string problem_;
};

void Checker::check_function(const Function& f) {
  require(f.name < m_.strings.size(), "names are strings of the module");
  if (!problem_.empty()) return;
  f_ = &f;
  for (const Variable& v : f.returns) check_variable(v);
  check_parameters(f);
  require(f.has_body || f.instrs.empty(), "only bodies have instructions");
  check_registers(f);
  const auto scopes = static_cast<Index>(f.scope_parents.size());
  for (Index s = 1; s < scopes; ++s) require(f.scope_parents[s] < s, "scopes are numbered in text order");
  for (const Variable& v : f.variables) {
    check_variable(v);
    require(v.scope < scopes, "variables stand in a scope");
  }
  for (const Label& l : f.labels) {
    string(l.name);
    require(l.target <= f.instrs.size() || (l.target == no_index && f.broken), "labels name an instruction or the end");
  }
  check_prototypes(f);
  check_markers(f);
  for (const Instr& i : f.instrs) {
    if (!problem_.empty()) break;
    check_instr(f, i);
  }
  f_ = nullptr;
}

void Checker::check_parameters(const Function& f) {
  std::uint64_t end = 0;
  for (const Variable& v : f.params) {
    check_variable(v);
    require(v.offset >= end, "parameters don't overlap");
    end = v.offset + std::min<std::uint64_t>(v.size(), f.param_bytes);
  }
}

void Checker::check_registers(const Function& f) {
  Index next = 0;
  for (Index d = 0; d < f.register_decls.size(); ++d) {
    const RegisterDecl& decl = f.register_decls[d];
    string(decl.name);
    require(decl.first == next && decl.count <= f.registers.size() - next, "register numbers are dense");
    if (!problem_.empty()) return;
    require(decl.numbered || decl.count == 1, "a plain declaration is one register");
    for (std::uint32_t n = 0; n < decl.count; ++n) {
      require(f.registers[next + n].decl == d && f.registers[next + n].number == n, "registers know their declaration");
    }
    next += decl.count;
  }
  require(next == f.registers.size(), "each register has a declaration");
}

void Checker::check_prototypes(const Function& f) {
  for (const Prototype& p : f.prototypes) {
    string(p.name);
    for (Index t : p.targets) {
      if (p.kind == Prototype::Kind::branch_targets)
        require(t < f.labels.size(), "branch targets are labels");
      else
        string(t);
    }
  }
}

void Checker::check_markers(const Function& f) {
  Index before = 0;
  for (const Marker& marker : f.markers) {
    require(marker.before >= before && marker.before <= f.instrs.size(), "markers are sorted");
    before = marker.before;
    std::size_t limit = 0;
    switch (marker.kind) {
      case MarkerKind::label:
        limit = f.labels.size();
        break;
      case MarkerKind::scope_open:
      case MarkerKind::scope_close:
        limit = f.scope_parents.size();
        break;
      case MarkerKind::register_decl:
        limit = f.register_decls.size();
        break;
      case MarkerKind::variable_decl:
        limit = f.variables.size();
        break;
      case MarkerKind::prototype:
        limit = f.prototypes.size();
        break;
      case MarkerKind::pragma:
      case MarkerKind::loc:
        limit = m_.strings.size();
        break;
    }
    require(marker.ref < limit, "markers name what they mark");
  }
}

void Checker::check_instr(const Function& f, const Instr& i) {
  require(i.modifiers + std::size_t{i.modifier_count} <= f.modifiers.size(), "modifiers lie in their array");
  require(i.operands + std::size_t{i.operand_count} <= f.operands.size(), "operands lie in their array");
  if (!problem_.empty()) return;
  require(i.guarded == (i.guard < f.registers.size()), "a guard is a register");
  require((i.opcode == Opcode::unknown) == (i.name != no_index), "unknown opcodes have a name");
  if (i.name != no_index) string(i.name);
  const auto first = static_cast<std::size_t>(Modifier::first_unknown);
  for (Modifier m : f.modifiers_of(i)) {
    require(static_cast<std::size_t>(m) < first + m_.unknown_modifiers.size(), "modifiers are known or listed");
  }
  for (Index o = i.operands; o < i.operands + i.operand_count; ++o) {
    check_operand(f, f.operands[o]);
    if (f.operands[o].child_count != 0) check_children(f, f.operands[o], o);
  }
}

// Children stand before their parents, so that this ends.
void Checker::check_children(const Function& f, const Operand& o, Index parent) {
  require(o.ref + std::size_t{o.child_count} <= parent, "children stand before their parent");
  if (!problem_.empty()) return;
  for (Index c = o.ref; c < o.ref + o.child_count; ++c) {
    check_operand(f, f.operands[c]);
    if (f.operands[c].child_count != 0) check_children(f, f.operands[c], c);
  }
}

void Checker::check_operand(const Function& f, const Operand& o) {
  switch (o.kind) {
    case OperandKind::reg:
      return require(o.ref < f.registers.size(), "operands name registers");
    case OperandKind::special_reg:
      return require(o.ref < static_cast<Index>(SpecialReg::unknown), "operands name special registers");
    case OperandKind::immediate:
      return require(o.type == Type::s64 || o.type == Type::u64, "integer immediates are s64 or u64");
    case OperandKind::float_imm:
      return require(o.type == Type::f32 || o.type == Type::f64, "float immediates are f32 or f64");
    case OperandKind::function:
      return require(o.ref < m_.functions.size(), "operands name functions");
    case OperandKind::label:
      return require(o.ref < f.labels.size(), "operands name labels");
    case OperandKind::proto:
      return require(o.ref < f.prototypes.size(), "operands name prototypes");
    case OperandKind::variable:
      return check_reference(f, o);
    case OperandKind::address:
      if (o.base_kind == BaseKind::reg) require(o.ref < f.registers.size(), "addresses name registers");
      if (o.base_kind == BaseKind::variable) check_reference(f, o);
      return;
    case OperandKind::vector:
    case OperandKind::list:
    case OperandKind::compound:
    case OperandKind::pair:
    case OperandKind::sink:
      return;
  }
}

void Checker::check_reference(const Function& f, const Operand& o) {
  std::size_t limit = 0;
  switch (o.symbol_space) {
    case SymbolSpace::module_variable:
      limit = m_.variables.size();
      break;
    case SymbolSpace::function_variable:
      limit = f.variables.size();
      break;
    case SymbolSpace::parameter:
      limit = f.params.size();
      break;
    case SymbolSpace::return_parameter:
      limit = f.returns.size();
      break;
  }
  require(o.ref < limit, "operands name variables");
}

}  // namespace

std::string check(const Module& module) { return Checker{module}.run(); }

}  // namespace tessera::ptx
