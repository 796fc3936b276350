// Builds one JSON object on one line: enough for a report without a JSON library in the user's process.
//
// Invariant: text() is valid JSON in UTF-8; bytes that aren't UTF-8 become U+FFFD. Threads: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::report {

// With the quotes.
[[nodiscard]] std::string json_string(std::string_view text);

class JsonLine {
 public:
  JsonLine& add(std::string_view key, std::string_view value) { return add_json(key, json_string(value)); }
  JsonLine& add(std::string_view key, std::uint64_t value) { return add_json(key, std::to_string(value)); }
  JsonLine& add_flag(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }
  JsonLine& add_json(std::string_view key, std::string_view json);
  [[nodiscard]] std::string text() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

}  // namespace tessera::report
