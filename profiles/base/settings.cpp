#include "profiles/base/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace tessera {
namespace {

constexpr std::string_view prefix = "TESSERA_";

template <std::size_t N>
constexpr std::array<char, prefix.size() + N> variable_name(const char (&field)[N]) {
  std::array<char, prefix.size() + N> name{};
  std::copy(prefix.begin(), prefix.end(), name.begin());
  for (std::size_t i = 0; i < N; ++i) {
    const char c = field[i];
    name[prefix.size() + i] = (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

#define TESSERA_SETTING(field, kind, default_value, values, help) constexpr auto name_of_##field = variable_name(#field);
#include "profiles/base/settings.def"
#undef TESSERA_SETTING

constexpr SettingRow rows[] = {
#define TESSERA_SETTING(field, kind, default_value, values, help) \
  {std::string_view(name_of_##field.data()), SettingKind::kind, default_value, values, help},
#include "profiles/base/settings.def"
#undef TESSERA_SETTING
};

std::optional<std::string> parse_text(std::string_view text) { return std::string(text); }

[[maybe_unused]] std::optional<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"1", "on", "true", "yes"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "off", "false", "no", ""}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <SettingKind Kind>
auto parse(std::string_view text) {
  if constexpr (Kind == SettingKind::flag) {
    return parse_flag(text);
  } else if constexpr (Kind == SettingKind::number) {
    return parse_number(text);
  } else {
    return parse_text(text);
  }
}

}  // namespace

std::span<const SettingRow> setting_rows() { return rows; }

Settings Settings::read(const std::function<const char*(const char*)>& get) {
  Settings settings;
  const auto take = [&]<SettingKind Kind>(const SettingRow& row, auto& field) {
    field = *parse<Kind>(row.default_value);
    const char* value = get(row.variable.data());
    if (value == nullptr) return;
    if (auto parsed = parse<Kind>(value)) {
      field = *parsed;
    } else {
      settings.problems.push_back(std::string(row.variable) + "=" + value + ": not a valid value (" + std::string(row.values) +
                                  "); using " + (row.default_value.empty() ? "none" : std::string(row.default_value)));
    }
  };
  const SettingRow* row = rows;
#define TESSERA_SETTING(field, kind, default_value, values, help) take.operator()<SettingKind::kind>(*row++, settings.field);
#include "profiles/base/settings.def"
#undef TESSERA_SETTING
  return settings;
}

Settings Settings::from_environment() {
  return read([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace tessera
