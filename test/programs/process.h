// Runs a command to its end and keeps all that it said.
//
// Invariant: the child sees this process's environment without any TESSERA_*, LD_PRELOAD, LD_LIBRARY_PATH or CUDA_VISIBLE_DEVICES
// variable of it, and then the given ones. Threads: call from one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::test {

using Environment = std::map<std::string, std::string>;

struct Outcome {
  int status = -1;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

// Throws std::runtime_error when the command can't be started.
Outcome run_process(const std::vector<std::string>& command, const Environment& environment);

// The whole content of a file; throws std::runtime_error when it can't be read.
std::string read_file(const std::string& path);

// A file name in a folder of this process that is removed at its end.
std::string temporary_file(const std::string& name);

}  // namespace tessera::test
