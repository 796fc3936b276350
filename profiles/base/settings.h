// All TESSERA_* variables, read once into a plain struct; made from settings.def.
//
// Invariant: reading never fails: a value that can't be parsed keeps its default and adds one problem line that
// names the variable, the value and what is allowed. Values are parsed, never just tested for presence.
// Threads: a Settings is a plain value.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class SettingKind : std::uint8_t {
  text,    // any string
  path,    // a file or folder name, not checked for existence
  flag,    // 0|1|off|on|false|true|no|yes
  number,  // an unsigned decimal number
};

struct SettingRow {
  std::string_view variable;  // "TESSERA_POLICY"
  SettingKind kind;
  std::string_view default_value;
  std::string_view values;
  std::string_view help;
};

// The table, in the order of settings.def.
[[nodiscard]] std::span<const SettingRow> setting_rows();

namespace setting_types {
using text = std::string;
using path = std::string;
using flag = bool;
using number = std::uint64_t;
}  // namespace setting_types

struct Settings {
#define TESSERA_SETTING(field, kind, default_value, values, help) setting_types::kind field{};
#include "profiles/base/settings.def"
#undef TESSERA_SETTING

  std::vector<std::string> problems;  // one line each, ready to be shown

  // Reads through `get` (variable name -> value or nullptr).
  static Settings read(const std::function<const char*(const char*)>& get);
  // Reads the process environment.
  static Settings from_environment();
};

}  // namespace tessera
