#include "tools/cli/run_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "placement/policy/choose.h"
#include "profiles/database_json.h"
#include "profiles/device_catalog.h"

namespace tessera::cli {
namespace {

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// `first` before what `list` has, once.
std::string prepended(const std::string& first, const std::string& list, std::string_view separators) {
  std::string result = first;
  for (const std::string& part : split(list, separators)) {
    if (part != first) result.append(":").append(part);
  }
  return result;
}

// Whether an entry of CUDA_VISIBLE_DEVICES names a GPU: an index of one of `count` (negative = nobody knows how many), or a UUID.
bool names_gpu(const std::string& entry, int count) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return true;
  int index = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  return error == std::errc() && end == entry.data() + entry.size() && index >= 0 && (count < 0 || index < count);
}

// The GPUs that the program would see without --home, as CUDA_VISIBLE_DEVICES names them: as the driver reads it, an entry that names no
// GPU hides all behind it. Empty when there is none, or when nobody knows.
std::vector<std::string> visible_gpus(const Environment& environment, int count) {
  std::vector<std::string> gpus;
  if (environment.count("CUDA_VISIBLE_DEVICES") == 0) {
    for (int i = 0; i < count; ++i) gpus.push_back(std::to_string(i));
    return gpus;
  }
  for (const std::string& entry : split(value_of(environment, "CUDA_VISIBLE_DEVICES"), ", ")) {
    if (!names_gpu(entry, count)) break;
    gpus.push_back(entry);
  }
  return gpus;
}

// The list with the home GPU moved to the front.
Result<std::string> with_home_first(std::vector<std::string> gpus, int home) {
  if (gpus.empty()) {
    return Error{ErrorCode::environment, "no GPU is visible", "--home", "check CUDA_VISIBLE_DEVICES, or use --sim"};
  }
  if (home < 0 || static_cast<std::size_t>(home) >= gpus.size()) {
    return Error{ErrorCode::usage, fmt::format("there is no GPU {}", home), "--home", fmt::format("0 to {}", gpus.size() - 1)};
  }
  std::rotate(gpus.begin(), gpus.begin() + home, gpus.begin() + home + 1);
  std::string list;
  for (const std::string& gpu : gpus) list.append(list.empty() ? "" : ",").append(gpu);
  return list;
}

Result<std::string> usable_profile(const std::string& file) {
  TRY(database, load_database(file));
  static_cast<void>(database);
  return std::filesystem::absolute(file).string();
}

// `gpus` = 0: nobody knows how many there are.
Status check_policy(const std::string& text, std::size_t gpus) {
  TRY(policy, policy::parse_policy(text));
  if (policy.kind == policy::PolicyKind::device && gpus > 0 && policy.device >= gpus) {
    return Error{ErrorCode::usage, fmt::format("there is no GPU {}", policy.device), "--policy", fmt::format("0 to {}", gpus - 1)};
  }
  return {};
}

Status check_order(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text == "program" || (error == std::errc() && end == text.data() + text.size())) return {};
  return Error{ErrorCode::usage, fmt::format("not an order: \"{}\"", text), "--order", "write program, or a number as the seed"};
}

Status add_simulation(const RunOptions& options, Environment& added) {
  if (options.sim.empty() && (options.races || !options.order.empty())) {
    return Error{ErrorCode::usage, "only simulated GPUs have it", options.races ? "--races" : "--order", "add --sim a100,l40s"};
  }
  if (!options.order.empty()) {
    TRY_STATUS(check_order(options.order));
    added["TESSERA_SIM_ORDER"] = options.order;
  }
  if (options.races) added.emplace("TESSERA_SIM_RACES", "1");
  return {};
}

}  // namespace

Result<Libraries> find_libraries(const std::string& executable, bool with_simulator) {
  const std::filesystem::path lib = std::filesystem::path(executable).parent_path().parent_path() / "lib";
  for (const auto& folder : {lib, lib / "tessera"}) {
    const Libraries found{(folder / "libtessera.so").string(), (folder / "simgpu").string()};
    if (!std::filesystem::exists(found.interposer)) continue;
    if (with_simulator && !std::filesystem::exists(found.simulated + "/libcuda.so.1")) continue;
    return found;
  }
  return Error{ErrorCode::environment, with_simulator ? "libtessera.so and simgpu/libcuda.so.1 are missing" : "libtessera.so is missing",
               lib.string(), "build or install Tessera completely"};
}

Result<Environment> plan_run(const RunOptions& options, const Libraries& libraries, const Environment& environment, int machine_gpus) {
  Environment added;
  int count = machine_gpus;
  if (!options.sim.empty()) {
    TRY(models, parse_device_list(options.sim));
    count = static_cast<int>(models.size());
    added["TESSERA_SIM"] = options.sim;
    added["LD_LIBRARY_PATH"] = prepended(libraries.simulated, value_of(environment, "LD_LIBRARY_PATH"), ":");
  }
  TRY_STATUS(add_simulation(options, added));
  const std::vector<std::string> gpus = visible_gpus(environment, count);
  if (options.home) {
    TRY(list, with_home_first(gpus, *options.home));
    added["CUDA_VISIBLE_DEVICES"] = list;
  }
  if (!options.profile.empty()) {
    TRY(profile, usable_profile(options.profile));
    added["TESSERA_PROFILE"] = profile;
  }
  if (!options.policy.empty()) {
    TRY_STATUS(check_policy(options.policy, gpus.size()));
    added["TESSERA_POLICY"] = options.policy;
  }
  added["LD_PRELOAD"] = prepended(libraries.interposer, value_of(environment, "LD_PRELOAD"), ": ");
  return added;
}

}  // namespace tessera::cli
