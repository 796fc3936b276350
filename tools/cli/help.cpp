// tessera help TOPIC: the topics that aren't commands; today the TESSERA_* variables, from their table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "profiles/base/settings.h"
#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"

namespace tessera::cli {
namespace {

// A bar would end the cell of a Markdown table.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

void print_markdown() {
  fmt::print(
      "# Variables\n\n"
      "Every `TESSERA_*` variable that the library, the simulated driver or the command reads. A value that can't be understood costs one\n"
      "line on stderr and counts as unset. Made by `tessera help variables --markdown`.\n\n"
      "| variable | values | default | |\n|---|---|---|---|\n");
  for (const SettingRow& row : setting_rows()) {
    const std::string fallback = row.default_value.empty() ? "unset" : fmt::format("`{}`", row.default_value);
    fmt::print("| `{}` | {} | {} | {} |\n", row.variable, escaped(row.values), fallback, escaped(row.help));
  }
}

void print_text() {
  for (const SettingRow& row : setting_rows()) {
    fmt::print("{}={}\n    {}", row.variable, row.values, row.help);
    if (!row.default_value.empty()) fmt::print(" Default: {}.", row.default_value);
    fmt::print("\n");
  }
}

}  // namespace

Action declare_help(CLI::App& parser) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* variables = parser.add_subcommand("variables", "the environment variables that Tessera reads");
  variables->add_flag("--markdown", *markdown, "as docs/variables.md");
  auto unknown = std::make_shared<std::vector<std::string>>();
  parser.add_option("TOPIC", *unknown, "a command, or 'variables'");
  return [markdown, unknown, variables](const std::vector<std::string>&) {
    if (!variables->parsed() || !unknown->empty()) {
      complain(fmt::format("no help on '{}'; topics are 'variables' and the commands (see tessera --help)", fmt::join(*unknown, " ")));
      return exit_status::usage;
    }
    *markdown ? print_markdown() : print_text();
    return exit_status::ok;
  };
}

}  // namespace tessera::cli
