#include "interpose/report/write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <set>

#include "interpose/engine.h"
#include "interpose/report/json_line.h"
#include "profiles/base/log.h"

namespace tessera::report {
namespace {

using interpose::Engine;

std::string kernel_counts(const std::map<int, std::uint64_t>& counts) {
  JsonLine object;
  for (const auto& [device, count] : counts) object.add(std::to_string(device), count);
  return object.text();
}

std::string reason_counts(const std::map<std::string, std::uint64_t>& counts) {
  JsonLine object;
  for (const auto& [id, count] : counts) object.add(id, count);
  return object.text();
}

void add_kernels(Engine& engine, Block& block) {
  std::set<interpose::Reason> named;
  for (const interpose::KernelStats* stats : engine.stats().all()) {
    Kernel kernel;
    kernel.name = stats->name;
    kernel.redirected = stats->redirected.load(std::memory_order_relaxed);
    for (std::size_t device = 0; device < interpose::counted_devices; ++device) {
      const std::uint64_t count = stats->launches_on(device);
      if (count == 0) continue;
      kernel.launches[static_cast<int>(device)] = count;
      block.launches += count;
      if (device < block.devices.size()) block.devices[device].used = true;
    }
    for (std::size_t reason = 1; reason < interpose::reason_count; ++reason) {
      const std::uint64_t count = stats->reasons[reason].load(std::memory_order_relaxed);
      if (count == 0) continue;
      named.insert(static_cast<interpose::Reason>(reason));
      kernel.reasons[interpose::text_of(static_cast<interpose::Reason>(reason)).id] = count;
    }
    block.redirected += kernel.redirected;
    if (!kernel.launches.empty()) block.kernels.push_back(std::move(kernel));
  }
  for (const interpose::Reason reason : named) {
    const interpose::ReasonText text = interpose::text_of(reason);
    block.reasons.push_back({text.id, std::string(text.sentence), std::string(text.advice)});
  }
}

}  // namespace

Block collect(Engine& engine) {
  Block block;
  block.pid = static_cast<std::uint64_t>(getpid());
  block.start.tessera_version = TESSERA_VERSION;
  block.start.command = program_invocation_name;
  block.start.policy = engine.policy_is_home() ? "home" : engine.settings().policy;
  block.start.profile = engine.settings().profile;
  block.start.home_only = engine.home_only_because();
  block.start.simulated = engine.is_simulated();
  block.start.driver_version = engine.driver_version();
  block.problems = engine.problems();
  for (int device = 0; device < engine.helpers().count(); ++device) block.devices.push_back({device, engine.helpers().name(device), false});
  add_kernels(engine, block);
  // At exit another thread may hold the lock for good; a report without traffic is better than a process that hangs.
  if (const std::unique_lock lock(engine.lock(), std::try_to_lock); lock.owns_lock()) {
    for (const auto& [way, traffic] : engine.coherence().traffic()) {
      block.moved.push_back({way.first, way.second, traffic.bytes, traffic.copies});
      block.bytes_moved += traffic.bytes;
    }
  }
  return block;
}

std::string lines_of(const Block& block) {
  std::string text;
  const auto line = [&](const char* type) { return JsonLine().add("type", type).add("pid", block.pid); };
  const auto put = [&](const JsonLine& object) { text += object.text() + "\n"; };
  const Start& start = block.start;
  put(line(line_type::start)
          .add("schema_version", static_cast<std::uint64_t>(start.version))
          .add("tessera_version", start.tessera_version)
          .add("command", start.command)
          .add("policy", start.policy)
          .add("profile", start.profile)
          .add_flag("simulated", start.simulated)
          .add("driver_version", static_cast<std::uint64_t>(start.driver_version))
          .add("home_only", start.home_only));
  for (const Device& device : block.devices) {
    put(line(line_type::device)
            .add("ordinal", static_cast<std::uint64_t>(device.ordinal))
            .add("name", device.name)
            .add_flag("used", device.used));
  }
  for (const std::string& problem : block.problems) put(line(line_type::problem).add("text", problem));
  for (const Kernel& kernel : block.kernels) {
    put(line(line_type::kernel)
            .add("name", kernel.name)
            .add_json("launches", kernel_counts(kernel.launches))
            .add("redirected", kernel.redirected)
            .add_json("reasons", reason_counts(kernel.reasons)));
  }
  for (const Reason& reason : block.reasons) {
    put(line(line_type::reason).add("id", reason.id).add("sentence", reason.sentence).add("advice", reason.advice));
  }
  for (const Moved& moved : block.moved) {
    put(line(line_type::moved)
            .add("from", static_cast<std::uint64_t>(moved.from))
            .add("to", static_cast<std::uint64_t>(moved.to))
            .add("bytes", moved.bytes)
            .add("copies", moved.copies));
  }
  put(line(line_type::end).add("launches", block.launches).add("redirected", block.redirected).add("bytes_moved", block.bytes_moved));
  return text;
}

void write_at_exit(Engine& engine) noexcept {
  try {
    const std::string& path = engine.settings().report;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
      log::notice("TESSERA_REPORT=" + path + ": the file can't be written; no report");
      return;
    }
    const std::string text = lines_of(collect(engine));
    if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) log::warn("the report is incomplete: {}", path);
    close(file);
  } catch (const std::exception& problem) {
    log::warn("no report: {}", problem.what());
  }
}

}  // namespace tessera::report
