#include "test/programs/tessera_run.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace tessera::test {
namespace {

const char* const output_file = "output";

std::string program_path(const std::string& program) { return std::string(TESSERA_PROGRAMS_DIR "/") + program; }

// Runs `command` followed by the program and its output file.
ProgramRun run(std::vector<std::string> command, const std::string& program, const Environment& environment) {
  const std::string output = temporary_file(output_file);
  ::unlink(output.c_str());
  command.push_back(program_path(program));
  command.push_back(output);
  ProgramRun result;
  result.process = run_process(command, environment);
  if (::access(output.c_str(), R_OK) == 0) result.output = read_file(output);
  return result;
}

}  // namespace

std::string built(const std::string& path) { return std::string(TESSERA_BUILD_DIR "/") + path; }

Environment simulated(const std::string& gpus) { return {{"LD_LIBRARY_PATH", built("lib/simgpu")}, {"TESSERA_SIM", gpus}}; }

ProgramRun run_alone(const std::string& program, const Environment& environment) { return run({}, program, environment); }

ProgramRun run_under_tessera(const std::string& program, std::vector<std::string> options) {
  std::vector<std::string> command{built("bin/tessera"), "run", "--report", "json"};
  command.insert(command.end(), options.begin(), options.end());
  command.emplace_back("--");
  return run(command, program, {});
}

}  // namespace tessera::test
