// tessera: the command. Finds the row of the command that is asked for and runs it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"

namespace tessera::cli {
namespace {

const Command commands[] = {
    {"run", "run a program with its kernel launches spread over the GPUs", declare_run},
    {"devices", "list the GPU models that Tessera knows", declare_devices},
    {"inspect", "show the kernels of a file, and what they do with their pointers", declare_inspect},
    {"help", "explain a topic", declare_help},
};

// What is wrong with the first argument: CLI11 would only say that a subcommand is missing.
std::string first_problem(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "no command given (see tessera --help)";
  if (arguments[0] == "-h" || arguments[0] == "--help" || arguments[0] == "--version") return "";
  const std::string& first = arguments[0];
  const Command* near = nullptr;
  for (const Command& command : commands) {
    if (first == command.name) return "";
    const std::string name = command.name;
    const auto [rest, at] = std::mismatch(first.begin(), first.end(), name.begin(), name.end());
    const bool one_off = std::is_permutation(first.begin(), first.end(), name.begin(), name.end());
    if (one_off || rest - first.begin() >= 3 || (rest - first.begin() >= 1 && rest == first.end())) near = &command;
  }
  std::string text = (first.rfind('-', 0) == 0 ? "unknown option '" : "unknown command '") + first + "'";
  if (near != nullptr) text += std::string(", did you mean '") + near->name + "'?";
  return text + " (see tessera --help)";
}

bool is_command(const std::string& name) {
  return std::any_of(std::begin(commands), std::end(commands), [&](const Command& command) { return name == command.name; });
}

// "help" alone is --help, "help run" is "run --help".
std::vector<std::string> with_help_spelled_out(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  if (arguments.size() == 2 && is_command(arguments[1])) return {arguments[1], "--help"};
  return arguments;
}

int run_command(const std::vector<std::string>& arguments) {
  if (const std::string problem = first_problem(arguments); !problem.empty()) {
    complain(problem);
    return exit_status::usage;
  }
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> behind(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  CLI::App app("Kernel-granularity disaggregation over heterogeneous GPUs.", "tessera");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> declared;
  for (const Command& command : commands) {
    CLI::App* parser = app.add_subcommand(command.name, command.summary);
    declared.emplace_back(parser, command.declare(*parser));
  }
  try {
    std::vector<std::string> reversed(std::make_reverse_iterator(dashes), arguments.rend());  // as CLI11 takes them
    app.parse(reversed);
  } catch (const CLI::Success& request) {
    return app.exit(request);  // --help, --version
  } catch (const CLI::ParseError& error) {
    complain(std::string(error.what()) + " (see tessera --help)");
    const auto run = app.get_subcommands();
    return !run.empty() && run.front()->get_name() == "run" ? exit_status::run_failed : exit_status::usage;
  }
  for (const auto& [parser, action] : declared) {
    if (parser->parsed()) return action(behind);
  }
  return exit_status::internal;
}

}  // namespace

}  // namespace tessera::cli

int main(int argc, char** argv) {
  try {
    using namespace tessera::cli;
    return run_command(with_help_spelled_out({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    tessera::cli::complain(std::string("internal error: ") + error.what());
    return tessera::cli::exit_status::internal;
  }
}
