#include "profiles/device_catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "profiles/base/log.h"
#include "profiles/base/settings.h"
#include "profiles/builtin_devices.h"

namespace tessera {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  if (out.rfind("nvidia", 0) == 0) out.erase(0, 6);
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({row[k] + 1, row[k - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::vector<std::string> names_of(const DeviceModel& model) {
  std::vector<std::string> names = {folded(model.name), folded(model.cuda_name)};
  for (const auto& alias : model.aliases) names.push_back(folded(alias));
  return names;
}

void add(std::vector<DeviceModel>& models, Result<DeviceModel> parsed) {
  if (!parsed) {
    log::notice("device catalogue: " + parsed.error().message());
    return;
  }
  const auto same = std::find_if(models.begin(), models.end(), [&](const DeviceModel& m) { return m.name == parsed->name; });
  if (same != models.end())
    *same = std::move(*parsed);
  else
    models.push_back(std::move(*parsed));
}

void add_folder(std::vector<DeviceModel>& models, const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  if (error) {
    log::notice(fmt::format("TESSERA_DEVICE_CATALOG={}: {}", folder, error.message()));
    return;
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    add(models, parse_device_model(text, path.string()));
  }
}

std::vector<DeviceModel> load_all() {
  std::vector<DeviceModel> models;
  for (const BuiltinDevice& device : builtin_devices()) add(models, parse_device_model(device.json, device.file));
  std::sort(models.begin(), models.end(), [](const DeviceModel& a, const DeviceModel& b) { return a.name < b.name; });
  const Settings settings = Settings::from_environment();
  if (!settings.device_catalog.empty()) add_folder(models, settings.device_catalog);
  return models;
}

}  // namespace

bool DeviceModel::is_estimated(std::string_view figure) const {
  return std::find(estimated.begin(), estimated.end(), figure) != estimated.end();
}

std::span<const DeviceModel> all_devices() {
  static const auto* const models = new std::vector<DeviceModel>(load_all());  // outlives exit handlers that name a model
  return *models;
}

Result<const DeviceModel*> find_device(std::string_view name) {
  const std::string wanted = folded(name);
  std::vector<std::pair<std::size_t, const DeviceModel*>> near;
  for (const DeviceModel& model : all_devices()) {
    std::size_t distance = ~std::size_t{0};
    for (const std::string& candidate : names_of(model)) {
      if (candidate == wanted) return &model;
      const bool inside = !wanted.empty() && candidate.find(wanted) != std::string::npos;
      distance = std::min(distance, inside ? std::size_t{1} : edit_distance(wanted, candidate));
    }
    near.emplace_back(distance, &model);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string hint = "near names: ";
  for (std::size_t i = 0; i < near.size() && i < 3; ++i) hint += (i == 0 ? "" : ", ") + near[i].second->name;
  return Error{ErrorCode::not_found, fmt::format("unknown GPU '{}'", name), "", hint + "; `tessera devices` lists all"};
}

Result<std::vector<const DeviceModel*>> parse_device_list(std::string_view list) {
  std::vector<const DeviceModel*> models;
  while (true) {
    const auto comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty()) return Error{ErrorCode::usage, "empty GPU name in the list", "", "write it as a100,l40s"};
    TRY(model, find_device(name));
    models.push_back(model);
    if (comma == std::string_view::npos) return models;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace tessera
