// A command of `tessera`: one row of the table in main.cpp, one file with its options and what it does.
//
// `declare` adds the options to its parser and returns what runs after a successful parse; that gets what stood behind "--" and
// returns the exit status.
// Results go to stdout, everything else to stderr. Threads: one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/base/result.h"

namespace CLI {
class App;
}

namespace tessera::cli {

using Action = std::function<int(const std::vector<std::string>& behind_dashes)>;

struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& parser);
};

Action declare_run(CLI::App& parser);
Action declare_devices(CLI::App& parser);
Action declare_inspect(CLI::App& parser);
Action declare_help(CLI::App& parser);

// Prints "tessera: …" to stderr.
void complain(std::string_view message);

// Complains and returns the status that belongs to the error.
int fail(const Error& error);

}  // namespace tessera::cli
