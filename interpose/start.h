// First contact with CUDA, and what this process wants of us.
//
// Nothing happens before the program calls the driver: no constructor, no file, no line, no driver loaded. The first wrapped call
// reads the settings; after the first successful cuInit it is known whether anything can move.
// Invariant: the mode only goes forward, except that a forked child is inert for good: the driver can't be used there, and its own
// error is the right answer. Under setuid (AT_SECURE) everything is inert. Threads: any; mode() is one load.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::interpose::start {

enum class Mode : std::uint8_t {
  untouched,  // no wrapped call yet
  inert,      // forward and do nothing else
  counting,   // count launches for the report; nothing can move
  moving,     // launches may be redirected
};

namespace detail {
inline std::atomic<Mode> mode{Mode::untouched};
}
// Acquires what was made before the mode was set: the engine.
[[nodiscard]] inline Mode mode() noexcept { return detail::mode.load(std::memory_order_acquire); }
[[nodiscard]] bool is_inert() noexcept;

// A wrapped call was made by the program. Cheap after the first.
void first_contact_slow() noexcept;
inline void first_contact() noexcept {
  if (mode() == Mode::untouched) first_contact_slow();
}

// cuInit was answered.
void driver_initialised(int result) noexcept;

}  // namespace tessera::interpose::start
