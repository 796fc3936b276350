// A cursor over PTX text: white space, comments, words, numbers, and where we are.
//
// Invariant: `at` points into a buffer that ends in at least 16 NUL bytes (see padded()), so that one character, and eight, can be
// read without a test; `line` and `line_start` belong to `at`. Nothing here allocates. Threads: one cursor, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

namespace char_class {
inline constexpr std::uint8_t blank = 1;       // space, tab, carriage return, form feed
inline constexpr std::uint8_t digit = 2;       // 0-9
inline constexpr std::uint8_t name_start = 4;  // a-z A-Z _ $ %
inline constexpr std::uint8_t name = 8;        // name_start and digits
inline constexpr std::uint8_t opcode = 16;     // a-z A-Z 0-9 _ .
}  // namespace char_class

inline constexpr std::array<std::uint8_t, 256> char_classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\f', '\v'}) table[static_cast<unsigned char>(c)] |= char_class::blank;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] |= char_class::digit | char_class::name | char_class::opcode;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] |= char_class::name_start | char_class::name | char_class::opcode;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] |= char_class::name_start | char_class::name | char_class::opcode;
  for (char c : {'_', '$', '%'}) table[static_cast<unsigned char>(c)] |= char_class::name_start | char_class::name;
  table['_'] |= char_class::opcode;
  table['.'] |= char_class::opcode;
  return table;
}();

[[nodiscard]] inline bool is(char c, std::uint8_t classes) { return (char_classes[static_cast<unsigned char>(c)] & classes) != 0; }

// The text up to its first NUL, followed by 16 of them.
[[nodiscard]] std::string padded(std::string_view text);

struct Cursor {
  const char* at = nullptr;
  const char* line_start = nullptr;
  std::uint32_t line = 1;

  explicit Cursor(const char* text) : at(text), line_start(text) {}

  [[nodiscard]] SourcePlace place() const { return {line, static_cast<std::uint32_t>(at - line_start) + 1}; }
  [[nodiscard]] SourcePlace place_of(const char* here) const { return {line, static_cast<std::uint32_t>(here - line_start) + 1}; }
  [[nodiscard]] bool at_end() const { return *at == '\0'; }

  // To the next token: over blanks, newlines, comments, and lines that begin with '#'.
  void skip_space() {
    while (is(*at, char_class::blank)) ++at;
    if (*at == '\n' || *at == '/' || *at == '#') skip_space_slowly();
  }
  // Over one character and the space behind it, when it is `c`.
  bool take(char c) {
    if (*at != c) return false;
    ++at;
    skip_space();
    return true;
  }
  // The name here, or an empty view. Doesn't skip the space behind it.
  std::string_view name() {
    const char* begin = at;
    if (!is(*at, char_class::name_start)) return {};
    while (is(*at, char_class::name)) ++at;
    return {begin, static_cast<std::size_t>(at - begin)};
  }
  // ".word" without its dot, "::" parts included, or an empty view. Doesn't skip the space behind it.
  std::string_view dot_word();
  // The same, without moving.
  [[nodiscard]] std::string_view peek_dot_word() const {
    Cursor copy = *this;
    return copy.dot_word();
  }
  [[nodiscard]] std::string_view peek_name() const {
    Cursor copy = *this;
    return copy.name();
  }
  // "…" including the quotes, or an empty view when there is none or it doesn't end on this line.
  std::string_view quoted();
  // The rest of the line up to a comment, without trailing blanks.
  std::string_view rest_of_line();
  void skip_line();
  // Over one token of whatever kind: a name, a word with a dot, a quoted text, or one character.
  void skip_token();

  // What stands here, for messages: 'add.s32', end of text.
  [[nodiscard]] std::string found() const;

 private:
  void skip_space_slowly();
  bool skip_comment();
};

}  // namespace tessera::ptx
