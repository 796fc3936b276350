// tessera devices: the GPU models of the catalogue.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiles/device_catalog.h"
#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"

namespace tessera::cli {
namespace {

struct Options {
  std::vector<std::string> names;
  bool json = false;
};

struct Column {
  const char* key;    // in JSON, as in the device's file and DeviceModel::estimated
  const char* title;  // in the table
  double (*value)(const DeviceModel&);
  double unit;  // one of the table's units in SI
};

const Column columns[] = {
    {"sm_count", "SMs", [](const DeviceModel& m) { return static_cast<double>(m.sm_count); }, 1},
    {"memory_size_byte", "GB", [](const DeviceModel& m) { return static_cast<double>(m.memory_bytes); }, 1e9},
    {"memory_bandwidth_byte_per_s", "GB/s", [](const DeviceModel& m) { return m.memory_byte_per_s; }, 1e9},
    {"fp32_peak_flop_per_s", "FP32 TF", [](const DeviceModel& m) { return m.fp32_flop_per_s; }, 1e12},
    {"fp16_tensor_dense_flop_per_s", "FP16 tensor TF", [](const DeviceModel& m) { return m.fp16_tensor_flop_per_s; }, 1e12},
    {"pcie_bandwidth_per_direction_byte_per_s", "PCIe GB/s", [](const DeviceModel& m) { return m.pcie_byte_per_s; }, 1e9},
    {"nvlink_bandwidth_bidirectional_byte_per_s", "NVLink GB/s", [](const DeviceModel& m) { return m.nvlink_byte_per_s; }, 1e9},
    {"tdp_w", "W", [](const DeviceModel& m) { return m.tdp_w; }, 1},
    {"cloud_price_usd_per_h", "USD/h", [](const DeviceModel& m) { return m.price_usd_per_h; }, 1},
};

// An unknown figure is "-", an estimated one has a "~".
std::string cell(const Column& column, const DeviceModel& model) {
  const double value = column.value(model) / column.unit;
  if (value == 0) return "-";
  return fmt::format("{}{:.4g}", model.is_estimated(column.key) ? "~" : "", value);
}

void print_table(const std::vector<const DeviceModel*>& models) {
  fmt::print("{:26} {:>4}", "model", "CC");
  for (const Column& column : columns) fmt::print(" {:>{}}", column.title, std::max<std::size_t>(6, std::string(column.title).size()));
  fmt::print("\n");
  for (const DeviceModel* model : models) {
    fmt::print("{:26} {:>4}", model->name, fmt::format("{}.{}", model->cc_major, model->cc_minor));
    for (const Column& column : columns) {
      fmt::print(" {:>{}}", cell(column, *model), std::max<std::size_t>(6, std::string(column.title).size()));
    }
    fmt::print("\n");
  }
  fmt::print("~ estimated, - unknown; sources: tessera devices --json\n");
}

nlohmann::json json_of(const DeviceModel& model) {
  nlohmann::json object{{"name", model.name},
                        {"cuda_name", model.cuda_name},
                        {"aliases", model.aliases},
                        {"architecture", model.architecture},
                        {"compute_capability", {model.cc_major, model.cc_minor}},
                        {"estimated", model.estimated},
                        {"sources", model.sources}};
  for (const Column& column : columns) object[column.key] = column.value(model);
  return object;
}

int list(const Options& options) {
  std::vector<const DeviceModel*> models;
  for (const std::string& name : options.names) {
    auto model = find_device(name);
    if (!model) return fail(model.error());
    models.push_back(*model);
  }
  if (options.names.empty()) {
    for (const DeviceModel& model : all_devices()) models.push_back(&model);
  }
  if (!options.json) {
    print_table(models);
    return exit_status::ok;
  }
  nlohmann::json document{{"schema_version", 1}, {"devices", nlohmann::json::array()}};
  for (const DeviceModel* model : models) document["devices"].push_back(json_of(*model));
  fmt::print("{}\n", document.dump(2));
  return exit_status::ok;
}

}  // namespace

Action declare_devices(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_option("NAME", options->names, "only these models (as for run --sim)");
  parser.add_flag("--json", options->json, "one JSON document, SI units");
  return [options](const std::vector<std::string>&) { return list(*options); };
}

}  // namespace tessera::cli
