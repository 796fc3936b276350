// Starts the program and waits for it, standing aside for signals.
//
// While it runs, SIGINT and SIGQUIT (which the terminal sends to both) are left to the program, SIGTERM and SIGHUP are passed on.
// Threads: one; call it once in a process.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/run_plan.h"

namespace tessera::cli {

// The exit status for the shell: the program's own, 128 + signal, 127 (not found) or 126 (not executable); the latter two have
// complained already. `added` goes over the present environment.
int run_child(const std::vector<std::string>& command, const Environment& added);

}  // namespace tessera::cli
