// TESSERA_SIM_REPORT: the virtual timeline in figures, as JSON, when the process ends.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "profiles/base/log.h"
#include "profiles/base/settings.h"
#include "tools/simgpu/libcuda/observe.h"

using namespace tessera;
using namespace tessera::simgpu;

namespace {

constexpr const char* engine_names[engine_count] = {"compute", "copy_in", "copy_out"};

double seconds(Nanoseconds n) { return static_cast<double>(n) / 1e9; }

std::string device_json(SimDevice& d) {
  std::string busy;
  for (std::size_t i = 0; i < engine_count; ++i) {
    busy += fmt::format("{}\"{}\":{:.9f}", i == 0 ? "" : ",", engine_names[i], seconds(d.clock.engines[i].busy));
  }
  return fmt::format("{{\"ordinal\":{},\"model\":\"{}\",\"busy_s\":{{{}}},\"kernels\":{},\"memory_peak_bytes\":{}}}", d.ordinal,
                     d.model->name, busy, d.kernels, d.device->memory->high_water());
}

std::string report_json(World& w) {
  std::string devices, copies;
  for (const auto& d : w.devices) devices += (devices.empty() ? "" : ",") + device_json(*d);
  for (const auto& [ends, total] : w.copies) {
    copies += fmt::format("{}{{\"from\":{},\"to\":{},\"bytes\":{},\"count\":{}}}", copies.empty() ? "" : ",", ends.first, ends.second,
                          total.bytes, total.count);
  }
  const std::string races = races_found() < 0 ? "" : fmt::format("\"races\":{},", races_found());
  return fmt::format(
      "{{\"schema_version\":1,\"simulated\":true,\"makespan_s\":{:.9f},\"launches\":{},{}\"devices\":[{}],\"copies\":[{}]}}\n",
      seconds(w.clock.makespan()), w.launches, races, devices, copies);
}

// Runs when the library is unloaded or the process exits, behind the program's own exit handlers.
__attribute__((destructor)) void at_exit() { write_report(); }

}  // namespace

namespace tessera::simgpu {

void write_report() {
  World& w = world();
  const std::string path = Settings::from_environment().sim_report;
  if (path.empty() || w.devices.empty()) return;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    log::notice("TESSERA_SIM_REPORT=" + path + ": the file can't be written");
    return;
  }
  const std::string text = report_json(w);
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    log::notice("TESSERA_SIM_REPORT=" + path + ": the disk is full");
  close(file);
}

}  // namespace tessera::simgpu
