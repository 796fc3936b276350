// Module-level statements and function headers.
#include <algorithm>
#include <limits>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {
namespace {

// Words that begin a statement only at module level: where one turns up elsewhere, something before it was left open.
bool begins_module_statement(std::string_view word) {
  for (std::string_view known : {"entry", "func", "visible", "weak", "extern", "version", "target", "address_size"}) {
    if (word == known) return true;
  }
  return false;
}

// Directives that can't belong to a function's header: they begin what follows it.
bool ends_header(std::string_view word) {
  for (std::string_view known : {"file", "loc", "section", "alias", "global", "const", "shared", "local", "tex"}) {
    if (word == known) return true;
  }
  return begins_module_statement(word);
}

Space variable_space(std::string_view word) {
  for (Space space : {Space::global, Space::const_, Space::shared, Space::local, Space::param, Space::tex, Space::reg}) {
    if (text_of(space) == word) return space;
  }
  return Space::generic;
}

// C layout: offsets from 0, each aligned to its own alignment. Returns the end of the last.
std::uint32_t lay_out(std::vector<Variable>& params) {
  const auto clamp = [](std::uint64_t value) { return std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()); };
  std::uint64_t end = 0;
  for (Variable& p : params) {
    const std::uint64_t align = p.alignment();
    end = clamp((end + align - 1) / align * align);
    p.offset = static_cast<std::uint32_t>(end);
    end = clamp(end + clamp(p.size()));
  }
  return static_cast<std::uint32_t>(end);
}

void lay_out(Function& f) {
  lay_out(f.returns);
  f.param_bytes = lay_out(f.params);
}

std::uint16_t small(std::uint64_t value) { return static_cast<std::uint16_t>(std::min<std::uint64_t>(value, 0xffff)); }

}  // namespace

void Parser::module_statement() {
  const Cursor start = c_;
  prefix_ = {};
  function_diagnostics_ = 0;
  bool good = true;
  if (c_.at[0] == '@' && c_.at[1] == '@') {  // debug lines of PTX 1.x and 2.x: @@DWARF .byte 0x01
    pass_through(c_.rest_of_line());
    c_.skip_line();
    c_.skip_space();
    return;
  }
  do {
    if (c_.take(';')) return;
    const std::string_view word = c_.dot_word();
    if (word.empty()) {
      good = fail("a directive");
      break;
    }
    c_.skip_space();
    if (linkage_word(word)) {
      if (c_.at_end()) good = fail("a declaration");
      continue;
    }
    good = module_directive(word);
    break;
  } while (good);
  if (good) return;
  // What cannot stand here is most likely the rest of a body that ended early.
  Function* const before = m_.functions.empty() ? nullptr : &m_.functions.back();
  if (function_ == nullptr && before != nullptr && before->has_body && c_.at == start.at) function_ = before;
  report();
  function_ = nullptr;
  c_ = start;
  resync_module(start.at);
}

bool Parser::module_directive(std::string_view word) {
  if (word == "entry" || word == "func") {
    c_.at = word.data() - 1;
    return function();
  }
  if (word == "align" || (variable_space(word) != Space::generic && word != "param" && word != "reg")) {
    c_.at = word.data() - 1;
    return module_variable();
  }
  if (word == "version") return version_directive();
  if (word == "target") return target_directive();
  if (word == "file") return file_directive();
  if (word == "section") return section_directive(word.data() - 1);
  if (word == "alias" || word == "pragma") return passthrough_statement(word.data() - 1);
  if (word == "address_size") {
    std::uint64_t bits = 0;
    if (!unsigned_constant(bits)) return false;
    if (bits != 32 && bits != 64) return fail_at(c_.place(), "found .address_size " + std::to_string(bits) + ", expected 32 or 64");
    m_.address_size = static_cast<std::uint8_t>(bits);
    return true;
  }
  if (word == "loc") {
    c_.skip_line();
    c_.skip_space();
    return true;
  }
  c_.at = word.data() - 1;
  return fail("a module-level directive (.entry, .func, .global, …)");
}

bool Parser::version_directive() {
  if (!is(*c_.at, char_class::digit)) return fail("a version such as 9.0");
  std::uint64_t parts[2] = {0, 0};
  for (std::uint64_t& part : parts) {
    if (&part != parts && *c_.at == '.') ++c_.at;
    for (; is(*c_.at, char_class::digit); ++c_.at) part = std::min<std::uint64_t>(part * 10 + static_cast<unsigned>(*c_.at - '0'), 0xffff);
  }
  if (is(*c_.at, char_class::name)) return fail("the end of the version");
  c_.skip_space();
  m_.version_major = small(parts[0]);
  m_.version_minor = small(parts[1]);
  return true;
}

bool Parser::target_directive() {
  do {
    std::string_view target;
    if (!name(target, "a target such as sm_90")) return false;
    m_.targets.emplace_back(target);
  } while (c_.take(','));
  return true;
}

bool Parser::file_directive() {  // .file 1 "name", timestamp, size
  std::uint64_t number = 0;
  if (!unsigned_constant(number)) return false;
  const std::string_view quoted = c_.quoted();
  if (quoted.empty()) return fail("a quoted file name");
  c_.skip_space();
  while (c_.take(',')) {
    std::uint64_t ignored = 0;
    if (!unsigned_constant(ignored)) return false;
  }
  m_.files.emplace_back(static_cast<std::uint32_t>(number), std::string{quoted.substr(1, quoted.size() - 2)});
  return true;
}

bool Parser::section_directive(const char* begin) {
  while (!c_.at_end() && *c_.at != '{') {
    if (*c_.at == ';' || *c_.at == '}') return fail("'{'");
    c_.skip_token();
  }
  while (!c_.at_end() && *c_.at != '}') c_.skip_token();
  if (c_.at_end()) return fail("'}' at the end of the section");
  ++c_.at;
  pass_through({begin, static_cast<std::size_t>(c_.at - begin)});
  c_.skip_space();
  return true;
}

bool Parser::passthrough_statement(const char* begin) {
  while (!c_.at_end() && *c_.at != ';') {
    if (*c_.at == '{' || *c_.at == '}') return fail("';'");
    c_.skip_token();
  }
  if (c_.at_end()) return fail("';'");
  ++c_.at;
  pass_through({begin, static_cast<std::size_t>(c_.at - begin)});
  c_.skip_space();
  return true;
}

void Parser::pass_through(std::string_view text) {
  m_.order.push_back({Module::Order::Kind::text, static_cast<Index>(m_.passthrough.size())});
  m_.passthrough.emplace_back(text);
}

// To behind the next ';' or balanced block, or in front of the next statement that only a module has.
void Parser::resync_module(const char* statement) {
  std::size_t depth = 0;
  while (!c_.at_end()) {
    if (*c_.at == '.' && c_.at != statement && begins_module_statement(c_.peek_dot_word())) {
      // A linkage word belongs to the statement that it begins: the failed one may begin with the same.
      return;
    }
    const char here = *c_.at;
    c_.skip_token();
    if (here == '{') ++depth;
    if (here == '}' && (depth == 0 || --depth == 0)) return;
    if (here == ';' && depth == 0) return;
  }
}

bool Parser::module_variable() { return variable_statement(&Parser::add_module_variable); }

bool Parser::add_module_variable(Variable&& v) {
  const auto index = static_cast<Index>(m_.variables.size());
  module_names_.insert(view_of(v.name), {}).first = {ModuleName::Kind::variable, index};
  m_.variables.push_back(std::move(v));
  m_.order.push_back({Module::Order::Kind::variable, index});
  return true;
}

bool Parser::body_wanted(std::string_view function_name) const {
  const auto& wanted = options_.only_bodies_of;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), function_name) != wanted.end();
}

bool Parser::function() {
  Function f;
  f.place = c_.place();
  f.linkage = prefix_.linkage;
  function_ = &f;
  locals_.clear();
  scratch_.operands.clear();
  const bool header = function_header(f);
  if (!header) {
    if (f.name == no_index) {  // nothing to attach it to
      function_ = nullptr;
      return false;
    }
    report();
    while (!c_.at_end() && *c_.at != '{' && *c_.at != ';' && !begins_module_statement(c_.peek_dot_word())) c_.skip_token();
  }
  const auto index = static_cast<Index>(m_.functions.size());
  if (*c_.at == '{') {
    f.has_body = true;
    m_.functions.emplace_back();
    m_.functions[index].name = f.name;  // for calls of itself
    m_.functions[index].is_entry = f.is_entry;
    declare_function(f, index);
    m_.functions[index].has_body = true;
    if (header && body_wanted(m_.strings[f.name])) {
      begin_body(f);
      body();
      end_body();
    } else {
      f.body_skipped = header;
      if (!skip_body()) diagnose(c_.place(), "found " + c_.found() + ", expected '}' at the end of the body");
    }
    lay_out(f);
    m_.functions[index] = std::move(f);
  } else {
    // Old compilers wrote declarations without a ';'.
    if (header && !c_.take(';') && !c_.at_end() && *c_.at != '.' && !(c_.at[0] == '@' && c_.at[1] == '@')) {
      fail("'{' or ';' behind the function's header");
      report();
    }
    lay_out(f);
    m_.functions.push_back(std::move(f));
    declare_function(m_.functions[index], index);
    if (!header) c_.take(';');
  }
  m_.order.push_back({Module::Order::Kind::function, index});
  function_ = nullptr;
  failed_ = false;
  return true;
}

void Parser::declare_function(const Function& f, Index index) {
  ModuleName& entry = module_names_.insert(view_of(f.name), {}).first;
  const bool known = entry.ref != no_index && entry.kind == ModuleName::Kind::function;
  if (known && f.has_body && m_.functions[entry.ref].has_body) {
    diagnose(f.place, "found a second definition of '" + m_.strings[f.name] + "', expected one");
  }
  if (!known || f.has_body) entry = {ModuleName::Kind::function, index};
}

bool Parser::function_header(Function& f) {
  f.is_entry = c_.dot_word() == "entry";
  c_.skip_space();
  if (!function_directives(f)) return false;
  if (*c_.at == '(' && !parameter_list(f.returns)) return false;
  std::string_view text;
  if (!name(text, "the function's name")) return false;
  f.name = intern(text);
  if (*c_.at == '(' && !parameter_list(f.params)) return false;
  for (const Variable& v : f.params) {
    const bool sized = v.dims.empty() || v.dims[0] != 0 || !f.is_entry;
    if (!sized || v.vector != 1) {
      return fail_at(v.place, "found a parameter that is a vector or has no size, expected a scalar or an array of known size");
    }
  }
  if (!function_directives(f)) return false;
  return true;
}

// .maxntid 256, 1, 1 .noreturn .pragma "nounroll"; .attribute(.unified(1, 2))
bool Parser::function_directives(Function& f) {
  while (*c_.at == '.') {
    const std::string_view word = c_.peek_dot_word();
    if (word.empty()) return fail("a directive");
    if (ends_header(word)) return true;
    c_.dot_word();
    c_.skip_space();
    if (word == "noreturn") {
      f.noreturn = true;
      continue;
    }
    Directive d;
    d.name = "." + std::string{word};
    if (*c_.at == '(') {
      const char* begin = c_.at;
      std::size_t depth = 0;
      do {
        if (c_.at_end() || *c_.at == ';' || *c_.at == '{') return fail("')'");
        if (*c_.at == '(') ++depth;
        if (*c_.at == ')') --depth;
        if (depth == 0) d.text.assign(begin, c_.at + 1);
        c_.skip_token();
      } while (depth != 0);
    } else if (*c_.at == '"') {
      const char* begin = c_.at;
      do {
        if (c_.quoted().empty()) return fail("a quoted text");
        d.text.assign(begin, c_.at);
        c_.skip_space();
      } while (c_.take(','));
      c_.take(';');
    } else if (is(*c_.at, char_class::digit)) {
      do {
        if (!unsigned_constant(d.values.emplace_back())) return false;
      } while (c_.take(','));
    }
    f.directives.push_back(std::move(d));
  }
  return true;
}

bool Parser::skip_body() {
  std::size_t depth = 0;
  while (!c_.at_end()) {
    const char here = *c_.at;
    if (here == '.') {
      const std::string_view word = c_.peek_dot_word();
      if (word == "entry" || word == "func") return false;
    }
    c_.skip_token();
    if (here == '{') ++depth;
    if (here == '}' && --depth == 0) return true;
  }
  return false;
}

}  // namespace tessera::ptx
