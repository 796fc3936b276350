#include "placement/ptx/lexer.h"

#include <algorithm>
#include <cstring>

namespace tessera::ptx {

std::string padded(std::string_view text) {
  constexpr std::size_t padding = 16;
  text = text.substr(0, text.find('\0'));
  std::string copy;
  copy.reserve(text.size() + padding);
  copy.append(text).append(padding, '\0');
  return copy;
}

void Cursor::skip_space_slowly() {
  for (;;) {
    while (is(*at, char_class::blank)) ++at;
    if (*at == '\n') {
      ++at;
      ++line;
      line_start = at;
      continue;
    }
    if (*at == '/' && skip_comment()) continue;
    if (*at == '#' && std::all_of(line_start, at, [](char c) { return is(c, char_class::blank); })) {
      skip_line();
      continue;
    }
    return;
  }
}

bool Cursor::skip_comment() {
  if (at[1] == '/') {
    skip_line();
    return true;
  }
  if (at[1] != '*') return false;
  at += 2;
  while (*at != '\0' && !(at[0] == '*' && at[1] == '/')) {
    if (*at == '\n') {
      ++line;
      line_start = at + 1;
    }
    ++at;
  }
  if (*at != '\0') at += 2;
  return true;
}

void Cursor::skip_line() {
  while (*at != '\0' && *at != '\n') ++at;
}

std::string_view Cursor::dot_word() {
  if (*at != '.' || !is(at[1], char_class::name)) return {};
  const char* begin = ++at;
  for (;;) {
    while (is(*at, char_class::name)) ++at;
    if (at[0] != ':' || at[1] != ':' || !is(at[2], char_class::name)) break;
    at += 2;
  }
  return {begin, static_cast<std::size_t>(at - begin)};
}

std::string_view Cursor::quoted() {
  if (*at != '"') return {};
  const char* begin = at;
  const char* p = at + 1;
  while (*p != '"') {
    if (*p == '\0' || *p == '\n') return {};
    p += (*p == '\\' && p[1] != '\0' && p[1] != '\n') ? 2 : 1;
  }
  at = p + 1;
  return {begin, static_cast<std::size_t>(at - begin)};
}

std::string_view Cursor::rest_of_line() {
  const char* begin = at;
  const char* end = at;
  while (*at != '\0' && *at != '\n' && !(at[0] == '/' && (at[1] == '/' || at[1] == '*'))) {
    if (!is(*at, char_class::blank)) end = at + 1;
    ++at;
  }
  return {begin, static_cast<std::size_t>(end - begin)};
}

void Cursor::skip_token() {
  if (at_end()) return;
  if (is(*at, char_class::name)) {
    while (is(*at, char_class::name)) ++at;
  } else if (dot_word().empty() && quoted().empty()) {
    ++at;
  }
  skip_space();
}

std::string Cursor::found() const {
  constexpr std::ptrdiff_t longest = 40;
  if (at_end()) return "end of text";
  const char* end = at;
  while ((is(*end, char_class::name | char_class::opcode)) && end - at < longest) ++end;
  if (end == at) ++end;
  const auto byte = static_cast<unsigned char>(*at);
  if (byte < 0x20 || byte >= 0x7f) {
    constexpr char digits[] = "0123456789abcdef";
    return std::string{"byte 0x"} + digits[byte >> 4U] + digits[byte & 15U];
  }
  return "'" + std::string{at, end} + "'";
}

}  // namespace tessera::ptx
