// Writes the report (format.h) when the process ends.
//
// Invariant: one write(2) for the whole block, appended; a failure costs the report, never the program. Threads: called once, at exit,
// when other threads may still be running.
#pragma once

#include <string>

#include "interpose/report/format.h"

namespace tessera::interpose {
class Engine;
}

namespace tessera::report {

[[nodiscard]] Block collect(interpose::Engine& engine);
[[nodiscard]] std::string lines_of(const Block& block);
void write_at_exit(interpose::Engine& engine) noexcept;

}  // namespace tessera::report
