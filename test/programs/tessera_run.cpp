#include "test/programs/tessera_run.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "interpose/report/format.h"

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

// Adds up the report's closing lines, one a process.
void read_counts(const std::string& report, ProgramRun& run) {
  std::istringstream lines(read_file(report));
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.at("type") != report::line_type::end) continue;
    run.launches += object.at("launches").get<std::uint64_t>();
    run.redirected += object.at("redirected").get<std::uint64_t>();
  }
}

}  // namespace

std::string built(const std::string& path) { return std::string(TESSERA_BUILD_DIR "/") + path; }

Environment simulated(const std::string& gpus) { return {{"LD_LIBRARY_PATH", built("lib/simgpu")}, {"TESSERA_SIM", gpus}}; }

Environment preloaded(Environment environment) {
  environment["LD_PRELOAD"] = built("lib/libtessera.so");
  return environment;
}

ProgramRun run_program(const std::string& program, const Environment& environment) { return run({}, program, environment); }

ProgramRun run_with_policy(const std::string& program, Environment environment, const std::string& policy) {
  const std::string report = temporary_file("report");
  ::unlink(report.c_str());
  environment = preloaded(std::move(environment));
  environment["TESSERA_POLICY"] = policy;
  environment["TESSERA_REPORT"] = report;
  ProgramRun result = run_program(program, environment);
  read_counts(report, result);
  return result;
}

ProgramRun run_under_tessera(const std::string& program, const std::vector<std::string>& options) {
  std::vector<std::string> command{built("bin/tessera"), "run"};
  command.insert(command.end(), options.begin(), options.end());
  command.emplace_back("--");
  return run(command, program, {});
}

}  // namespace tessera::test
