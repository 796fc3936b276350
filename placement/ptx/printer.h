// The printer's own state; included by print*.cpp only. Appends to a text that it doesn't own.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

class Printer {
 public:
  Printer(const Module& module, std::string& out) : m_(module), out_(out) {}

  void module();
  void instr(const Function& f, const Instr& i);
  void operand(const Function& f, const Operand& o);

 private:
  void number(std::uint64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void text(Index string) { out_ += m_.strings[string]; }
  void linkage(Linkage l);
  void variable(const Variable& v);
  void initialiser(const Variable& v);
  void initial_value(const Variable& v, const InitValue& value);
  void parameters(const std::vector<Variable>& list);
  void directives(const Function& f);
  void function(const Function& f);
  void body(const Function& f);
  void marker(const Function& f, const Marker& marker, unsigned& depth);
  void register_decl(const RegisterDecl& decl);
  void prototype(const Function& f, const Prototype& p);
  void register_name(const Function& f, Index reg);
  void immediate(const Operand& o);
  void offset(std::uint64_t value);
  void address(const Function& f, const Operand& o);
  void children(const Function& f, const Operand& o, std::string_view open, std::string_view between, std::string_view close);
  void indent(unsigned depth) {
    constexpr unsigned deepest = 16;  // so that deep nesting doesn't square the text
    out_.append(std::min(depth, deepest), '\t');
  }

  const Module& m_;
  std::string& out_;
};

}  // namespace tessera::ptx
