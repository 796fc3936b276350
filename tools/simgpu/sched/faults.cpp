#include "tools/simgpu/sched/faults.h"

#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace tessera::simgpu {
namespace {

using nlohmann::json;

constexpr int out_of_memory = 2, ecc_uncorrectable = 214, unknown = 999;  // cuda.h's CUresult

Error wrong(std::string what, std::string where) {
  return {ErrorCode::bad_data, std::move(what), std::move(where), "see \"Faults\" in docs/simulator.md"};
}

}  // namespace

// One entry of the list.
struct FaultReader {
  const json& entry;
  std::string where;
  Faults& faults;

  [[nodiscard]] double number(const char* key, double otherwise) const {
    const auto found = entry.find(key);
    return found == entry.end() ? otherwise : found->get<double>();
  }
  [[nodiscard]] int integer(const char* key, int otherwise) const {
    const auto found = entry.find(key);
    return found == entry.end() ? otherwise : found->get<int>();
  }
  [[nodiscard]] Nanoseconds time(const char* key, Nanoseconds otherwise) const {
    const auto found = entry.find(key);
    return found == entry.end() ? otherwise : static_cast<Nanoseconds>(std::llround(found->get<double>() * 1e9));
  }
  [[nodiscard]] Status known_keys(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : entry.items()) {
      if (key != "kind" && std::find(known.begin(), known.end(), key) == known.end()) return wrong("unknown key \"" + key + "\"", where);
    }
    return {};
  }

  Status counted(FaultSource source, int code) {
    TRY_STATUS(known_keys({"device", "nth", "count", "code"}));
    const int nth = integer("nth", 1), count = integer("count", 1);
    if (nth < 1 || count < 1) return wrong("\"nth\" and \"count\" begin at 1", where);
    faults.counted_.push_back(
        {source, integer("device", -1), static_cast<std::uint64_t>(nth), static_cast<std::uint64_t>(count), integer("code", code)});
    return {};
  }
  Status slow(bool link) {
    TRY_STATUS(known_keys({"device", "slowdown", "from_s", "to_s"}));
    const double factor = number("slowdown", 0);
    if (!(factor >= 1) || !std::isfinite(factor)) return wrong("\"slowdown\" is a number of at least 1", where);
    faults.slow_.push_back({link, integer("device", -1), factor, time("from_s", 0), time("to_s", std::numeric_limits<Nanoseconds>::max())});
    return {};
  }
  Status lost() {
    TRY_STATUS(known_keys({"device", "at_s", "code"}));
    faults.lost_.push_back({integer("device", 0), time("at_s", 0), integer("code", unknown)});
    return {};
  }
  Status peer() {
    TRY_STATUS(known_keys({"from", "to"}));
    faults.peers_.push_back({integer("from", -1), integer("to", -1)});
    return {};
  }
  Status read() {
    const std::string kind = entry.value("kind", "");
    if (kind == "allocation") return counted(FaultSource::allocation, out_of_memory);
    if (kind == "ecc") return counted(FaultSource::kernel, ecc_uncorrectable);
    if (kind == "copy") return counted(FaultSource::copy, unknown);
    if (kind == "device_lost") return lost();
    if (kind == "peer_access") return peer();
    if (kind == "link") return slow(true);
    if (kind == "clock") return slow(false);
    return wrong("unknown kind \"" + kind + "\": allocation, ecc, copy, device_lost, peer_access, link or clock", where);
  }
};

Result<Faults> Faults::parse(std::string_view text, std::string_view where) try {
  const json document = json::parse(text);
  if (!document.is_object() || document.value("schema_version", 0) != 1) return wrong("\"schema_version\" must be 1", std::string(where));
  Faults faults;
  std::size_t index = 0;
  for (const json& entry : document.at("faults")) {
    const std::string place = fmt::format("{}: fault {}", where, ++index);
    if (!entry.is_object()) return wrong("not an object", place);
    TRY_STATUS((FaultReader{entry, place, faults}.read()));
  }
  return faults;
} catch (const std::exception& error) {
  return wrong(std::string("not a list of faults: ") + error.what(), std::string(where));
}

Result<Faults> Faults::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::not_found, "the file can't be read", path, "TESSERA_SIM_FAULTS names it"};
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return parse(text, path);
}

std::optional<int> Faults::next(FaultSource source, int device) {
  if (counted_.empty()) return std::nullopt;
  const std::uint64_t now = ++seen_[{source, device}], in_all = ++seen_[{source, -1}];
  for (const Counted& c : counted_) {
    if (c.source != source || (c.device != -1 && c.device != device)) continue;
    const std::uint64_t number = c.device == -1 ? in_all : now;
    if (number >= c.first && number - c.first < c.count) return c.code;
  }
  return std::nullopt;
}

std::optional<int> Faults::lost(int device, Nanoseconds time) const {
  for (const Lost& l : lost_) {
    if (l.device == device && time >= l.from) return l.code;
  }
  return std::nullopt;
}

bool Faults::refuses_peer(int from, int to) const {
  for (const Peer& p : peers_) {
    if ((p.from == -1 || p.from == from) && (p.to == -1 || p.to == to)) return true;
  }
  return false;
}

double Faults::slowdown(bool link, int device, Nanoseconds time) const {
  double factor = 1;
  for (const Slow& s : slow_) {
    if (s.link == link && (s.device == -1 || s.device == device) && time >= s.from && time < s.to) factor *= s.factor;
  }
  return factor;
}

double Faults::link_slowdown(int device, Nanoseconds time) const { return slowdown(true, device, time); }
double Faults::clock_slowdown(int device, Nanoseconds time) const { return slowdown(false, device, time); }

}  // namespace tessera::simgpu
