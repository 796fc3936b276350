#include "profiles/json_guard.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::int64_t largest_whole = std::int64_t{1} << 53;

std::string line_and_column(std::string_view text, std::size_t offset, std::string_view where) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  return fmt::format("{}:{}:{}", where, line, newline == std::string_view::npos ? before.size() + 1 : before.size() - newline);
}

Error bad(std::string what, std::string where, std::string hint = "") {
  return Error{ErrorCode::bad_data, std::move(what), std::move(where), std::move(hint)};
}

// What can be told from the first bytes.
Status check_signature(std::string_view text, std::string_view where) {
  const std::string place(where);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return bad("the file is empty", place);
  if (text.starts_with("\x1f\x8b")) return bad("the file is gzip-compressed", place, "unpack it first");
  if (text.starts_with("\xef\xbb\xbf")) return bad("the file begins with a byte order mark", place, "save it as UTF-8 without one");
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return bad("the file is UTF-16", place, "save it as UTF-8");
  return {};
}

Status check_depth(std::string_view text, std::string_view where, unsigned deepest) {
  unsigned depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return bad(fmt::format("nested more than {} levels deep", deepest), line_and_column(text, i, where));
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return {};
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out.push_back(c);
  }
  return out;
}

// Walks the events of the parser; keeps the path for JSON pointers.
class Walker : public nlohmann::json_sax<json> {
 public:
  Walker(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  [[nodiscard]] Status take() { return std::move(status_); }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool number_integer(number_integer_t number) override { return number < -largest_whole ? too_large() : value(); }
  bool number_unsigned(number_unsigned_t number) override {
    return number > static_cast<number_unsigned_t>(largest_whole) ? too_large() : value();
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return digits.find_first_of(".eE") == string_t::npos ? too_large() : value();  // a whole number that no integer type holds
  }
  bool start_object(std::size_t) override {
    levels_.push_back({false, 0, {}});
    return true;
  }
  bool start_array(std::size_t) override {
    levels_.push_back({true, 0, {}});
    return true;
  }
  bool key(string_t& name) override {
    levels_.back().keys.push_back(name);
    return true;
  }
  bool end_object() override {
    std::vector<std::string> keys = std::move(levels_.back().keys);
    levels_.pop_back();
    std::sort(keys.begin(), keys.end());
    const auto repeated = std::adjacent_find(keys.begin(), keys.end());
    if (repeated == keys.end()) return value();
    status_ = bad(fmt::format("the key \"{}\" is there twice", repeated->substr(0, 64)), place());
    return false;
  }
  bool end_array() override {
    levels_.pop_back();
    return value();
  }
  bool parse_error(std::size_t position, const std::string& token, const json::exception& problem) override {
    const std::size_t offset = position > 0 ? position - 1 : 0;
    const std::string at = line_and_column(text_, offset, where_);
    constexpr int out_of_range = 406;
    if (problem.id == out_of_range) {
      status_ = bad("a number is too large", at);
    } else if (text_.find_first_not_of(" \t\r\n", offset) == std::string_view::npos || offset >= text_.size()) {
      status_ = bad("the JSON text ends too early (truncated?)", at);
    } else if (is_not_a_number(token)) {
      status_ = bad("NaN and Infinity are no JSON numbers", at);
    } else {
      status_ = bad("malformed JSON", at);
    }
    return false;
  }

 private:
  struct Level {
    bool is_array;
    std::size_t index;
    std::vector<std::string> keys;
  };

  // A value is complete: the next one of an array has the next index.
  bool value() {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().index;
    return true;
  }
  bool too_large() {
    status_ = bad("a whole number beyond 2^53 can't be kept exactly", place());
    return false;
  }
  static bool is_not_a_number(const std::string& token) {
    const auto first = token.find_last_of(" \t\r\n:,[{");
    const std::string_view last = std::string_view(token).substr(first == std::string::npos ? 0 : first + 1);
    return last.starts_with('N') || last.starts_with('I') || last.starts_with("na") || last.starts_with("-I") || last.starts_with("-N");
  }
  [[nodiscard]] std::string place() const {
    std::string pointer = where_ + ":";
    for (const Level& level : levels_) {
      pointer += level.is_array ? fmt::format("/{}", level.index) : "/" + (level.keys.empty() ? "" : escaped(level.keys.back()));
    }
    return pointer;
  }

  std::string_view text_;
  std::string where_;
  std::vector<Level> levels_;
  Status status_;
};

}  // namespace

Status guard_json(std::string_view text, std::string_view where, unsigned deepest) {
  TRY_STATUS(check_signature(text, where));
  TRY_STATUS(check_depth(text, where, deepest));
  Walker walker(text, where);
  if (json::sax_parse(text.begin(), text.end(), &walker)) return {};
  return walker.take();
}

}  // namespace tessera
