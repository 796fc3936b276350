#include "profiles/database_json.h"

#include <fmt/core.h>

#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "profiles/json_guard.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "tessera-profile";

// One JSON object with its place, for errors that say where.
class Object {
 public:
  Object(const json& value, std::string_view file, std::string pointer) : value_(value), file_(file), pointer_(std::move(pointer)) {}

  [[nodiscard]] Error bad(std::string what, std::string_view key = {}) const {
    return Error{ErrorCode::bad_data, std::move(what), fmt::format("{}:{}{}{}", file_, pointer_, key.empty() ? "" : "/", key), ""};
  }
  [[nodiscard]] Status check_object() const { return value_.is_object() ? Status{} : bad("expected an object"); }

  Result<const json*> member(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) return bad(fmt::format("\"{}\" is missing", key));
    return &*found;
  }
  Result<std::string> text(const char* key) const {
    TRY(found, member(key));
    if (!found->is_string()) return bad("expected a text", key);
    return found->get<std::string>();
  }
  Result<double> number(const char* key) const {
    TRY(found, member(key));
    if (!found->is_number()) return bad("expected a number", key);
    return found->get<double>();
  }
  Result<std::uint64_t> whole(const char* key, std::uint64_t most) const {
    TRY(found, member(key));
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most)
      return bad(fmt::format("expected a whole number up to {}", most), key);
    return found->get<std::uint64_t>();
  }
  // A figure that may be missing: 0, not known.
  Result<std::uint64_t> whole_or_zero(const char* key, std::uint64_t most) const {
    if (value_.find(key) == value_.end()) return std::uint64_t{0};
    return whole(key, most);
  }
  Result<bool> truth(const char* key) const {
    TRY(found, member(key));
    if (!found->is_boolean()) return bad("expected true or false", key);
    return found->get<bool>();
  }
  Result<std::array<std::uint32_t, 3>> extent(const char* key) const {
    TRY(found, member(key));
    std::array<std::uint32_t, 3> out{};
    if (!found->is_array() || found->size() != out.size()) return bad("expected three whole numbers", key);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const json& n = (*found)[i];
      if (!n.is_number_unsigned() || n.get<std::uint64_t>() > UINT32_MAX) return bad("expected three whole numbers below 2^32", key);
      out[i] = n.get<std::uint32_t>();
    }
    return out;
  }

 private:
  const json& value_;
  std::string_view file_;
  std::string pointer_;
};

constexpr std::uint64_t largest_whole = std::uint64_t{1} << 53;

// 16 hexadecimal digits.
Result<std::uint64_t> run_id(std::string_view text, const Object& at) {
  constexpr std::string_view zeros = "0000000000000000";
  const auto hash = parse_content_hash(std::string(zeros) + std::string(text));
  if (!hash) return at.bad("a run's id isn't 16 hexadecimal digits");
  return hash->low;
}

Result<Run> read_run(const std::string& id, const Object& o) {
  TRY_STATUS(o.check_object());
  Run run;
  TRY(number, run_id(id, o));
  run.id = number;
  TRY(started, o.whole("started_unix_s", largest_whole));
  run.started_unix_s = started;
  TRY(tool, o.text("tool_version"));
  run.tool_version = std::move(tool);
  TRY(driver, o.text("driver_version"));
  run.driver_version = std::move(driver);
  TRY(simulated, o.truth("simulated"));
  run.simulated = simulated;
  return run;
}

Result<DeviceIdentity> read_device(const Object& o) {
  TRY_STATUS(o.check_object());
  DeviceIdentity device;
  TRY(model, o.text("model"));
  device.model = std::move(model);
  TRY(cc, o.text("compute_capability"));
  const auto dot = cc.find('.');
  if (dot == 0 || dot > 2 || cc.size() != dot + 2 || cc.find_first_not_of("0123456789.") != std::string::npos || cc.back() == '.')
    return o.bad("expected a compute capability as \"8.0\"", "compute_capability");
  device.cc_major = static_cast<unsigned>(std::stoul(cc.substr(0, dot)));
  device.cc_minor = static_cast<unsigned>(cc.back() - '0');
  TRY(sms, o.whole("sm_count", UINT32_MAX));
  device.sm_count = static_cast<unsigned>(sms);
  return device;
}

Result<Sample> read_sample(const Object& o) {
  TRY_STATUS(o.check_object());
  Sample sample;
  TRY(run, o.text("run"));
  TRY(id, run_id(run, o));
  sample.run = id;
  TRY(count, o.whole("count", largest_whole));
  sample.time.count = count;
  constexpr std::pair<const char*, double Distribution::*> figures[] = {
      {"min_s", &Distribution::min}, {"p50_s", &Distribution::p50},   {"p90_s", &Distribution::p90},
      {"max_s", &Distribution::max}, {"mean_s", &Distribution::mean}, {"variance_s2", &Distribution::variance},
  };
  for (const auto& [key, field] : figures) {
    TRY(value, o.number(key));
    sample.time.*field = value;
  }
  TRY(registers, o.whole_or_zero("registers", UINT32_MAX));
  sample.figures.registers = static_cast<std::uint32_t>(registers);
  TRY(shared, o.whole_or_zero("static_shared_bytes", UINT32_MAX));
  sample.figures.static_shared = static_cast<std::uint32_t>(shared);
  TRY(bytes, o.whole_or_zero("global_bytes", largest_whole));
  sample.figures.global_bytes = bytes;
  TRY(operations, o.whole_or_zero("operations", largest_whole));
  sample.figures.operations = operations;
  return sample;
}

// An error of the database itself, with the place that it is about.
Status placed(Status status, const Object& at) { return status.ok() ? std::move(status) : Status(at.bad(status.error().what)); }

class Reader {
 public:
  Reader(const json& document, std::string_view file) : document_(document), file_(file), root_(document, file, "") {}

  Result<Database> read() {
    TRY_STATUS(check_head());
    TRY_STATUS(read_runs());
    TRY_STATUS(read_devices());
    TRY_STATUS(read_records());
    return builder_.build();
  }

 private:
  Status check_head() {
    TRY_STATUS(root_.check_object());
    const auto format = document_.find("format");
    if (format == document_.end() || *format != format_name) {
      return Error{ErrorCode::bad_data, "not a profile database", std::string(file_),
                   fmt::format("its \"format\" isn't \"{}\"", format_name)};
    }
    TRY(version, root_.whole("schema_version", INT32_MAX));
    if (version == profile_schema_version) return {};
    const bool newer = version > profile_schema_version;
    return Error{
        ErrorCode::bad_data,
        fmt::format("schema_version {} is {} than this build reads ({})", version, newer ? "newer" : "older", profile_schema_version),
        std::string(file_), newer ? "use a newer Tessera, or profile again" : "profile again"};
  }

  Status read_runs() {
    TRY(runs, root_.member("runs"));
    if (!runs->is_object()) return root_.bad("expected an object", "runs");
    for (const auto& [id, value] : runs->items()) {
      const Object o(value, file_, "/runs/" + id);
      TRY(run, read_run(id, o));
      TRY_STATUS(placed(builder_.add_run(run), o));
      known_runs_.insert(run.id);
    }
    return {};
  }

  Status read_devices() {
    TRY(devices, root_.member("devices"));
    if (!devices->is_object()) return root_.bad("expected an object", "devices");
    for (const auto& [name, value] : devices->items()) {
      TRY(device, read_device(Object(value, file_, "/devices/" + name)));
      devices_[name] = std::move(device);
    }
    return {};
  }

  Status read_records() {
    TRY(records, root_.member("records"));
    if (!records->is_array()) return root_.bad("expected an array", "records");
    for (std::size_t i = 0; i < records->size(); ++i) {
      TRY_STATUS(read_record((*records)[i], fmt::format("/records/{}", i)));
    }
    return {};
  }

  Status read_record(const json& value, const std::string& pointer) {
    const Object o(value, file_, pointer);
    TRY_STATUS(o.check_object());
    KernelKey kernel;
    TRY(name, o.text("kernel"));
    kernel.name = std::move(name);
    TRY(hash_text, o.text("content_hash"));
    const auto hash = parse_content_hash(hash_text);
    if (!hash) return o.bad("expected 32 hexadecimal digits", "content_hash");
    kernel.content = *hash;
    LaunchShape shape;
    TRY(grid, o.extent("grid"));
    shape.grid = grid;
    TRY(block, o.extent("block"));
    shape.block = block;
    TRY(shared, o.whole("dynamic_shared_bytes", UINT32_MAX));
    shape.dynamic_shared = static_cast<std::uint32_t>(shared);
    TRY(device_name, o.text("device"));
    const auto device = devices_.find(device_name);
    if (device == devices_.end()) return o.bad("a GPU that \"devices\" doesn't list", "device");
    TRY(samples, o.member("samples"));
    if (!samples->is_array() || samples->empty()) return o.bad("expected an array with at least one sample", "samples");
    for (std::size_t i = 0; i < samples->size(); ++i) {
      const Object s((*samples)[i], file_, fmt::format("{}/samples/{}", pointer, i));
      TRY(sample, read_sample(s));
      if (!known_runs_.contains(sample.run)) return s.bad("a run that \"runs\" doesn't list", "run");
      TRY_STATUS(placed(builder_.add(kernel, shape, device->second, sample), s));
    }
    return {};
  }

  const json& document_;
  std::string_view file_;
  Object root_;
  DatabaseBuilder builder_;
  std::set<std::uint64_t> known_runs_;
  std::map<std::string, DeviceIdentity, std::less<>> devices_;
};

// The database holds printable ASCII only, so nothing else needs an escape.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

class Writer {
 public:
  std::string write(const Database& database) {
    add("{{\n\"format\": \"{}\",\n\"schema_version\": {},\n\"runs\": {{", format_name, profile_schema_version);
    const char* between = "";
    for (const Run& r : database.runs()) {
      add("{}\n  \"{:016x}\": {{\"started_unix_s\": {}, \"tool_version\": {}, \"driver_version\": {}, \"simulated\": {}}}", between, r.id,
          r.started_unix_s, json_text(r.tool_version), json_text(r.driver_version), r.simulated);
      between = ",";
    }
    add("\n}},\n\"devices\": {{");
    write_devices(database);
    add("\n}},\n\"records\": [");
    between = "";
    for (const Record& r : database.records()) {
      add("{}\n  ", between);
      write_record(r);
      between = ",";
    }
    add("\n]\n}}\n");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // A GPU's name in the file is its model; where two GPUs of a model differ, with what tells them apart.
  void write_devices(const Database& database) {
    std::map<std::string, std::size_t> models;
    for (const Record& r : database.records()) {
      if (names_.try_emplace(r.device, "").second) ++models[r.device.model];
    }
    const char* between = "";
    for (auto& [device, name] : names_) {
      name = models[device.model] == 1
                 ? device.model
                 : fmt::format("{} (compute capability {}.{}, {} SMs)", device.model, device.cc_major, device.cc_minor, device.sm_count);
      add("{}\n  {}: {{\"model\": {}, \"compute_capability\": \"{}.{}\", \"sm_count\": {}}}", between, json_text(name),
          json_text(device.model), device.cc_major, device.cc_minor, device.sm_count);
      between = ",";
    }
  }

  void write_record(const Record& r) {
    const auto& [grid, block, shared] = r.shape;
    add("{{\"kernel\": {}, \"content_hash\": \"{}\", \"grid\": [{}, {}, {}], \"block\": [{}, {}, {}], \"dynamic_shared_bytes\": {}, "
        "\"device\": {}, ",
        json_text(r.kernel.name), r.kernel.content.text(), grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
        json_text(names_.at(r.device)));
    add("\"samples\": [");
    const char* between = "";
    for (const Sample& s : r.samples) {
      add("{}{{\"run\": \"{:016x}\", \"count\": {}, \"min_s\": {}, \"p50_s\": {}, \"p90_s\": {}, \"max_s\": {}, \"mean_s\": {}, "
          "\"variance_s2\": {}",
          between, s.run, s.time.count, s.time.min, s.time.p50, s.time.p90, s.time.max, s.time.mean, s.time.variance);
      add_known("registers", s.figures.registers);
      add_known("static_shared_bytes", s.figures.static_shared);
      add_known("global_bytes", s.figures.global_bytes);
      add_known("operations", s.figures.operations);
      add("}}");
      between = ", ";
    }
    add("]}}");
  }

  void add_known(std::string_view key, std::uint64_t value) {
    if (value != 0) add(", \"{}\": {}", key, value);
  }

  std::string out_;
  std::map<DeviceIdentity, std::string> names_;
};

}  // namespace

Result<Database> parse_database(std::string_view text, std::string_view where) {
  try {
    TRY_STATUS(guard_json(text, where));
    const json document = json::parse(text);
    return Reader(document, where).read();
  } catch (const json::exception& problem) {
    return Error{ErrorCode::bad_data, problem.what(), std::string(where), ""};
  }
}

std::string write_database(const Database& database) { return Writer{}.write(database); }

}  // namespace tessera
