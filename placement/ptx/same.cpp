// same(): equality of two modules, up to what doesn't matter.
#include <fmt/core.h>

#include <algorithm>

#include "placement/ptx/ir.h"
#include "placement/ptx/print.h"

namespace tessera::ptx {
namespace {

class Comparison {
 public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  [[nodiscard]] std::string difference();

 private:
  void require(bool equal, std::string_view what, SourcePlace place = {}) {
    if (!equal && difference_.empty()) difference_ = fmt::format("{} (line {})", what, place.line);
  }
  [[nodiscard]] bool text(Index x, Index y) const {
    if (x == no_index || y == no_index) return x == y;
    return a_.strings[x] == b_.strings[y];
  }
  [[nodiscard]] bool init(const InitValue& x, const InitValue& y) const {
    return x.kind == y.kind && x.bits == y.bits && x.generic == y.generic && x.mask == y.mask && text(x.symbol, y.symbol);
  }
  [[nodiscard]] bool variable(const Variable& x, const Variable& y) const;
  [[nodiscard]] bool variables(const std::vector<Variable>& x, const std::vector<Variable>& y) const {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [this](const Variable& v, const Variable& w) { return variable(v, w); });
  }
  [[nodiscard]] bool prototype(const Prototype& x, const Prototype& y) const;
  [[nodiscard]] bool markers(const Function& x, const Function& y) const;
  [[nodiscard]] bool declarations(const Function& x, const Function& y) const;
  [[nodiscard]] bool modifiers(const Function& x, const Instr& i, const Function& y, const Instr& j);
  [[nodiscard]] bool operands(const Function& x, std::span<const Operand> o, const Function& y, std::span<const Operand> p) const;
  [[nodiscard]] bool instr(const Function& x, const Instr& i, const Function& y, const Instr& j);
  void function(const Function& x, const Function& y);

  const Module& a_;
  const Module& b_;
  std::string difference_;
  std::vector<std::string_view> left_, right_;
};

bool Comparison::variable(const Variable& x, const Variable& y) const {
  return text(x.name, y.name) && x.space == y.space && x.type == y.type && x.vector == y.vector && x.linkage == y.linkage &&
         x.align == y.align && x.dims == y.dims && x.init_text == y.init_text && x.ptr == y.ptr && x.managed == y.managed &&
         x.attributes == y.attributes && x.scope == y.scope && x.offset == y.offset &&
         std::equal(x.init.begin(), x.init.end(), y.init.begin(), y.init.end(),
                    [this](const auto& v, const auto& w) { return init(v, w); });
}

bool Comparison::prototype(const Prototype& x, const Prototype& y) const {
  const bool labels = x.kind == Prototype::Kind::branch_targets;
  return x.kind == y.kind && text(x.name, y.name) && x.noreturn == y.noreturn && x.scope == y.scope && variables(x.returns, y.returns) &&
         variables(x.params, y.params) &&
         std::equal(x.targets.begin(), x.targets.end(), y.targets.begin(), y.targets.end(),
                    [&](Index s, Index t) { return labels ? s == t : text(s, t); });
}

bool Comparison::markers(const Function& x, const Function& y) const {
  return std::equal(x.markers.begin(), x.markers.end(), y.markers.begin(), y.markers.end(), [this](const Marker& s, const Marker& t) {
    const bool by_text = s.kind == MarkerKind::loc || s.kind == MarkerKind::pragma;
    return s.kind == t.kind && s.before == t.before && (by_text ? text(s.ref, t.ref) : s.ref == t.ref);
  });
}

bool Comparison::declarations(const Function& x, const Function& y) const {
  const auto registers = [this](const RegisterDecl& s, const RegisterDecl& t) {
    return text(s.name, t.name) && s.type == t.type && s.vector == t.vector && s.numbered == t.numbered && s.count == t.count &&
           s.scope == t.scope;
  };
  const auto labels = [this](const Label& s, const Label& t) { return text(s.name, t.name) && s.scope == t.scope && s.target == t.target; };
  const auto prototypes = [this](const Prototype& s, const Prototype& t) { return prototype(s, t); };
  return std::equal(x.register_decls.begin(), x.register_decls.end(), y.register_decls.begin(), y.register_decls.end(), registers) &&
         std::equal(x.labels.begin(), x.labels.end(), y.labels.begin(), y.labels.end(), labels) &&
         std::equal(x.prototypes.begin(), x.prototypes.end(), y.prototypes.begin(), y.prototypes.end(), prototypes) &&
         variables(x.variables, y.variables) && x.scope_parents == y.scope_parents;
}

// The set of modifiers; types among them in their order.
bool Comparison::modifiers(const Function& x, const Instr& i, const Function& y, const Instr& j) {
  const auto m = x.modifiers_of(i);
  const auto n = y.modifiers_of(j);
  if (m.size() != n.size()) return false;
  left_.clear();
  right_.clear();
  bool same_order = true;
  for (std::size_t k = 0; k < m.size(); ++k) {
    left_.push_back(a_.modifier_text(m[k]));
    right_.push_back(b_.modifier_text(n[k]));
    same_order = same_order && left_[k] == right_[k];
  }
  if (same_order) return true;
  for (unsigned t = 0; x.type_of(i, t) != Type::none || y.type_of(j, t) != Type::none; ++t) {
    if (x.type_of(i, t) != y.type_of(j, t)) return false;
  }
  std::sort(left_.begin(), left_.end());
  std::sort(right_.begin(), right_.end());
  return left_ == right_;
}

bool Comparison::operands(const Function& x, std::span<const Operand> o, const Function& y, std::span<const Operand> p) const {
  if (o.size() != p.size()) return false;
  for (std::size_t k = 0; k < o.size(); ++k) {
    Operand s = o[k];
    Operand t = p[k];
    const bool parent = s.child_count != 0;
    if (parent && (s.child_count != t.child_count || !operands(x, x.children_of(s), y, y.children_of(t)))) return false;
    if (s.kind == OperandKind::vector || s.kind == OperandKind::list || s.kind == OperandKind::compound || s.kind == OperandKind::pair) {
      s.ref = t.ref = 0;
    }
    if (s.kind == OperandKind::function && t.kind == OperandKind::function) {
      if (!text(a_.functions[s.ref].name, b_.functions[t.ref].name)) return false;
      s.ref = t.ref;
    }
    if (s != t) return false;
  }
  return true;
}

bool Comparison::instr(const Function& x, const Instr& i, const Function& y, const Instr& j) {
  return i.opcode == j.opcode && text(i.name, j.name) && i.guarded == j.guarded && i.guard_negated == j.guard_negated &&
         i.guard == j.guard && modifiers(x, i, y, j) && operands(x, x.operands_of(i), y, y.operands_of(j));
}

void Comparison::function(const Function& x, const Function& y) {
  require(text(x.name, y.name), "names of functions", x.place);
  if (!difference_.empty()) return;
  const std::string& name = a_.strings[x.name];
  require(x.is_entry == y.is_entry && x.has_body == y.has_body && x.linkage == y.linkage && x.noreturn == y.noreturn &&
              x.directives == y.directives && x.broken == y.broken && x.body_skipped == y.body_skipped,
          name + ": header", x.place);
  require(variables(x.returns, y.returns) && variables(x.params, y.params) && x.param_bytes == y.param_bytes, name + ": parameters",
          x.place);
  require(declarations(x, y), name + ": declarations, labels or scopes", x.place);
  require(markers(x, y), name + ": places of declarations, labels or scopes", x.place);
  require(x.instrs.size() == y.instrs.size(), name + ": number of instructions", x.place);
  for (std::size_t k = 0; k < x.instrs.size() && difference_.empty(); ++k) {
    if (instr(x, x.instrs[k], y, y.instrs[k])) continue;
    require(false, name + ": " + print_instr(a_, x, x.instrs[k]) + " / " + print_instr(b_, y, y.instrs[k]), x.instrs[k].place);
  }
}

std::string Comparison::difference() {
  require(a_.version_major == b_.version_major && a_.version_minor == b_.version_minor, ".version");
  require(a_.targets == b_.targets, ".target");
  require(a_.address_size == b_.address_size, ".address_size");
  require(a_.files == b_.files, ".file");
  require(a_.passthrough == b_.passthrough, "text passed through");
  require(variables(a_.variables, b_.variables), "variables of the module");
  require(std::equal(a_.order.begin(), a_.order.end(), b_.order.begin(), b_.order.end(),
                     [](const auto& s, const auto& t) { return s.kind == t.kind && s.index == t.index; }),
          "order of declarations");
  require(a_.functions.size() == b_.functions.size(), "number of functions");
  for (std::size_t f = 0; f < a_.functions.size() && difference_.empty(); ++f) function(a_.functions[f], b_.functions[f]);
  return std::move(difference_);
}

}  // namespace

bool same(const Module& a, const Module& b, std::string* difference) {
  std::string found = Comparison{a, b}.difference();
  const bool equal = found.empty();
  if (difference != nullptr) *difference = std::move(found);
  return equal;
}

}  // namespace tessera::ptx
