#include "profiles/base/log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

namespace tessera::log {
namespace {

constexpr std::array<std::string_view, 6> level_names = {"off", "error", "warn", "info", "debug", "trace"};
constexpr int level_unread = -1;

std::atomic<int> current_level{level_unread};
std::atomic<int> output{STDERR_FILENO};

std::optional<Level> parse_level(std::string_view text) {
  for (std::size_t i = 0; i < level_names.size(); ++i) {
    if (text == level_names[i] || (text.size() == 1 && text[0] == static_cast<char>('0' + i))) return static_cast<Level>(i);
  }
  return std::nullopt;
}

void write_line(std::string_view label, std::string_view message) noexcept {
  try {
    std::string line;
    fmt::format_to(std::back_inserter(line), "tessera: {} {}:{} {}\n", label, getpid(), syscall(SYS_gettid), message);
    const ssize_t written = ::write(output.load(std::memory_order_relaxed), line.data(), line.size());
    static_cast<void>(written);  // nowhere left to report a failed log write
  } catch (...) {
    return;
  }
}

int read_setting() noexcept {
  const char* setting = std::getenv("TESSERA_LOG");
  if (setting == nullptr || *setting == '\0') return static_cast<int>(Level::off);
  const std::string_view text = setting;
  const auto colon = text.find(':');
  const auto parsed = parse_level(text.substr(0, colon));
  if (!parsed) {
    notice("TESSERA_LOG: unknown level; use off, error, warn, info, debug or trace, and :FILE behind it");
    return static_cast<int>(Level::off);
  }
  if (colon != std::string_view::npos && colon + 1 < text.size()) {
    const int file = open(setting + colon + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0) {
      output.store(file, std::memory_order_relaxed);
    } else {
      notice("TESSERA_LOG: the file can't be opened; logging to stderr");
    }
  }
  return static_cast<int>(*parsed);
}

}  // namespace

Level level() noexcept {
  int value = current_level.load(std::memory_order_relaxed);
  if (value == level_unread) {
    value = read_setting();
    current_level.store(value, std::memory_order_relaxed);
  }
  return static_cast<Level>(value);
}

void set_level(Level level) noexcept { current_level.store(static_cast<int>(level), std::memory_order_relaxed); }

void write(Level level, std::string_view message) noexcept {
  if (enabled(level)) write_line(level_names[static_cast<std::size_t>(level)], message);
}

void notice(std::string_view message) noexcept { write_line("notice", message); }

}  // namespace tessera::log
