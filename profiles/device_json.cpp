#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "profiles/device_catalog.h"

namespace tessera {
namespace {

using nlohmann::json;

struct Figure {
  const char* key;
  double DeviceModel::*field;
};
constexpr Figure real_figures[] = {
    {"boost_clock_hz", &DeviceModel::boost_clock_hz},
    {"fp32_peak_flop_per_s", &DeviceModel::fp32_flop_per_s},
    {"fp64_peak_flop_per_s", &DeviceModel::fp64_flop_per_s},
    {"int32_peak_op_per_s", &DeviceModel::int32_op_per_s},
    {"special_function_peak_op_per_s", &DeviceModel::special_op_per_s},
    {"fp16_tensor_dense_flop_per_s", &DeviceModel::fp16_tensor_flop_per_s},
    {"bf16_tensor_dense_flop_per_s", &DeviceModel::bf16_tensor_flop_per_s},
    {"fp8_tensor_dense_flop_per_s", &DeviceModel::fp8_tensor_flop_per_s},
    {"fp4_tensor_dense_flop_per_s", &DeviceModel::fp4_tensor_flop_per_s},
    {"int8_tensor_dense_op_per_s", &DeviceModel::int8_tensor_op_per_s},
    {"memory_bandwidth_byte_per_s", &DeviceModel::memory_byte_per_s},
    {"l2_bandwidth_byte_per_s", &DeviceModel::l2_byte_per_s},
    {"pcie_bandwidth_per_direction_byte_per_s", &DeviceModel::pcie_byte_per_s},
    {"nvlink_bandwidth_bidirectional_byte_per_s", &DeviceModel::nvlink_byte_per_s},
    {"tdp_w", &DeviceModel::tdp_w},
    {"cloud_price_usd_per_h", &DeviceModel::price_usd_per_h},
    {"paper_price_usd_per_h", &DeviceModel::paper_price_usd_per_h},
    {"kernel_launch_latency_s", &DeviceModel::launch_latency_s},
    {"kernel_fixed_time_s", &DeviceModel::kernel_fixed_s},
    {"host_link_latency_s", &DeviceModel::link_latency_s},
};

struct WholeFigure {
  const char* key;
  void (*set)(DeviceModel&, std::uint64_t);
};
template <auto Field>
void set(DeviceModel& model, std::uint64_t value) {
  model.*Field = static_cast<std::remove_reference_t<decltype(model.*Field)>>(value);
}
constexpr WholeFigure whole_figures[] = {
    {"sm_count", &set<&DeviceModel::sm_count>},
    {"memory_size_byte", &set<&DeviceModel::memory_bytes>},
    {"l2_size_byte", &set<&DeviceModel::l2_bytes>},
    {"shared_memory_per_sm_byte", &set<&DeviceModel::shared_per_sm>},
    {"shared_memory_per_block_default_byte", &set<&DeviceModel::shared_per_block>},
    {"shared_memory_per_block_optin_byte", &set<&DeviceModel::shared_per_block_optin>},
    {"registers_32bit_per_sm", &set<&DeviceModel::registers_per_sm>},
    {"max_registers_per_thread", &set<&DeviceModel::max_registers_per_thread>},
    {"max_threads_per_sm", &set<&DeviceModel::max_threads_per_sm>},
    {"max_blocks_per_sm", &set<&DeviceModel::max_blocks_per_sm>},
    {"pcie_generation", &set<&DeviceModel::pcie_generation>},
    {"pcie_lanes", &set<&DeviceModel::pcie_lanes>},
};

Status read_figures(const json& figures, DeviceModel& model, std::string_view where) {
  const auto bad = [&](std::string_view key) {
    return Error{ErrorCode::bad_data, fmt::format("figure '{}' is missing, not a number, or negative", key), std::string(where), ""};
  };
  for (const Figure& f : real_figures) {
    const auto found = figures.find(f.key);
    if (found == figures.end() || found->is_null()) continue;
    if (!found->is_number() || found->get<double>() < 0) return bad(f.key);
    model.*f.field = found->get<double>();
  }
  for (const WholeFigure& f : whole_figures) {
    const auto found = figures.find(f.key);
    if (found == figures.end() || !found->is_number() || found->get<double>() < 0) return bad(f.key);
    f.set(model, found->get<std::uint64_t>());
  }
  const auto cc = figures.find("compute_capability");
  const std::string text = cc != figures.end() && cc->is_string() ? cc->get<std::string>() : "";
  const auto dot = text.find('.');
  if (dot == std::string::npos || dot == 0 || text.find_first_not_of("0123456789.") != std::string::npos || text.size() > 5)
    return bad("compute_capability");
  model.cc_major = static_cast<unsigned>(std::stoul(text.substr(0, dot)));
  model.cc_minor = static_cast<unsigned>(std::stoul("0" + text.substr(dot + 1)));
  // What every calculation divides by.
  for (const double needed : {model.fp32_flop_per_s, model.memory_byte_per_s, model.boost_clock_hz, static_cast<double>(model.sm_count)}) {
    if (needed <= 0) return Error{ErrorCode::bad_data, "a peak rate, the clock or the SM count is zero", std::string(where), ""};
  }
  return {};
}

}  // namespace

Result<DeviceModel> parse_device_model(std::string_view text, std::string_view where) {
  try {
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object()) {
      return Error{ErrorCode::bad_data, "not a JSON object", std::string(where), "see docs/file-formats.md"};
    }
    if (document.value("schema_version", 0) != 1)
      return Error{ErrorCode::bad_data, "unknown schema_version", std::string(where), "this build reads version 1"};
    DeviceModel model;
    model.name = document.at("name").get<std::string>();
    model.cuda_name = document.value("cuda_name", model.name);
    model.aliases = document.value("aliases", std::vector<std::string>{});
    model.architecture = document.value("architecture", "");
    model.estimated = document.value("estimated", std::vector<std::string>{});
    model.sources = document.value("sources", std::vector<std::string>{});
    model.notes = document.value("notes", "");
    TRY_STATUS(read_figures(document.at("figures"), model, where));
    return model;
  } catch (const json::exception& problem) {
    return Error{ErrorCode::bad_data, problem.what(), std::string(where), "see docs/file-formats.md"};
  }
}

}  // namespace tessera
