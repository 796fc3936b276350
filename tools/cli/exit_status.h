// The exit statuses of the command, and what an Error maps to.
//
// `tessera run` passes the program's own status on (128 + n when signal n ended it); its own failures before the program
// starts are `run_failed`, and 126 / 127 as a shell has them. Threads: any.
#pragma once

#include "profiles/base/result.h"

namespace tessera::cli {

namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int finding = 1;      // the answer is no
inline constexpr int usage = 2;        // bad option or argument
inline constexpr int bad_data = 3;     // an input is damaged, or isn't what it should be
inline constexpr int environment = 4;  // a file, a permission or a part of the machine is missing
inline constexpr int infeasible = 5;
inline constexpr int internal = 70;
inline constexpr int run_failed = 125;
inline constexpr int not_executable = 126;
inline constexpr int command_not_found = 127;
inline constexpr int killed = 128;  // + the signal
}  // namespace exit_status

constexpr int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return exit_status::usage;
    case ErrorCode::bad_data:
    case ErrorCode::unsupported:
      return exit_status::bad_data;
    case ErrorCode::not_found:
    case ErrorCode::environment:
      return exit_status::environment;
    case ErrorCode::infeasible:
      return exit_status::infeasible;
    case ErrorCode::internal:
      break;
  }
  return exit_status::internal;
}

}  // namespace tessera::cli
