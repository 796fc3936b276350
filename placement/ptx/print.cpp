// Modules, declarations, bodies; instructions are written by print_instr.cpp.
#include "placement/ptx/print.h"

#include "placement/ptx/printer.h"

namespace tessera::ptx {

void Printer::module() {
  out_ += fmt::format(".version {}.{}\n", m_.version_major, m_.version_minor);
  for (std::size_t i = 0; i < m_.targets.size(); ++i) {
    out_ += i == 0 ? ".target " : ", ";
    out_ += m_.targets[i];
  }
  if (!m_.targets.empty()) out_ += '\n';
  if (m_.address_size != 64 || m_.version_major > 2 || (m_.version_major == 2 && m_.version_minor > 2)) {
    out_ += fmt::format(".address_size {}\n", m_.address_size);
  }
  for (const auto& [index, path] : m_.files) out_ += fmt::format(".file {} \"{}\"\n", index, path);
  for (const Module::Order& o : m_.order) {
    switch (o.kind) {
      case Module::Order::Kind::variable:
        variable(m_.variables[o.index]);
        out_ += ";\n";
        break;
      case Module::Order::Kind::function:
        function(m_.functions[o.index]);
        break;
      case Module::Order::Kind::text:
        out_ += m_.passthrough[o.index];
        out_ += '\n';
        break;
    }
  }
}

void Printer::linkage(Linkage l) {
  switch (l) {
    case Linkage::internal:
      break;
    case Linkage::visible:
      out_ += ".visible ";
      break;
    case Linkage::external:
      out_ += ".extern ";
      break;
    case Linkage::weak:
      out_ += ".weak ";
      break;
    case Linkage::common:
      out_ += ".common ";
      break;
  }
}

void Printer::variable(const Variable& v) {
  linkage(v.linkage);
  out_ += '.';
  if (v.attributes.starts_with("const[")) {
    out_ += v.attributes;
  } else {
    out_ += text_of(v.space);
    if (!v.attributes.empty()) out_ += fmt::format(" .attribute({})", v.attributes);
  }
  if (v.managed) out_ += " .attribute(.managed)";
  if (v.align != 0) out_ += fmt::format(" .align {}", v.align);
  if (v.vector > 1) out_ += fmt::format(" .v{}", v.vector);
  out_ += " .";
  out_ += text_of(v.type);
  if (v.ptr.present) {
    out_ += " .ptr";
    if (v.ptr.space != Space::generic) (out_ += " .") += text_of(v.ptr.space);
    if (v.ptr.align != 0) out_ += fmt::format(" .align {}", v.ptr.align);
  }
  out_ += ' ';
  text(v.name);
  for (std::size_t d = 0; d < v.dims.size(); ++d) {
    out_ += '[';
    if (v.dims[d] != 0 || d != 0) number(v.dims[d]);
    out_ += ']';
  }
  initialiser(v);
}

void Printer::initialiser(const Variable& v) {
  if (!v.init_text.empty()) {
    out_ += " = ";
    out_ += v.init_text;
    return;
  }
  if (v.init.empty()) return;
  const bool list = !v.dims.empty() || v.vector > 1;
  // Elements of an inner list, by level of nesting from outside in.
  std::vector<std::uint64_t> rows;
  std::uint64_t elements = v.vector;
  if (v.vector > 1 && !v.dims.empty()) rows.push_back(elements);
  for (std::size_t d = v.dims.size(); d-- > 1;) rows.insert(rows.begin(), elements *= std::max<std::uint64_t>(v.dims[d], 1));
  out_ += list ? " = {" : " = ";
  for (std::size_t i = 0; i < v.init.size(); ++i) {
    if (i != 0) out_ += ", ";
    for (std::uint64_t row : rows) out_.append(i % row == 0 ? 1 : 0, '{');
    initial_value(v, v.init[i]);
    for (std::uint64_t row : rows) out_.append((i + 1) % row == 0 || i + 1 == v.init.size() ? 1 : 0, '}');
  }
  if (list) out_ += '}';
}

void Printer::initial_value(const Variable& v, const InitValue& value) {
  switch (value.kind) {
    case InitValue::Kind::integer:
      number(value.bits);
      return;
    case InitValue::Kind::real:
      out_ += v.type == Type::f32 ? fmt::format("0f{:08X}", value.bits) : fmt::format("0d{:016X}", value.bits);
      return;
    case InitValue::Kind::address:
    case InitValue::Kind::masked_address:
      break;
  }
  const bool masked = value.kind == InitValue::Kind::masked_address;
  if (masked) out_ += fmt::format("0x{:x}(", value.mask);
  if (value.generic) out_ += "generic(";
  text(value.symbol);
  if (value.generic) out_ += ')';
  offset(value.bits);
  if (masked) out_ += ')';
}

void Printer::parameters(const std::vector<Variable>& list) {
  out_ += '(';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out_ += ", ";
    variable(list[i]);
  }
  out_ += ')';
}

void Printer::directives(const Function& f) {
  for (const Directive& d : f.directives) {
    out_ += ' ';
    out_ += d.name;
    for (std::size_t i = 0; i < d.values.size(); ++i) out_ += fmt::format("{}{}", i == 0 ? " " : ", ", d.values[i]);
    if (!d.text.empty()) {
      if (d.text[0] != '(') out_ += ' ';
      out_ += d.text;
      if (d.text[0] == '"') out_ += ';';
    }
  }
  if (f.noreturn) out_ += " .noreturn";
}

void Printer::function(const Function& f) {
  linkage(f.linkage);
  out_ += f.is_entry ? ".entry " : ".func ";
  if (!f.returns.empty()) {
    parameters(f.returns);
    out_ += ' ';
  }
  text(f.name);
  parameters(f.params);
  directives(f);
  if (!f.has_body) {
    out_ += ";\n";
    return;
  }
  out_ += "\n{\n";
  body(f);
  out_ += "}\n";
}

void Printer::body(const Function& f) {
  unsigned depth = 1;
  std::size_t next = 0;
  for (Index i = 0; i <= f.instrs.size(); ++i) {
    for (; next < f.markers.size() && f.markers[next].before == i; ++next) marker(f, f.markers[next], depth);
    if (i == f.instrs.size()) break;
    indent(depth);
    instr(f, f.instrs[i]);
    out_ += '\n';
  }
}

void Printer::marker(const Function& f, const Marker& marker, unsigned& depth) {
  if (marker.kind == MarkerKind::scope_close && depth > 1) --depth;
  if (marker.kind != MarkerKind::label && marker.kind != MarkerKind::prototype) indent(depth);
  switch (marker.kind) {
    case MarkerKind::label:
      text(f.labels[marker.ref].name);
      out_ += ":\n";
      break;
    case MarkerKind::scope_open:
      ++depth;
      out_ += "{\n";
      break;
    case MarkerKind::scope_close:
      out_ += "}\n";
      break;
    case MarkerKind::register_decl:
      register_decl(f.register_decls[marker.ref]);
      break;
    case MarkerKind::variable_decl:
      variable(f.variables[marker.ref]);
      out_ += ";\n";
      break;
    case MarkerKind::prototype:
      prototype(f, f.prototypes[marker.ref]);
      break;
    case MarkerKind::pragma:
      out_ += fmt::format(".pragma {};\n", m_.strings[marker.ref]);
      break;
    case MarkerKind::loc:
      out_ += fmt::format(".loc {}\n", m_.strings[marker.ref]);
      break;
  }
}

void Printer::register_decl(const RegisterDecl& decl) {
  out_ += ".reg ";
  if (decl.vector > 1) out_ += fmt::format(".v{} ", decl.vector);
  out_ += fmt::format(".{} {}", text_of(decl.type), m_.strings[decl.name]);
  if (decl.numbered) out_ += fmt::format("<{}>", decl.count);
  out_ += ";\n";
}

void Printer::prototype(const Function& f, const Prototype& p) {
  text(p.name);
  out_ += ": ";
  if (p.kind == Prototype::Kind::call_prototype) {
    out_ += ".callprototype ";
    parameters(p.returns);
    out_ += " _ ";
    parameters(p.params);
    if (p.noreturn) out_ += " .noreturn";
  } else {
    out_ += p.kind == Prototype::Kind::call_targets ? ".calltargets " : ".branchtargets ";
    for (std::size_t i = 0; i < p.targets.size(); ++i) {
      if (i != 0) out_ += ", ";
      text(p.kind == Prototype::Kind::call_targets ? p.targets[i] : f.labels[p.targets[i]].name);
    }
  }
  out_ += ";\n";
}
std::string print(const Module& module) {
  std::string out;
  Printer{module, out}.module();
  return out;
}

}  // namespace tessera::ptx
