// Instructions and operands.
#include "placement/ptx/print.h"
#include "placement/ptx/printer.h"

namespace tessera::ptx {
namespace {

constexpr std::string_view component_letters = "xyzw";

}  // namespace

void Printer::instr(const Function& f, const Instr& i) {
  if (i.guarded) {
    out_ += i.guard_negated ? "@!" : "@";
    register_name(f, i.guard);
    out_ += ' ';
  }
  out_ += m_.opcode_text(i);
  for (Modifier m : f.modifiers_of(i)) {
    out_ += '.';
    out_ += m_.modifier_text(m);
  }
  bool first = true;
  for (const Operand& o : f.operands_of(i)) {
    out_ += first ? " " : ", ";
    first = false;
    operand(f, o);
  }
  out_ += ';';
}

void Printer::register_name(const Function& f, Index reg) {
  const RegisterDecl& decl = f.decl_of(reg);
  text(decl.name);
  if (decl.numbered) number(f.registers[reg].number);
}

void Printer::operand(const Function& f, const Operand& o) {
  if (o.negated) out_ += o.kind == OperandKind::reg && f.decl_of(o.ref).type == Type::pred ? '!' : '-';
  switch (o.kind) {
    case OperandKind::reg:
    case OperandKind::special_reg:
      if (o.kind == OperandKind::reg)
        register_name(f, o.ref);
      else
        out_ += text_of(static_cast<SpecialReg>(o.ref));
      if (o.component == selector_component) {
        out_ += '.';
        for (std::uint64_t letters = o.value; letters != 0; letters >>= 8U) out_ += static_cast<char>(letters & 0xffU);
      } else if (o.component != no_component) {
        (out_ += '.') += component_letters[o.component];
      }
      if (o.component != selector_component) offset(o.value);
      return;
    case OperandKind::immediate:
    case OperandKind::float_imm:
      immediate(o);
      return;
    case OperandKind::variable:
      text(m_.variable_of(f, o).name);
      offset(o.value);
      return;
    case OperandKind::function:
      text(m_.functions[o.ref].name);
      return;
    case OperandKind::label:
      text(f.labels[o.ref].name);
      return;
    case OperandKind::proto:
      text(f.prototypes[o.ref].name);
      return;
    case OperandKind::address:
      out_ += '[';
      address(f, o);
      out_ += ']';
      return;
    case OperandKind::vector:
      children(f, o, "{", ", ", "}");
      return;
    case OperandKind::list:
      children(f, o, "(", ", ", ")");
      return;
    case OperandKind::pair:
      children(f, o, "", "|", "");
      return;
    case OperandKind::compound:
      children(f, o, "[", ", ", "]");
      return;
    case OperandKind::sink:
      out_ += '_';
      return;
  }
}

void Printer::children(const Function& f, const Operand& o, std::string_view open, std::string_view between, std::string_view close) {
  out_ += open;
  bool first = true;
  for (const Operand& child : f.children_of(o)) {
    if (!first) out_ += between;
    if (first && o.kind == OperandKind::compound)
      address(f, child);
    else
      operand(f, child);
    first = false;
  }
  out_ += close;
}

void Printer::address(const Function& f, const Operand& o) {
  switch (o.base_kind) {
    case BaseKind::reg:
      register_name(f, o.ref);
      if (o.component != no_component) (out_ += '.') += component_letters[o.component];
      break;
    case BaseKind::variable:
      text(m_.variable_of(f, o).name);
      break;
    case BaseKind::immediate:
    case BaseKind::none:
      number(o.value);
      return;
  }
  offset(o.value);
}

void Printer::offset(std::uint64_t value) {
  if (value == 0) return;
  const auto as_signed = static_cast<std::int64_t>(value);
  out_ += as_signed < 0 ? "+-" : "+";
  number(as_signed < 0 ? 0 - value : value);
}

void Printer::immediate(const Operand& o) {
  switch (o.type) {
    case Type::f32:
      out_ += fmt::format("0f{:08X}", o.value);
      return;
    case Type::f64:
      out_ += fmt::format("0d{:016X}", o.value);
      return;
    case Type::u64:
      number(o.value);
      out_ += 'U';
      return;
    default:
      if (static_cast<std::int64_t>(o.value) < 0) {
        out_ += '-';
        number(0 - o.value);
      } else {
        number(o.value);
      }
  }
}

std::string print_instr(const Module& module, const Function& function, const Instr& instr) {
  std::string out;
  Printer{module, out}.instr(function, instr);
  return out;
}

std::string print_operand(const Module& module, const Function& function, const Operand& operand) {
  std::string out;
  Printer{module, out}.operand(function, operand);
  return out;
}

}  // namespace tessera::ptx
