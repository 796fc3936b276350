#include "tools/simgpu/libcuda/observe.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <optional>

#include "profiles/base/log.h"

namespace tessera::simgpu {
namespace {

constexpr std::size_t races_told = 20;  // more are only counted

struct Observers {
  std::optional<Races> races;
  int touched_file = -1;
  std::size_t told = 0;
};
Observers& observers() {
  static Observers* const instance = new Observers;  // used until the process ends
  return *instance;
}

void look_for_races(World& world) {
  Observers& o = observers();
  o.races.emplace();
  world.scheduler.on_submit = [&o](Operation& operation) { o.races->submitted(operation); };
  world.scheduler.on_waited = [&o](Operation& operation) { o.races->host_waited_for(operation); };
  world.scheduler.on_end = [&o](Operation& operation) {
    o.races->touched(operation, operation.touched);
    operation.touched.clear();
    for (; o.told < std::min(o.races->found().size(), races_told); ++o.told) log::notice("simulated: " + o.races->found()[o.told].text());
  };
}

const char* yes_no(std::uint8_t kinds, std::uint8_t bit) { return (kinds & bit) != 0 ? "true" : "false"; }

std::string range_json(const TouchedRange& range) {
  World& w = world();
  SimDevice* device = w.device_of(range.lo);
  const auto found = device == nullptr ? std::nullopt : device->device->memory->find(range.lo);
  const HostAllocation* host = found ? nullptr : w.host_allocation_of(range.lo);
  const std::uint64_t base = found ? found->base : host != nullptr ? host->base : range.lo;
  const std::uint64_t size = found ? found->size : host != nullptr ? host->size : range.hi - range.lo;
  return fmt::format(R"({{"allocation":{},"allocation_bytes":{},"offset":{},"bytes":{},"read":{},"written":{},"atomic":{}}})", base, size,
                     range.lo - base, range.hi - range.lo, yes_no(range.kinds, touched_read), yes_no(range.kinds, touched_written),
                     yes_no(range.kinds, touched_atomic));
}

void add_rows(Touched& touched, std::uint64_t address, std::uint64_t width, std::uint64_t height, std::uint64_t pitch, std::uint64_t depth,
              std::uint64_t slice, std::uint8_t kinds) {
  for (std::uint64_t z = 0; z < depth; ++z) {
    for (std::uint64_t y = 0; y < height; ++y) touched.add(address + z * slice + y * pitch, width, kinds);
  }
}

}  // namespace

bool observe(World& world, const Settings& settings) {
  Observers& o = observers();
  if (!settings.sim_touched.empty()) {
    o.touched_file = open(settings.sim_touched.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (o.touched_file < 0) {
      log::notice("TESSERA_SIM_TOUCHED=" + settings.sim_touched + ": the file can't be written");
      return false;
    }
  }
  if (settings.sim_races) look_for_races(world);
  return true;
}

bool recording() { return observers().races.has_value() || observers().touched_file >= 0; }

void write_touched(const KernelWork& work, const Operation& operation) {
  const int file = observers().touched_file;
  if (file < 0) return;
  std::string ranges;
  for (const TouchedRange& range : operation.touched) ranges += (ranges.empty() ? "" : ",") + range_json(range);
  const std::string line = fmt::format(
      R"({{"schema_version":1,"simulated":true,"operation":{},"device":{},"kernel":"{}","grid":[{},{},{}],"block":[{},{},{}],"ranges":[{}]}})"
      "\n",
      operation.number, operation.device, operation.name, work.grid[0], work.grid[1], work.grid[2], work.block[0], work.block[1],
      work.block[2], ranges);
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) log::notice("TESSERA_SIM_TOUCHED: the disk is full");
}

std::vector<TouchedRange> touched_by(const CopyWork& c) {
  Touched touched;
  if (!c.from.pageable) add_rows(touched, c.from.address, c.width, c.height, c.from.pitch, c.depth, c.from.slice, touched_read);
  if (!c.to.pageable) add_rows(touched, c.to.address, c.width, c.height, c.to.pitch, c.depth, c.to.slice, touched_written);
  return touched.ranges();
}

std::vector<TouchedRange> touched_by(const FillWork& f) {
  Touched touched;
  add_rows(touched, f.to, f.width * f.element, f.height, f.pitch, 1, 0, touched_written);
  return touched.ranges();
}

void forget_races(std::uint64_t lo, std::uint64_t hi) {
  if (observers().races) observers().races->forget(lo, hi);
}

std::int64_t races_found() { return observers().races ? static_cast<std::int64_t>(observers().races->found().size()) : -1; }

}  // namespace tessera::simgpu

// For tests and tools that are in the process: how many racing pairs have been found so far; -1 = TESSERA_SIM_RACES isn't set.
SIM_EXPORT long long tessera_sim_races() SIM_NOEXCEPT { return tessera::simgpu::races_found(); }
