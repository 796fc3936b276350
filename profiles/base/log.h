// Logging to stderr, or to a file, silent by default.
//
// `TESSERA_LOG=level[:file]`, level one of off, error, warn, info, debug, trace (or 0…5). Each line is
// "tessera: LEVEL pid:tid message", written by one write(2), so lines of several threads and processes don't mix.
// Invariant: usable before main, in a forked child and during exit; never throws; never writes to stdout.
// Threads: any.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace tessera::log {

enum class Level : std::uint8_t { off, error, warn, info, debug, trace };

// The level in force; reads TESSERA_LOG on first use.
[[nodiscard]] Level level() noexcept;
[[nodiscard]] inline bool enabled(Level wanted) noexcept { return wanted <= level(); }
// Replaces what TESSERA_LOG said (tests, `--verbose`).
void set_level(Level level) noexcept;

// Formats and writes one line if `level` is enabled; a formatting failure is swallowed.
void write(Level level, std::string_view message) noexcept;
// Writes one line whatever the level: for the few things that a user must see ("setting ignored").
void notice(std::string_view message) noexcept;

template <typename... Args>
void at(Level wanted, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!enabled(wanted)) return;
  try {
    write(wanted, fmt::vformat(format, fmt::make_format_args(args...)));
  } catch (...) {
    write(wanted, "(a message that could not be formatted)");
  }
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  at(Level::error, format, std::forward<Args>(args)...);
}
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  at(Level::warn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  at(Level::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  at(Level::debug, format, std::forward<Args>(args)...);
}

}  // namespace tessera::log
