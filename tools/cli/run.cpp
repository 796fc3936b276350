// tessera run: starts a program with the library preloaded, and says afterwards what ran where.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/report_print.h"
#include "tools/cli/run_child.h"
#include "tools/cli/run_plan.h"

namespace tessera::cli {
namespace {

struct Options {
  RunOptions run;
  int home = 0;
  std::string report = "text";
  std::string output;  // "" = stderr
  bool quiet = false;
};

// A folder for the two reports, removed at the end.
class ReportFolder {
 public:
  ReportFolder() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "tessera-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  ~ReportFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] bool usable() const { return !path_.empty(); }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Environment present_environment() {
  Environment environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string line = *variable;
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return environment;
}

// How many GPUs NVIDIA's kernel module shows, -1 when it isn't loaded.
int machine_gpus() {
  std::error_code error;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", error);
  return error ? -1 : static_cast<int>(std::distance(begin(gpus), end(gpus)));
}

int run_failure(const Error& error) {
  fail(error);
  return exit_status::run_failed;
}

// Complains about a report that can't be read; the program's own status stands.
RunReport read_reports(const std::string& report, const std::string& simulated, int status) {
  RunReport run;
  run.exit_status = status;
  if (auto processes = parse_report(contents_of(report), "report")) {
    run.processes = std::move(*processes);
  } else {
    complain(processes.error().message());
  }
  if (std::filesystem::exists(simulated)) {
    if (auto timeline = parse_simulated(contents_of(simulated), "simulator report")) {
      run.simulated = std::move(*timeline);
    } else {
      complain(timeline.error().message());
    }
  }
  return run;
}

int run(const Options& options) {
  if (options.run.command.empty()) {
    complain("run: which command? (tessera run [OPTIONS] -- COMMAND…)");
    return exit_status::run_failed;
  }
  auto libraries = find_libraries(std::filesystem::read_symlink("/proc/self/exe").string(), !options.run.sim.empty());
  if (!libraries) return run_failure(libraries.error());
  auto environment = plan_run(options.run, *libraries, present_environment(), machine_gpus());
  if (!environment) return run_failure(environment.error());
  const ReportFolder folder;
  if (!folder.usable()) {
    complain("no temporary folder for the report: set TMPDIR to one that can be written to");
    return exit_status::run_failed;
  }
  // Opened before the program runs: a run isn't wasted on a file that can't be written.
  std::FILE* output = options.output.empty() ? stderr : std::fopen(options.output.c_str(), "we");
  if (output == nullptr)
    return run_failure(Error{ErrorCode::environment, std::strerror(errno), options.output, "choose another file for -o"});
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> owned(output == stderr ? nullptr : output, &std::fclose);
  const std::string report = folder.file("report");
  const std::string simulated = folder.file("simulated");
  (*environment)["TESSERA_REPORT"] = report;
  if (!options.run.sim.empty()) (*environment)["TESSERA_SIM_REPORT"] = simulated;

  const int status = run_child(options.run.command, *environment);
  if (options.quiet || status == exit_status::command_not_found || status == exit_status::not_executable) return status;
  const RunReport said = read_reports(report, simulated, status);
  if (options.report != "json") fmt::print(output, "{}", text_of(said));
  if (options.report != "text") fmt::print(output, "{}", json_of(said));
  return status;
}

}  // namespace

Action declare_run(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_option("--sim", options->run.sim, "simulated GPUs by model, for example a100,l40s (see tessera devices)")
      ->type_name("LIST")
      ->check([](const std::string& list) { return list.empty() ? std::string("an empty list; write it as a100,l40s") : std::string(); });
  parser
      .add_option("--order", options->run.order,
                  "order of what streams and events leave unordered on simulated GPUs: program, or any by a seed")
      ->type_name("program|SEED");
  parser.add_flag("--races", options->run.races, "report unordered operations on simulated GPUs that touch the same bytes");
  CLI::Option* home = parser.add_option("--home", options->home, "which GPU becomes the program's device 0")->type_name("N");
  parser.add_option("--profile", options->run.profile, "profile database that the policy fastest reads")->type_name("FILE");
  parser.add_option("--policy", options->run.policy, "home | fastest | random:SEED | GPU-INDEX")->type_name("POLICY");
  parser.add_option("--report", options->report, "text | json | both, after the program's end")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json", "both"}));
  parser.add_option("-o,--output", options->output, "where the report goes instead of stderr")->type_name("FILE");
  parser.add_flag("-q,--quiet", options->quiet, "no report");
  parser.prefix_command();
  parser.footer(
      "tessera run [OPTIONS] -- COMMAND [ARGUMENTS...]\nThe status is the program's own; 125 when Tessera itself fails before, 126 and 127 "
      "as in a shell.\n"
      "Examples:\n"
      "  tessera run --policy fastest --profile kernels.json -- python serve.py\n"
      "  tessera run --sim a100,l40s --policy random:7 --report json -o report.json -- ./program   (no GPU needed)");
  CLI::App* self = &parser;
  return [options, home, self](const std::vector<std::string>& behind_dashes) {
    options->run.command = self->remaining();  // up to "--", if there is one
    if (!options->run.command.empty() && options->run.command.front().starts_with('-')) {
      complain("run: unknown option " + options->run.command.front() + " (see tessera run --help)");
      return exit_status::run_failed;
    }
    options->run.command.insert(options->run.command.end(), behind_dashes.begin(), behind_dashes.end());
    if (home->count() > 0) options->run.home = options->home;
    return run(*options);
  };
}

}  // namespace tessera::cli
