// The fixed parts of fat binaries and ELF64, and a reader that never leaves its bytes.
// Source: measured on CUDA 13.0 (docs/file-formats.md); ELF-64 object file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tessera::image::layout {

inline constexpr std::uint32_t wrapper_magic = 0x466243B1u;
inline constexpr std::uint32_t container_magic = 0xBA55ED50u;
inline constexpr std::size_t container_header = 16;
inline constexpr std::size_t entry_header_least = 64;
inline constexpr std::uint16_t machine_cuda = 190;

inline constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000, flag_arch_specific = 0x100000, flag_family = 0x200000;

struct Wrapper {
  std::uint32_t magic, version;
  std::uint64_t data, extra;
};
static_assert(sizeof(Wrapper) == 24);

// A T at `offset`, or nothing if it doesn't fit.
template <typename T>
[[nodiscard]] std::optional<T> read(std::span<const std::byte> bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// [offset, offset + size), or nothing if it doesn't fit; overflow-safe.
[[nodiscard]] inline std::optional<std::span<const std::byte>> part(std::span<const std::byte> bytes, std::uint64_t offset,
                                                                    std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

}  // namespace tessera::image::layout
