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

int run_command(const std::vector<std::string>& arguments) {
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
    return tessera::cli::run_command({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    tessera::cli::complain(std::string("internal error: ") + error.what());
    return tessera::cli::exit_status::internal;
  }
}
