#include "tools/cli/report_read.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

using nlohmann::json;
namespace line_type = report::line_type;

report::Start start_of(const json& line) {
  report::Start start;
  start.version = line.at("schema_version").get<int>();
  start.tessera_version = line.value("tessera_version", "");
  start.command = line.value("command", "");
  start.policy = line.value("policy", "");
  start.profile = line.value("profile", "");
  start.simulated = line.value("simulated", false);
  start.driver_version = line.value("driver_version", 0);
  start.home_only = line.value("home_only", "");
  return start;
}

report::Kernel kernel_of(const json& line) {
  report::Kernel kernel;
  kernel.name = line.at("name").get<std::string>();
  for (const auto& [device, launches] : line.at("launches").items()) kernel.launches[std::stoi(device)] = launches.get<std::uint64_t>();
  kernel.redirected = line.value("redirected", std::uint64_t{0});
  if (line.contains("reasons")) kernel.reasons = line.at("reasons").get<std::map<std::string, std::uint64_t>>();
  return kernel;
}

void add_line(const json& line, report::Block& block) {
  const auto type = line.at("type").get<std::string>();
  if (type == line_type::device) {
    block.devices.push_back({line.at("ordinal").get<int>(), line.value("name", ""), line.value("used", false)});
  } else if (type == line_type::problem) {
    block.problems.push_back(line.at("text").get<std::string>());
  } else if (type == line_type::kernel) {
    block.kernels.push_back(kernel_of(line));
  } else if (type == line_type::reason) {
    block.reasons.push_back({line.at("id").get<std::string>(), line.value("sentence", ""), line.value("advice", "")});
  } else if (type == line_type::moved) {
    block.moved.push_back({line.at("from").get<int>(), line.at("to").get<int>(), line.at("bytes").get<std::uint64_t>(),
                           line.value("copies", std::uint64_t{0})});
  } else if (type == line_type::end) {
    block.launches = line.at("launches").get<std::uint64_t>();
    block.redirected = line.at("redirected").get<std::uint64_t>();
    block.bytes_moved = line.at("bytes_moved").get<std::uint64_t>();
  }
}

Status read_line(std::string_view text, std::string_view where, std::vector<report::Block>& blocks) {
  const json line = json::parse(text);
  if (line.at("type").get<std::string>() == line_type::start) {
    report::Block block;
    block.pid = line.at("pid").get<std::uint64_t>();
    block.start = start_of(line);
    if (block.start.version > report::schema_version) {
      return Error{ErrorCode::bad_data, fmt::format("the report has schema version {}", block.start.version), std::string(where),
                   fmt::format("this tessera reads up to {}: use the newer one", report::schema_version)};
    }
    blocks.push_back(std::move(block));
  } else if (!blocks.empty()) {
    add_line(line, blocks.back());
  }
  return {};
}

}  // namespace

Result<std::vector<report::Block>> parse_report(std::string_view text, std::string_view where) {
  std::vector<report::Block> blocks;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string place = fmt::format("{}:{}", where, number);
    try {
      if (end > 0) TRY_STATUS(read_line(text.substr(0, end), place, blocks));
    } catch (const std::exception& error) {
      return Error{ErrorCode::bad_data, std::string("not a report line: ") + error.what(), place, ""};
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return blocks;
}

Result<SimulatedRun> parse_simulated(std::string_view text, std::string_view where) try {
  const json document = json::parse(text);
  SimulatedRun run;
  run.makespan_s = document.at("makespan_s").get<double>();
  run.launches = document.at("launches").get<std::uint64_t>();
  if (document.contains("races")) run.races = document.at("races").get<std::uint64_t>();
  for (const json& device : document.at("devices")) {
    run.devices.push_back({device.at("ordinal").get<int>(), device.at("model").get<std::string>(),
                           device.at("busy_s").get<std::map<std::string, double>>(), device.at("kernels").get<std::uint64_t>(),
                           device.value("memory_peak_bytes", std::uint64_t{0})});
  }
  return run;
} catch (const std::exception& error) {
  return Error{ErrorCode::bad_data, std::string("not a simulator report: ") + error.what(), std::string(where), ""};
}

}  // namespace tessera::cli
