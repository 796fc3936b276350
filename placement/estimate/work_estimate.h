// How much work a launch does, guessed from its PTX alone: what prediction starts from when nothing was measured.
//
// Every instruction counts once a thread, and once more for each time that a loop is guessed to go round: trip counts aren't known here, so
// each loop level counts `guessed_trips`. Branches count as taken. The result is marked incomplete when a loop was guessed.
// It is good for the ratio of operations to bytes, which decides between GPUs, and poor for absolute times.
// Units: operations (an fma is two) and bytes, a thread. Threads: pure functions.
#pragma once

#include "placement/ptx/ir.h"
#include "profiles/predict.h"

namespace tessera::estimate {

inline constexpr double guessed_trips = 16;

// Of one thread. Independent of the launch: compute it once a kernel.
[[nodiscard]] WorkEstimate work_of_thread(const ptx::Module& module, const ptx::Function& kernel);

// Of a launch.
[[nodiscard]] WorkEstimate scale(const WorkEstimate& thread, const LaunchShape& shape);

}  // namespace tessera::estimate
