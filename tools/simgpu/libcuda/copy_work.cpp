// Copies and fills as operations: the bytes, the engines and the time.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/peer.h"

namespace tessera::simgpu {
namespace {

template <typename F>
void each_row(const CopyWork& c, F&& f) {
  for (std::uint64_t z = 0; z < c.depth; ++z) {
    for (std::uint64_t y = 0; y < c.height; ++y)
      f(c.to.address + z * c.to.slice + y * c.to.pitch, c.from.address + z * c.from.slice + y * c.from.pitch);
  }
}

void move_bytes(const CopyWork& c) {
  each_row(c, [&](std::uint64_t to, std::uint64_t from) {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), c.width);
  });
}

int ordinal(const SimDevice* device) { return device == nullptr ? -1 : device->ordinal; }
std::string place_name(const SimDevice* device) { return device == nullptr ? "host" : fmt::format("GPU {}", device->ordinal); }

// A copy between devices holds the outgoing engine of one and the incoming engine of the other.
void set_engines(const CopyWork& c, Operation& o) {
  SimDevice *to = c.to.device, *from = c.from.device;
  if (from != nullptr && from != to) o.engines.push_back({&from->clock, Engine::copy_out});
  if (to != nullptr) o.engines.push_back({&to->clock, Engine::copy_in});
}

Nanoseconds time_of(const CopyWork& c, Nanoseconds now) {
  const SimDevice *to = c.to.device, *from = c.from.device;
  if (to == nullptr && from == nullptr) return 0;
  if (to == from) return local_copy_time(c.bytes(), *to->model);
  const Faults& faults = world().faults;
  double slowdown = 1;
  for (const SimDevice* end : {to, from}) {
    if (end != nullptr) slowdown = std::max(slowdown, faults.link_slowdown(end->ordinal, now));
  }
  const Nanoseconds undisturbed = to == nullptr     ? host_copy_time(c.bytes(), *from->model)
                                  : from == nullptr ? host_copy_time(c.bytes(), *to->model)
                                                    : peer_copy_time(c.bytes(), *from->model, *to->model);
  return static_cast<Nanoseconds>(static_cast<double>(undisturbed) * slowdown);
}

void count(const CopyWork& c) {
  if (c.to.device == nullptr && c.from.device == nullptr) return;
  CopyTotal& total = world().copies[{ordinal(c.from.device), ordinal(c.to.device)}];
  total.bytes += c.bytes();
  ++total.count;
}

void fill_rows(const FillWork& f) {
  for (std::uint64_t y = 0; y < f.height; ++y) {
    auto* row = reinterpret_cast<char*>(f.to + y * f.pitch);
    if (f.element == 1) {
      std::memset(row, static_cast<int>(f.value), f.width);
      continue;
    }
    for (std::uint64_t x = 0; x < f.width; ++x) std::memcpy(row + x * f.element, &f.value, f.element);
  }
}

}  // namespace

void describe(const CopyWork& c, Context& /*context*/, Operation& o) {
  o.kind = OperationKind::copy;
  o.name = fmt::format("copy of {} bytes from {} to {}", c.bytes(), place_name(c.from.device), place_name(c.to.device));
  o.device = c.to.device != nullptr ? c.to.device->ordinal : ordinal(c.from.device);
  set_engines(c, o);
  o.work = [c](Operation& self, Random*) {
    move_bytes(c);
    spoil(c);
    count(c);
    self.duration = time_of(c, earliest_begin(self));
    if (recording()) self.touched = touched_by(c);
    return Step::ended;
  };
}

void stage(const CopyWork& c, Operation& o) {
  auto staged = std::make_shared<std::vector<std::byte>>(c.bytes());
  CopyWork in = c;
  in.to = {nullptr, reinterpret_cast<std::uint64_t>(staged->data()), c.width, c.width * c.height, true};
  move_bytes(in);
  CopyWork out = c;
  out.from = in.to;
  o.work = [staged, out](Operation& self, Random*) {
    move_bytes(out);
    count(out);
    self.duration = time_of(out, earliest_begin(self));
    if (recording()) self.touched = touched_by(out);
    return Step::ended;
  };
}

void describe(const FillWork& f, Context& context, Operation& o) {
  SimDevice& device = f.device == nullptr ? *context.device : *f.device;
  o.kind = OperationKind::fill;
  o.name = fmt::format("fill of {} bytes", f.width * f.height * f.element);
  o.device = device.ordinal;
  o.engines = {{&device.clock, Engine::compute}};
  o.duration = fill_time(f.width * f.height * f.element, *device.model);
  o.work = [f](Operation& self, Random*) {
    fill_rows(f);
    if (recording()) self.touched = touched_by(f);
    return Step::ended;
  };
}

}  // namespace tessera::simgpu
