// The careful path of memory accesses: lane by lane, every address against its space, and the faults.
//
// Each check turns the addresses of the lanes in Warp::exec into host addresses in place, counts the traffic, and returns true; or records
// the fault of the lowest lane that is wrong, and returns false. Other lanes' addresses are left as they are.
#pragma once

#include <cstdint>

#include "tools/simgpu/exec/warp.h"

namespace tessera::simgpu {

bool check_global(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access);
bool check_shared(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access);
bool check_local(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access);
bool check_param(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access);
bool check_generic(Warp& w, const Op& op, std::uint64_t* addresses, unsigned width, Access access);

// Notes the sectors that the lanes of `mask` touch, for the launch as a whole.
void mark_sectors(Cta& cta, const std::uint64_t* addresses, std::uint32_t mask, unsigned width, Access access);

// Distinct 32-byte sectors that the lanes of `mask` touch.
[[nodiscard]] std::uint64_t sectors_of(const std::uint64_t* addresses, std::uint32_t mask, unsigned width);

}  // namespace tessera::simgpu
