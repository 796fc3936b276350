#include "placement/ptx/parse.h"

#include <limits>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {

Parser::Parser(std::string_view text, const ParseOptions& options) : text_(padded(text)), c_(text_.data()), options_(options) {
  constexpr std::uint64_t free_entries = 1U << 20U;
  fill_budget_ = free_entries + text_.size();
  intern("");
}

Module Parser::run() {
  c_.skip_space();
  while (!c_.at_end()) module_statement();
  return std::move(m_);
}

bool Parser::fail(std::string_view expected) {
  if (failed_) return false;
  return fail_at(c_.place(), "found " + c_.found() + ", expected " + std::string{expected});
}

bool Parser::fail_at(SourcePlace place, std::string message) {
  if (!failed_) failure_ = {place, std::move(message)};
  failed_ = true;
  return false;
}

void Parser::report() {
  if (failed_) diagnose(failure_.place, std::move(failure_.message));
  failed_ = false;
}

void Parser::diagnose(SourcePlace place, std::string message) {
  if (function_ != nullptr) function_->broken = true;
  if (function_diagnostics_ >= options_.diagnostics_per_function) return;
  ++function_diagnostics_;
  m_.diagnostics.push_back({place, std::move(message), function_ != nullptr ? m_.strings[function_->name] : std::string{}});
}

Index Parser::intern(std::string_view text) {
  const auto [index, fresh] = strings_.insert(text, static_cast<Index>(m_.strings.size()));
  if (fresh) {
    m_.strings.emplace_back(text);
    views_.push_back(text);
  }
  return index;
}

std::string_view Parser::keep(std::string text) { return kept_.emplace_back(std::move(text)); }

bool Parser::expect(char c) {
  if (c_.take(c)) return true;
  return fail(std::string{"'"} + c + "'");
}

bool Parser::constant(Binding weakest, Constant& result) {
  std::string error;
  return parse_constant(c_, weakest, result, error) || fail(error);
}

bool Parser::unsigned_constant(std::uint64_t& result) {
  const SourcePlace place = c_.place();
  Constant value;
  if (!constant(Binding::shift, value)) return false;
  if (value.floating() || (value.type == Type::s64 && static_cast<std::int64_t>(value.bits) < 0)) {
    return fail_at(place, "found a negative or fractional number, expected a non-negative integer");
  }
  result = value.bits;
  return true;
}

bool Parser::name(std::string_view& result, std::string_view what) {
  result = c_.name();
  if (result.empty()) return fail(what);
  c_.skip_space();
  return true;
}

Module parse(std::string_view text, const ParseOptions& options) {
  // Numbers of operands and places in the text are 32 bits wide; each operand takes at least two characters.
  constexpr std::size_t longest = std::numeric_limits<std::uint32_t>::max();
  if (text.size() <= longest) return Parser{text, options}.run();
  Module module = Parser{{}, options}.run();
  module.diagnostics.push_back({{1, 1}, "found a text of " + std::to_string(text.size()) + " bytes, expected less than 4 GiB", {}});
  return module;
}

Result<Module> parse_strict(std::string_view text) {
  Module module = parse(text);
  if (module.diagnostics.empty()) return module;
  const Diagnostic& first = module.diagnostics.front();
  return Error{ErrorCode::bad_data, "PTX: " + first.message + (first.function.empty() ? "" : " in " + first.function),
               std::to_string(first.place.line) + ":" + std::to_string(first.place.column), ""};
}

}  // namespace tessera::ptx
