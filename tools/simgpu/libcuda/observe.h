// What can be watched while a program runs: races between operations (TESSERA_SIM_RACES) and what each launch touches
// (TESSERA_SIM_TOUCHED).
//
// Both need the bytes that operations touch; recording() says whether anybody wants them. Threads: guarded by the driver's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "profiles/base/settings.h"
#include "tools/simgpu/libcuda/work.h"
#include "tools/simgpu/sched/races.h"

namespace tessera::simgpu {

// Sets up what the settings ask for; false (and a line that says why) when the file can't be written.
bool observe(World& world, const Settings& settings);

// Whether operations are to say in Operation::touched what they touch.
[[nodiscard]] bool recording();

// One launch's line of the file that TESSERA_SIM_TOUCHED names, if it does. `memory` as it was when the kernel began.
void write_touched(const KernelWork& work, const Operation& operation);

// What a copy or a fill touches. Pageable memory of the host is left out: it is touched while the program waits.
[[nodiscard]] std::vector<TouchedRange> touched_by(const CopyWork& copy);
[[nodiscard]] std::vector<TouchedRange> touched_by(const FillWork& fill);

// The addresses have been given to a new allocation.
void forget_races(std::uint64_t lo, std::uint64_t hi);
// How many pairs have been found, or -1 when nobody looks.
[[nodiscard]] std::int64_t races_found();

}  // namespace tessera::simgpu
