// Device-side printf: a format string and a buffer of arguments in the simulated memory → text.
//
// Arguments lie one behind the other, each aligned to its size: 4 bytes for int and unsigned, 8 for long, pointers and doubles.
// Threads: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::simgpu {

class FormatMemory {
 public:
  virtual ~FormatMemory() = default;
  // False where the program itself couldn't read.
  [[nodiscard]] virtual bool read(std::uint64_t address, void* to, std::size_t size) const = 0;
  // The NUL-terminated text there, at most 4 KiB; ends early where memory does.
  [[nodiscard]] std::string text(std::uint64_t address) const;
};

// Appends to `out`; returns what vprintf returns: the number of arguments, or -1 when the format can't be read.
int format(const FormatMemory& memory, std::uint64_t format_address, std::uint64_t arguments, std::string& out);

}  // namespace tessera::simgpu
