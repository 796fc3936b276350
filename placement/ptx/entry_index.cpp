// index_entries(): where the bodies are, found by braces alone.
#include <algorithm>
#include <array>
#include <utility>

#include "placement/ptx/lexer.h"
#include "placement/ptx/parse.h"

namespace tessera::ptx {
namespace {

// What a scan inside a body must look at: braces, and what may hide them.
constexpr std::array<bool, 256> stops_body = [] {
  std::array<bool, 256> table{};
  for (char c : {'{', '}', '/', '"'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool ends_header(std::string_view word) {
  for (std::string_view known : {"file", "section", "global", "const", "shared", "local", "tex", "loc"}) {
    if (word == known) return true;
  }
  return false;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<EntryIndex> run() {
    while (at_ < text_.size()) step();
    return std::move(found_);
  }

 private:
  void step();
  void word();
  void name();
  void body();
  // Over a comment or a quoted text; over one character when neither stands here.
  void hidden();
  [[nodiscard]] char ahead(std::size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
  [[nodiscard]] std::size_t name_end(std::size_t from) const {
    while (from < text_.size() && is(text_[from], char_class::name)) ++from;
    return from;
  }
  void forget() {
    pending_ = {};
    begun_ = in_header_ = in_pragma_ = false;
  }
  void begin() {
    if (begun_) return;
    begun_ = true;
    pending_.begin = at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t parentheses_ = 0;
  std::size_t counted_ = 0;  // lines up to here are in line_
  std::uint32_t line_ = 1;
  bool begun_ = false;      // a linkage word, .entry or .func was met
  bool in_header_ = false;  // .entry or .func was met
  bool in_pragma_ = false;
  EntryIndex pending_;
  std::vector<EntryIndex> found_;
};

void Scanner::step() {
  const char c = text_[at_];
  switch (c) {
    case '.':
      return word();
    case '/':
    case '"':
      return hidden();
    case '{':
      return body();
    case '(':
      ++parentheses_;
      break;
    case ')':
      parentheses_ -= parentheses_ > 0 ? 1 : 0;
      break;
    case ';':
      if (std::exchange(in_pragma_, false)) break;
      [[fallthrough]];
    case '}':
      forget();
      parentheses_ = 0;
      break;
    default:
      if (is(c, char_class::name)) return name();
  }
  ++at_;
}

void Scanner::word() {
  const std::size_t end = name_end(at_ + 1);
  const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
  const bool function = text == "entry" || text == "func";
  if (in_header_ && parentheses_ == 0 && !pending_.name.empty() && ends_header(text)) forget();  // a declaration without ';'
  if (function || text == "visible" || text == "weak" || text == "extern") {
    if (in_header_) forget();
    begin();
    if (function) {
      in_header_ = true;
      parentheses_ = 0;
      pending_.is_entry = text == "entry";
    }
  }
  in_pragma_ = in_header_ && text == "pragma";  // its ';' doesn't end the header
  at_ = end;
}

void Scanner::name() {
  const std::size_t end = name_end(at_);
  const bool names_it = in_header_ && parentheses_ == 0 && pending_.name.empty() && is(text_[at_], char_class::name_start);
  if (names_it) pending_.name = text_.substr(at_, end - at_);
  at_ = end;
}

void Scanner::hidden() {
  std::size_t end = at_ + 1;
  if (text_[at_] == '"') {
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    ++end;
  } else if (ahead(1) == '/') {
    end = std::min(text_.find('\n', at_), text_.size());
  } else if (ahead(1) == '*') {
    end = text_.find("*/", at_ + 2);
    end = end == std::string_view::npos ? text_.size() : end + 2;
  }
  at_ = std::min(end, text_.size());
}

void Scanner::body() {
  std::size_t depth = 0;
  do {
    while (at_ < text_.size() && !stops_body[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ == text_.size()) break;
    const char c = text_[at_];
    if (c == '/' || c == '"') {
      hidden();
      continue;
    }
    depth += c == '{' ? 1 : 0;
    depth -= c == '}' ? 1 : 0;
    ++at_;
  } while (depth != 0);
  if (in_header_ && !pending_.name.empty()) {
    pending_.end = at_;
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(pending_.begin), '\n'));
    counted_ = pending_.begin;
    pending_.line = line_;
    found_.push_back(pending_);
  }
  forget();
}

}  // namespace

std::vector<EntryIndex> index_entries(std::string_view text) { return Scanner{text.substr(0, text.find('\0'))}.run(); }

}  // namespace tessera::ptx
