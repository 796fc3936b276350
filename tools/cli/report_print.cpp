#include "tools/cli/report_print.h"

#include <cxxabi.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

using nlohmann::json;

// "add(float const*, float*, int)" -> "add"; a name that isn't mangled stays.
std::string kernel_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || name == nullptr) return mangled;
  std::string text = name.get();
  if (text.starts_with("void ")) text.erase(0, 5);  // templates carry their return type
  if (const std::size_t place = text.find("(anonymous namespace)::"); place != std::string::npos) text.erase(place, 23);
  return text.substr(0, text.find('('));
}

std::string bytes_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

std::string plural(std::uint64_t count, const char* noun, const char* nouns) {
  return fmt::format("{} {}", count, count == 1 ? noun : nouns);
}

std::string reasons_text(const report::Kernel& kernel) {
  std::string text;
  for (const auto& [id, count] : kernel.reasons) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", id, count);
  return text;
}

std::string kernel_table(const report::Block& block) {
  std::size_t width = 6;
  for (const report::Kernel& kernel : block.kernels) width = std::max(width, kernel_name(kernel.name).size());
  std::string text = fmt::format("  {:{}}", "kernel", width);
  for (const report::Device& device : block.devices) text += fmt::format(" {:>8}", fmt::format("GPU {}", device.ordinal));
  text += "  stayed home because\n";
  for (const report::Kernel& kernel : block.kernels) {
    std::string line = fmt::format("  {:{}}", kernel_name(kernel.name), width);
    for (const report::Device& device : block.devices) {
      const auto launches = kernel.launches.find(device.ordinal);
      line += fmt::format(" {:>8}", launches == kernel.launches.end() ? 0 : launches->second);
    }
    const std::string reasons = reasons_text(kernel);
    if (!reasons.empty()) line.append("  ").append(reasons);
    text.append(line).append("\n");
  }
  return text;
}

std::string block_text(const report::Block& block) {
  std::string text =
      fmt::format("tessera: {} (process {}), policy {}: {}, {} redirected, {} moved between GPUs\n", block.start.command, block.pid,
                  block.start.policy, plural(block.launches, "launch", "launches"), block.redirected, bytes_text(block.bytes_moved));
  if (!block.start.home_only.empty()) text += fmt::format("  everything stays home: {}\n", block.start.home_only);
  for (const std::string& problem : block.problems) text += fmt::format("  problem: {}\n", problem);
  for (const report::Device& device : block.devices) {
    text += fmt::format("  GPU {}: {}{}\n", device.ordinal, device.name, device.ordinal == 0 ? ", home" : "");
  }
  if (!block.kernels.empty()) text += kernel_table(block);
  for (const report::Moved& moved : block.moved) {
    text += fmt::format("  moved from GPU {} to GPU {}: {} in {}\n", moved.from, moved.to, bytes_text(moved.bytes),
                        plural(moved.copies, "copy", "copies"));
  }
  for (const report::Reason& reason : block.reasons) text += fmt::format("  {}: {}. {}\n", reason.id, reason.sentence, reason.advice);
  return text;
}

std::string simulated_text(const SimulatedRun& run) {
  std::string text = fmt::format("tessera: simulated time {}", seconds_text(run.makespan_s));
  for (const SimulatedDevice& device : run.devices) {
    const auto compute = device.busy_s.find("compute");
    text += fmt::format("; GPU {} computes {}", device.ordinal, seconds_text(compute == device.busy_s.end() ? 0 : compute->second));
  }
  if (run.races) text += fmt::format("; {} found", plural(*run.races, "race", "races"));
  return text + "\n";
}

json json_of(const report::Kernel& kernel) {
  json launches = json::object();
  for (const auto& [device, count] : kernel.launches) launches[std::to_string(device)] = count;
  return {{"name", kernel.name}, {"launches", launches}, {"redirected", kernel.redirected}, {"reasons", kernel.reasons}};
}

json json_of(const report::Block& block) {
  json object{{"pid", block.pid},
              {"command", block.start.command},
              {"policy", block.start.policy},
              {"profile", block.start.profile},
              {"simulated", block.start.simulated},
              {"driver_version", block.start.driver_version},
              {"tessera_version", block.start.tessera_version},
              {"home_only", block.start.home_only},
              {"problems", block.problems},
              {"launches", block.launches},
              {"redirected", block.redirected},
              {"bytes_moved", block.bytes_moved}};
  for (const char* list : {"devices", "kernels", "reasons", "moved"}) object[list] = json::array();
  for (const auto& d : block.devices) object["devices"].push_back({{"ordinal", d.ordinal}, {"name", d.name}, {"used", d.used}});
  for (const auto& kernel : block.kernels) object["kernels"].push_back(json_of(kernel));
  for (const auto& r : block.reasons) object["reasons"].push_back({{"id", r.id}, {"sentence", r.sentence}, {"advice", r.advice}});
  for (const auto& m : block.moved) {
    object["moved"].push_back({{"from", m.from}, {"to", m.to}, {"bytes", m.bytes}, {"copies", m.copies}});
  }
  return object;
}

json json_of(const SimulatedRun& run) {
  json object{{"makespan_s", run.makespan_s}, {"launches", run.launches}, {"devices", json::array()}};
  for (const auto& d : run.devices) {
    object["devices"].push_back({{"ordinal", d.ordinal},
                                 {"model", d.model},
                                 {"busy_s", d.busy_s},
                                 {"kernels", d.kernels},
                                 {"memory_peak_bytes", d.memory_peak_bytes}});
  }
  if (run.races) object["races"] = *run.races;
  return object;
}

}  // namespace

std::string text_of(const RunReport& run) {
  std::string text;
  for (const report::Block& block : run.processes) text += block_text(block);
  if (run.processes.empty()) text += "tessera: the program did not use CUDA\n";
  if (run.simulated) text += simulated_text(*run.simulated);
  return text;
}

std::string json_of(const RunReport& run) {
  json document{{"schema_version", 1}, {"exit_status", run.exit_status}, {"processes", json::array()}, {"simulated", nullptr}};
  for (const report::Block& block : run.processes) document["processes"].push_back(json_of(block));
  if (run.simulated) document["simulated"] = json_of(*run.simulated);
  return document.dump() + "\n";
}

}  // namespace tessera::cli
