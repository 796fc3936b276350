#include "profiles/database.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t longest_name = 65536, longest_version = 256;
constexpr std::uint64_t largest_whole = std::uint64_t{1} << 53;  // what a JSON number holds exactly

auto key_of(const Record& r) { return std::tie(r.kernel, r.shape, r.device); }

bool is_plain_text(std::string_view text, std::size_t longest) {
  return text.size() <= longest && std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Error refused(std::string what) { return Error{ErrorCode::bad_data, std::move(what), "", ""}; }

Status check_run(const Run& run) {
  if (run.id == 0) return refused("a run's id is 0");
  if (run.started_unix_s > largest_whole) return refused("a run's start is above 2^53");
  if (!is_plain_text(run.tool_version, longest_version) || !is_plain_text(run.driver_version, longest_version))
    return refused("a version is too long or has other characters than printable ASCII");
  return {};
}

Status check_subject(const KernelKey& kernel, const LaunchShape& shape, const DeviceIdentity& device) {
  if (kernel.name.empty() || !is_plain_text(kernel.name, longest_name))
    return refused("a kernel's name is empty, too long, or has other characters than printable ASCII");
  for (std::size_t i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0) return refused("a grid or block has no extent");
  }
  if (device.model.empty() || !is_plain_text(device.model, longest_version)) return refused("a GPU's model name is empty or too long");
  if (device.cc_major == 0 || device.cc_major > 99 || device.cc_minor > 9) return refused("a GPU's compute capability is out of range");
  if (device.sm_count == 0) return refused("a GPU's SM count is 0");
  return {};
}

Status check_sample(const Sample& sample) {
  const std::string violated = sample.time.violation();
  if (!violated.empty()) return refused(violated);
  if (sample.figures.global_bytes > largest_whole || sample.figures.operations > largest_whole) return refused("a figure is above 2^53");
  return {};
}

// Of two samples of one run: the one saved later, which has more durations; else any, but the same whatever the order.
bool is_better(const Sample& a, const Sample& b) { return a.time.count != b.time.count ? a.time.count > b.time.count : a > b; }

void settle_time(Record& record) {
  if (record.samples.size() == 1) {
    record.time = record.samples.front().time;
    return;
  }
  std::vector<Distribution> parts;
  parts.reserve(record.samples.size());
  for (const Sample& s : record.samples) parts.push_back(s.time);
  record.time = combined(parts);
}

// Sorts by run; keeps the better of two samples of one run.
void settle_samples(Record& record) {
  auto& samples = record.samples;
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.run != b.run ? a.run < b.run : is_better(a, b); });
  samples.erase(std::unique(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.run == b.run; }),
                samples.end());
  settle_time(record);
}

void settle(std::vector<Record>& records) {
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return key_of(a) < key_of(b); });
  std::size_t kept = 0;
  for (std::size_t begin = 0; begin < records.size();) {
    std::size_t end = begin + 1;
    auto& samples = records[begin].samples;
    for (; end < records.size() && key_of(records[end]) == key_of(records[begin]); ++end) {
      samples.insert(samples.end(), records[end].samples.begin(), records[end].samples.end());
    }
    settle_samples(records[begin]);
    if (kept != begin) records[kept] = std::move(records[begin]);
    ++kept;
    begin = end;
  }
  records.resize(kept);
}

void settle(std::vector<Run>& runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.id != b.id ? a.id < b.id : b < a; });
  runs.erase(std::unique(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.id == b.id; }), runs.end());
}

bool knows(std::span<const Run> sorted, std::uint64_t id) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), id, [](const Run& r, std::uint64_t wanted) { return r.id < wanted; });
  return found != sorted.end() && found->id == id;
}

bool same_device(const DeviceIdentity& a, DeviceIdentityView b) {
  return a.cc_major == b.cc_major && a.cc_minor == b.cc_minor && a.sm_count == b.sm_count && a.model == b.model;
}

}  // namespace

const KernelFigures& Record::figures() const {
  return std::max_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.time.count < b.time.count; })
      ->figures;
}

Status Database::add_run(const Run& run) {
  TRY_STATUS(check_run(run));
  runs_.push_back(run);
  settle(runs_);
  return {};
}

Status Database::add(const KernelKey& kernel, const LaunchShape& shape, const DeviceIdentity& device, const Sample& sample) {
  TRY_STATUS(check_subject(kernel, shape, device));
  TRY_STATUS(check_sample(sample));
  if (!knows(runs_, sample.run)) return refused("a sample's run isn't known");
  Record record{kernel, shape, device, {sample}, {}};
  const auto place =
      std::lower_bound(records_.begin(), records_.end(), record, [](const Record& a, const Record& b) { return key_of(a) < key_of(b); });
  if (place != records_.end() && key_of(*place) == key_of(record)) {
    place->samples.push_back(sample);
    settle_samples(*place);
    return {};
  }
  settle_time(record);
  records_.insert(place, std::move(record));
  reindex();
  return {};
}

void Database::merge(const Database& other) {
  if (&other == this) return;
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  settle(runs_);
  records_.insert(records_.end(), other.records_.begin(), other.records_.end());
  settle(records_);
  reindex();
}

void Database::reindex() {
  std::size_t size = 16;
  while (size < 2 * records_.size()) size *= 2;
  slots_.assign(size, 0);
  for (std::size_t i = 0; i < records_.size(); ++i) {
    std::size_t at = launch_hash(records_[i].kernel, records_[i].shape, records_[i].device) & (size - 1);
    while (slots_[at] != 0) at = (at + 1) & (size - 1);
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

const Record* Database::find(KernelKeyView kernel, const LaunchShape& shape, DeviceIdentityView device) const noexcept {
  if (records_.empty()) return nullptr;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = launch_hash(kernel, shape, device) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const Record& r = records_[slots_[at] - 1];
    if (r.shape == shape && r.kernel.content == kernel.content && r.kernel.name == kernel.name && same_device(r.device, device)) return &r;
  }
  return nullptr;
}

std::size_t Database::count_for(DeviceIdentityView device) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(records_.begin(), records_.end(), [&](const Record& r) { return same_device(r.device, device); }));
}

std::string Database::violation() const {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!check_run(runs_[i]).ok()) return "a run is not sound";
    if (i > 0 && runs_[i - 1].id >= runs_[i].id) return "runs aren't sorted, or repeat";
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& r = records_[i];
    if (!check_subject(r.kernel, r.shape, r.device).ok()) return "a record's key is not sound";
    if (i > 0 && !(key_of(records_[i - 1]) < key_of(r))) return "records aren't sorted, or repeat";
    if (r.samples.empty()) return "a record has no sample";
    for (std::size_t s = 0; s < r.samples.size(); ++s) {
      if (!check_sample(r.samples[s]).ok()) return "a sample is not sound";
      if (!knows(runs_, r.samples[s].run)) return "a sample's run isn't known";
      if (s > 0 && r.samples[s - 1].run >= r.samples[s].run) return "samples aren't sorted by run, or repeat";
    }
    Record again = r;
    settle_time(again);
    if (again.time != r.time) return "a record's time isn't the combination of its samples";
    if (!r.time.violation().empty()) return "a record's combined time is not sound";
    if (find(r.kernel, r.shape, r.device) != &r) return "a record isn't found by its key";
  }
  return "";
}

Status DatabaseBuilder::add_run(const Run& run) {
  TRY_STATUS(check_run(run));
  runs_.push_back(run);
  return {};
}

Status DatabaseBuilder::add(KernelKey kernel, const LaunchShape& shape, DeviceIdentity device, const Sample& sample) {
  TRY_STATUS(check_subject(kernel, shape, device));
  TRY_STATUS(check_sample(sample));
  records_.push_back({std::move(kernel), shape, std::move(device), {sample}, {}});
  return {};
}

Result<Database> DatabaseBuilder::build() {
  Database database;
  database.runs_ = std::exchange(runs_, {});
  database.records_ = std::exchange(records_, {});
  settle(database.runs_);
  for (const Record& r : database.records_) {
    if (!knows(database.runs_, r.samples.front().run)) return refused("a sample's run isn't known");
  }
  settle(database.records_);
  database.reindex();
  return database;
}

}  // namespace tessera
