// Device code as programs hand it over: PTX text, cubins, fat binary containers, wrappers, host ELF files that hold containers.
//
// Invariant: nothing outside the given bytes is read, whatever they say; memory is bounded by the caller's cap; what isn't understood is
// skipped, and reading goes on behind it. Only extent_of() trusts headers for a length, since the driver's own entry points take
// pointers without one.
// Units: bytes. Ownership: spans and views point into the caller's bytes. Threads: pure functions.
// Source of the layouts: measured on CUDA 13.0 output and libraries; see docs/file-formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/base/result.h"

namespace tessera::image {

using Bytes = std::span<const std::byte>;

enum class Form : std::uint8_t { unknown, ptx_text, cubin, fatbin_container, fatbin_wrapper, host_elf };

// By magic number; PTX text by its `.version` directive behind white space and comments.
[[nodiscard]] Form form_of(Bytes bytes);
[[nodiscard]] std::string_view name_of(Form form);

// The bytes of an image that came as a bare pointer (cuModuleLoadData): by its headers; PTX text up to its NUL. A wrapper gives
// the container that it points to. Error bad_data when it is none of the known forms.
[[nodiscard]] Result<Bytes> extent_of(const void* image);

enum class EntryKind : std::uint8_t { ptx, cubin, lto_ir, other };
enum class Compression : std::uint8_t { none, lz4, zstd, unknown };

struct Entry {
  EntryKind kind = EntryKind::other;
  std::uint16_t raw_kind = 0;                          // as stored
  unsigned sm = 0;                                     // 80, 90, …
  char arch_suffix = '\0';                             // 'a', 'f' or none
  std::uint16_t version_major = 0, version_minor = 0;  // PTX ISA version of PTX
  std::uint64_t flags = 0;
  Bytes stored;  // as stored, padding included
  Compression compression = Compression::none;
  std::uint64_t compressed_size = 0;    // exact, without padding
  std::uint64_t uncompressed_size = 0;  // 0 = not compressed
  std::string_view options;             // ptxas options, as text
  std::string_view identifier;          // source name, with -g or -lineinfo
  std::size_t offset = 0;               // of the entry header in the container
};

// Of a container, or of a wrapper whose container lies at its pointer. A truncated or damaged entry ends the list; what
// stands in front of it is returned as long as the container header was sound, and `damage` (if given) says what was wrong.
[[nodiscard]] Result<std::vector<Entry>> entries_of(Bytes container, std::string* damage = nullptr);

inline constexpr std::size_t default_payload_cap = std::size_t{512} << 20;

// The entry's code, decompressed; PTX without its NUL padding. Error bad_data on damage or beyond `cap` bytes, environment without memory.
[[nodiscard]] Result<std::string> payload_of(const Entry& entry, std::size_t cap = default_payload_cap);

// Every container in a host ELF file, in file order: those of the sections .nv_fatbin and __nv_relfatbin, and any other
// place where the container's magic stands at an 8-byte boundary with a size that fits.
[[nodiscard]] Result<std::vector<Bytes>> containers_in_elf(Bytes file);

}  // namespace tessera::image
