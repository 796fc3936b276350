// As much of ELF-64 as device images need: sections, symbols' strings, the machine.
// Invariant: bounds-checked; a damaged table gives fewer sections, never a wild read. Threads: pure functions.
// Source: ELF-64 object file format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "placement/image/image.h"

namespace tessera::image {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint32_t link = 0, info = 0;
  std::uint64_t entry_size = 0;
  Bytes bytes;  // empty for SHT_NOBITS
  std::uint64_t size = 0;
};

// e_machine of a little-endian ELF-64 file; nothing when it isn't one.
[[nodiscard]] std::optional<std::uint16_t> elf_machine(Bytes file);
[[nodiscard]] std::optional<std::uint32_t> elf_flags(Bytes file);
// By index; a section whose bytes don't fit the file is there, with no bytes.
[[nodiscard]] Result<std::vector<ElfSection>> elf_sections(Bytes file);
// Where the file ends, from its headers alone (for images that come without a length).
[[nodiscard]] std::optional<std::uint64_t> elf_extent(const void* image);
// The NUL-terminated string at `offset` of a string table; "" when it doesn't fit.
[[nodiscard]] std::string_view elf_string(Bytes table, std::uint64_t offset);

}  // namespace tessera::image
