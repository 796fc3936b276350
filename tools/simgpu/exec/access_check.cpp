#include "tools/simgpu/exec/access_check.h"

#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/cta.h"

namespace tessera::simgpu {
namespace {

template <typename F>
bool all_lanes(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) {
    if (!f(static_cast<unsigned>(__builtin_ctz(mask)))) return false;
  }
  return true;
}

bool aligned(Warp& w, const Op& op, unsigned lane, std::uint64_t address, unsigned width, ptx::Space space, Access access) {
  if ((address & (width - 1)) == 0) return true;
  w.access_fault(FaultKind::misaligned_address, op, lane, address, space, access);
  return false;
}

bool inside(Warp& w, const Op& op, unsigned lane, std::uint64_t address, unsigned width, std::uint64_t size, ptx::Space space,
            Access access) {
  if (address < size && width <= size - address) return true;
  w.access_fault(FaultKind::illegal_address, op, lane, address, space, access);
  return false;
}

bool global_lane(Warp& w, const Op& op, Reach& reach, unsigned lane, std::uint64_t address, unsigned width, Access access) {
  if (address >= reach.lo && address < reach.hi && width <= reach.hi - address) return true;
  const Allocation* row = w.cta->launch.memory->find(address);
  if (row == nullptr || width > row->end() - address) {
    w.access_fault(FaultKind::illegal_address, op, lane, address, ptx::Space::global, access);
    return false;
  }
  // What is to be recorded must always come this way.
  if (w.cta->launch.config->touched == nullptr) reach = {row->base, row->end()};
  return true;
}

void count(Cta& cta, Access access, std::uint64_t bytes, std::uint64_t sectors) {
  if (access != Access::write) cta.traffic.global_read_bytes += bytes, cta.traffic.global_read_sectors += sectors;
  if (access != Access::read) cta.traffic.global_written_bytes += bytes, cta.traffic.global_written_sectors += sectors;
}
void count_shared(Cta& cta, Access access, std::uint64_t bytes) {
  if (access != Access::write) cta.traffic.shared_read_bytes += bytes;
  if (access != Access::read) cta.traffic.shared_written_bytes += bytes;
}

std::uint64_t lanes_of(std::uint32_t mask) { return static_cast<std::uint64_t>(__builtin_popcount(mask)); }

}  // namespace

std::uint64_t sectors_of(const std::uint64_t* addresses, std::uint32_t mask, unsigned width) {
  if (mask == full_mask && width <= 32) {
    // Mostly the lanes go upwards: then a sector is new when it isn't the one before.
    std::uint64_t changes = 1, descending = 0;
    for (unsigned i = 1; i < warp_size; ++i) {
      const std::uint64_t sector = addresses[i] >> 5, before = addresses[i - 1] >> 5;
      changes += sector != before ? 1 : 0;
      descending |= sector < before ? 1 : 0;
    }
    if (descending == 0) return changes;
  }
  // Open-addressed set of the sectors seen: an access is at most 32 bytes and aligned, so one a lane; there is room for two.
  constexpr unsigned slots = 128;
  std::uint64_t seen[slots];
  std::uint64_t used[2] = {0, 0};
  std::uint64_t sectors = 0, previous = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[__builtin_ctz(mask)];
    for (std::uint64_t sector = address >> 5; sector <= (address + width - 1) >> 5; ++sector) {
      if (sector == previous) continue;
      previous = sector;
      unsigned at = static_cast<unsigned>(sector ^ (sector >> 7)) % slots;
      while (((used[at / 64] >> (at % 64)) & 1u) != 0 && seen[at] != sector) at = (at + 1) % slots;
      if (((used[at / 64] >> (at % 64)) & 1u) != 0) continue;
      used[at / 64] |= std::uint64_t{1} << (at % 64);
      seen[at] = sector;
      ++sectors;
    }
  }
  return sectors;
}

void mark_sectors(Cta& cta, const std::uint64_t* addresses, std::uint32_t mask, unsigned width, Access access) {
  std::uint64_t previous = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[__builtin_ctz(mask)], first = address >> 5, last = (address + width - 1) >> 5;
    if (first == previous && last == previous) continue;
    cta.sectors->add(first, last, access != Access::write, access != Access::read);
    previous = last;
  }
}

bool check_global(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access) {
  Reach& reach = w.cta->reaches[op.extra];
  const bool fine = all_lanes(w.exec, [&](unsigned lane) {
    return global_lane(w, op, reach, lane, addresses[lane], width, access) &&
           aligned(w, op, lane, addresses[lane], width, ptx::Space::global, access);
  });
  if (!fine) return false;
  if (Touched* touched = w.cta->launch.config->touched) {
    const std::uint8_t kinds = access == Access::read ? touched_read : access == Access::write ? touched_written : touched_atomic;
    all_lanes(w.exec, [&](unsigned lane) {
      touched->add(addresses[lane], width, kinds);
      return true;
    });
  }
  count(*w.cta, access, width * lanes_of(w.exec), sectors_of(addresses, w.exec, width));
  mark_sectors(*w.cta, addresses, w.exec, width, access);
  return true;
}

bool check_shared(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access) {
  Cta& cta = *w.cta;
  const bool fine = all_lanes(w.exec, [&](unsigned lane) {
    if (!inside(w, op, lane, addresses[lane], width, cta.shared_bytes, ptx::Space::shared, access)) return false;
    if (!aligned(w, op, lane, addresses[lane], width, ptx::Space::shared, access)) return false;
    addresses[lane] += reinterpret_cast<std::uint64_t>(cta.shared);
    return true;
  });
  if (fine) count_shared(cta, access, width * lanes_of(w.exec));
  return fine;
}

bool check_local(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access) {
  Cta& cta = *w.cta;
  return all_lanes(w.exec, [&](unsigned lane) {
    if (!inside(w, op, lane, addresses[lane], width, cta.local_bytes, ptx::Space::local, access)) return false;
    if (!aligned(w, op, lane, addresses[lane], width, ptx::Space::local, access)) return false;
    addresses[lane] += reinterpret_cast<std::uint64_t>(cta.local_of(w, lane));
    return true;
  });
}

bool check_param(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access) {
  const auto params = w.cta->launch.config->params;
  return all_lanes(w.exec, [&](unsigned lane) {
    if (access != Access::read || !inside(w, op, lane, addresses[lane], width, params.size(), ptx::Space::param, access)) {
      if (access != Access::read) w.access_fault(FaultKind::illegal_address, op, lane, addresses[lane], ptx::Space::param, access);
      return false;
    }
    if (!aligned(w, op, lane, addresses[lane], width, ptx::Space::param, access)) return false;
    addresses[lane] += reinterpret_cast<std::uint64_t>(params.data());
    return true;
  });
}

bool check_generic(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access) {
  const Windows& spaces = windows();
  const std::uint32_t exec = w.exec;
  std::uint32_t shared = 0, local = 0, param = 0;
  all_lanes(exec, [&](unsigned lane) {
    const std::uint64_t a = addresses[lane];
    const std::uint32_t bit = 1u << lane;
    if (a - spaces.shared < window_bytes)
      shared |= bit, addresses[lane] = a - spaces.shared;
    else if (a - spaces.local < window_bytes)
      local |= bit, addresses[lane] = a - spaces.local;
    else if (a - spaces.param < window_bytes)
      param |= bit, addresses[lane] = a - spaces.param;
    return true;
  });
  const std::uint32_t global = exec & ~(shared | local | param);
  const auto part = [&](std::uint32_t lanes, auto check) {
    if (lanes == 0) return true;
    w.exec = lanes;
    const bool fine = check(w, op, addresses, width, access);
    w.exec = exec;
    return fine;
  };
  return part(global, check_global) && part(shared, check_shared) && part(local, check_local) && part(param, check_param);
}

}  // namespace tessera::simgpu
