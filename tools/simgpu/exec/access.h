// From a memory op to 32 host addresses that may be dereferenced: address arithmetic, windows, bounds, alignment, traffic.
//
// Fast where all lanes are on and lie next to each other, or in the allocation that the op found last; everything else goes through
// the checks of access_check.cpp, which also make the faults. Included by the semantics only; see lanes.h.
#pragma once

#include "tools/simgpu/exec/access_check.h"
#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/cta.h"
#include "tools/simgpu/exec/lanes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

enum class Pattern : std::uint8_t { contiguous, scattered };

struct alignas(64) Addresses {
  std::uint64_t at[warp_size];
};

// Memory ops: a = address register (if any), y bit 0 = it has 64-bit storage, imm = offset.
inline void lane_addresses(const Warp& w, const Op& op, Addresses& p) {
  if (!op.a.valid()) {
    TESSERA_EACH_LANE(i) p.at[i] = op.imm;
  } else if ((op.y & 1u) != 0) {
    const auto* a = w.at<const std::uint64_t>(op.a);
    TESSERA_EACH_LANE(i) p.at[i] = a[i] + op.imm;
  } else {
    const auto* a = w.at<const std::uint32_t>(op.a);
    const auto offset = static_cast<std::uint32_t>(op.imm);
    TESSERA_EACH_LANE(i) p.at[i] = a[i] + offset;
  }
}

// Whether all lanes are on and each begins where the one before ends.
inline Pattern pattern_of(const Warp& w, const Addresses& p, unsigned width) {
  if (w.exec != full_mask) return Pattern::scattered;
  std::uint64_t difference = 0;
  const std::uint64_t first = p.at[0];
  for (unsigned i = 0; i < warp_size; ++i) difference |= p.at[i] ^ (first + std::uint64_t{i} * width);
  return difference == 0 ? Pattern::contiguous : Pattern::scattered;
}

inline void count_global(Cta& cta, Access access, std::uint64_t bytes, std::uint64_t sectors) {
  if (access != Access::write) cta.traffic.global_read_bytes += bytes, cta.traffic.global_read_sectors += sectors;
  if (access != Access::read) cta.traffic.global_written_bytes += bytes, cta.traffic.global_written_sectors += sectors;
}
inline void count_shared(Cta& cta, Access access, std::uint64_t bytes) {
  if (access != Access::write) cta.traffic.shared_read_bytes += bytes;
  if (access != Access::read) cta.traffic.shared_written_bytes += bytes;
}

// Each policy turns the addresses of its space into host addresses in place; false = a fault has been recorded.
struct GlobalSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    pattern = pattern_of(w, p, width);
    Cta& cta = *w.cta;
    const Reach& reach = cta.reaches[op.extra];
    if (pattern == Pattern::contiguous) {
      const std::uint64_t lo = p.at[0], hi = p.at[warp_size - 1] + width;
      if (lo >= reach.lo && hi <= reach.hi && hi > lo && (lo & (width - 1)) == 0) {
        const std::uint64_t first = lo >> 5, last = (hi - 1) >> 5;
        count_global(cta, access, std::uint64_t{width} * warp_size, last - first + 1);
        cta.sectors->add(first, last, access != Access::write, access != Access::read);
        return true;
      }
    } else if (w.exec == full_mask) {
      std::uint64_t lo = p.at[0], hi = p.at[0], bits = 0;
      for (unsigned i = 0; i < warp_size; ++i) {
        lo = p.at[i] < lo ? p.at[i] : lo;
        hi = p.at[i] > hi ? p.at[i] : hi;
        bits |= p.at[i];
      }
      if (lo >= reach.lo && hi < reach.hi && width <= reach.hi - hi && (bits & (width - 1)) == 0) {
        count_global(cta, access, std::uint64_t{width} * warp_size,
                     lo == hi ? (hi + width - 1) / 32 - lo / 32 + 1 : sectors_of(p.at, full_mask, width));
        mark_sectors(cta, p.at, full_mask, width, access);
        return true;
      }
    }
    return check_global(w, op, p.at, width, access);
  }
};

struct SharedSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    pattern = pattern_of(w, p, width);
    Cta& cta = *w.cta;
    const auto base = reinterpret_cast<std::uint64_t>(cta.shared);
    if (w.exec == full_mask) {
      std::uint64_t highest = 0, bits = 0;
      for (unsigned i = 0; i < warp_size; ++i) {
        highest = p.at[i] > highest ? p.at[i] : highest;
        bits |= p.at[i];
      }
      if (highest + width <= cta.shared_bytes && highest < window_bytes && (bits & (width - 1)) == 0) {
        TESSERA_EACH_LANE(i) p.at[i] += base;
        count_shared(cta, access, std::uint64_t{width} * warp_size);
        return true;
      }
    }
    return check_shared(w, op, p.at, width, access);
  }
};

struct LocalSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    pattern = Pattern::scattered;
    return check_local(w, op, p.at, width, access);
  }
};

struct ParamSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    pattern = Pattern::scattered;
    return check_param(w, op, p.at, width, access);
  }
};

struct GenericSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    const Windows& spaces = windows();
    std::uint32_t windowed = 0;
    for (unsigned i = 0; i < warp_size; ++i) windowed |= (p.at[i] - spaces.begin < spaces.end - spaces.begin ? 1u : 0u) << i;
    if ((windowed & w.exec) == 0) return GlobalSpace::resolve(w, op, p, width, access, pattern);
    pattern = Pattern::scattered;
    return check_generic(w, op, p.at, width, access);
  }
};

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
