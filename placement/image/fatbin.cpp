#include <elf.h>
#include <fmt/core.h>

#include <new>

#include "placement/image/compress.h"
#include "placement/image/elf.h"
#include "placement/image/image.h"
#include "placement/image/layout.h"

namespace tessera::image {
namespace {

// Offsets inside an entry header.
enum : std::size_t {
  at_kind = 0,
  at_header_size = 4,
  at_stored_size = 8,
  at_compressed_size = 16,
  at_options = 20,
  at_version_minor = 24,
  at_version_major = 26,
  at_sm = 28,
  at_identifier = 32,
  at_identifier_size = 36,
  at_flags = 40,
  at_uncompressed_size = 56,
};

EntryKind kind_of(std::uint16_t raw) {
  switch (raw) {
    case 1:
      return EntryKind::ptx;
    case 2:
      return EntryKind::cubin;
    case 8:
      return EntryKind::lto_ir;
    default:
      return EntryKind::other;
  }
}

std::string_view text_at(Bytes header, std::uint32_t offset, std::uint32_t size) {
  const auto bytes = layout::part(header, offset, size);
  if (offset == 0 || !bytes) return {};
  const char* text = reinterpret_cast<const char*>(bytes->data());
  return {text, strnlen(text, size)};
}

Compression compression_of(std::uint64_t flags, std::uint64_t uncompressed_size) {
  if ((flags & layout::flag_zstd) != 0) return Compression::zstd;
  if ((flags & layout::flag_lz4) != 0) return Compression::lz4;
  return uncompressed_size == 0 ? Compression::none : Compression::unknown;
}

// The entry at the front of `rest`, which begins at `offset` of the container; sets `taken` to its length.
Result<Entry> read_entry(Bytes rest, std::size_t offset, std::uint64_t& taken) {
  const auto place = fmt::format("entry at offset {:#x}", offset);
  const auto header_size = layout::read<std::uint32_t>(rest, at_header_size);
  const auto stored_size = layout::read<std::uint64_t>(rest, at_stored_size);
  if (!header_size || !stored_size || rest.size() < layout::entry_header_least)
    return Error{ErrorCode::bad_data, "truncated entry header", place, ""};
  if (*header_size < layout::entry_header_least || *header_size > rest.size()) {
    return Error{ErrorCode::bad_data, fmt::format("entry header of {} bytes", *header_size), place, ""};
  }
  const auto stored = layout::part(rest, *header_size, *stored_size);
  if (!stored) return Error{ErrorCode::bad_data, fmt::format("entry of {} bytes is larger than its container", *stored_size), place, ""};
  const Bytes header = rest.first(*header_size);

  Entry e;
  e.raw_kind = *layout::read<std::uint16_t>(header, at_kind);
  e.kind = kind_of(e.raw_kind);
  e.sm = *layout::read<std::uint32_t>(header, at_sm);
  e.version_minor = *layout::read<std::uint16_t>(header, at_version_minor);
  e.version_major = *layout::read<std::uint16_t>(header, at_version_major);
  e.flags = *layout::read<std::uint64_t>(header, at_flags);
  e.arch_suffix = (e.flags & layout::flag_arch_specific) != 0 ? 'a' : (e.flags & layout::flag_family) != 0 ? 'f' : '\0';
  e.stored = *stored;
  e.uncompressed_size = *layout::read<std::uint64_t>(header, at_uncompressed_size);
  e.compression = compression_of(e.flags, e.uncompressed_size);
  e.compressed_size = *layout::read<std::uint32_t>(header, at_compressed_size);
  e.identifier =
      text_at(header, *layout::read<std::uint32_t>(header, at_identifier), *layout::read<std::uint32_t>(header, at_identifier_size));
  const auto options = *layout::read<std::uint32_t>(header, at_options);
  if (e.kind == EntryKind::ptx && options != 0) {
    const auto text = layout::read<std::uint32_t>(header, options), length = layout::read<std::uint32_t>(header, options + 4);
    if (text && length) e.options = text_at(header, *text, *length);
  }
  e.offset = offset;
  taken = *header_size + *stored_size;
  return e;
}

Result<Bytes> container_of(Bytes bytes) {
  if (form_of(bytes) == Form::fatbin_wrapper) {
    const auto wrapper = layout::read<layout::Wrapper>(bytes, 0);
    if (!wrapper) return Error{ErrorCode::bad_data, "truncated fat binary wrapper", "", ""};
    return extent_of(bytes.data());
  }
  return bytes;
}

}  // namespace

Result<std::vector<Entry>> entries_of(Bytes bytes, std::string* damage) {
  TRY(container, container_of(bytes));
  const auto magic = layout::read<std::uint32_t>(container, 0);
  const auto header = layout::read<std::uint16_t>(container, 6);
  const auto size = layout::read<std::uint64_t>(container, 8);
  if (!magic || *magic != layout::container_magic) return Error{ErrorCode::bad_data, "not a fat binary (wrong magic number)", "", ""};
  if (!header || !size || *header < layout::container_header || *header > container.size()) {
    return Error{ErrorCode::bad_data, "truncated fat binary header", "", ""};
  }
  Bytes rest = container.subspan(*header);
  std::string problem;
  if (*size > rest.size())
    problem = fmt::format("truncated fat binary: {} of {} bytes are there", rest.size(), *size);
  else
    rest = rest.first(*size);

  std::vector<Entry> entries;
  std::size_t offset = *header;
  while (!rest.empty()) {
    std::uint64_t taken = 0;
    auto entry = read_entry(rest, offset, taken);
    if (!entry) {
      problem = entry.error().message();
      break;
    }
    entries.push_back(*entry);
    rest = rest.subspan(taken);
    offset += taken;
  }
  if (damage != nullptr) *damage = problem;
  if (!problem.empty() && entries.empty()) return Error{ErrorCode::bad_data, problem, "", ""};
  return entries;
}

Result<std::string> payload_of(const Entry& entry, std::size_t cap) try {
  std::string out;
  if (entry.compression == Compression::none) {
    if (entry.stored.size() > cap)
      return Error{ErrorCode::bad_data, fmt::format("an entry of {} bytes exceeds the limit of {}", entry.stored.size(), cap), "", ""};
    out.assign(reinterpret_cast<const char*>(entry.stored.data()), entry.stored.size());
  } else {
    if (entry.uncompressed_size > cap) {
      return Error{ErrorCode::bad_data, fmt::format("an entry of {} bytes exceeds the limit of {}", entry.uncompressed_size, cap), "", ""};
    }
    const auto exact = layout::part(entry.stored, 0, entry.compressed_size);
    if (!exact) return Error{ErrorCode::bad_data, "compressed size beyond the entry", "", ""};
    TRY(text, decompress(entry.compression, *exact, entry.uncompressed_size));
    out = std::move(text);
  }
  if (entry.kind == EntryKind::ptx) {
    while (!out.empty() && out.back() == '\0') out.pop_back();
  }
  return out;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::environment, fmt::format("no memory for an entry of {} bytes", entry.uncompressed_size), "", ""};
}

Result<std::vector<Bytes>> containers_in_elf(Bytes file) {
  TRY(sections, elf_sections(file));
  std::vector<Bytes> found;
  for (const ElfSection& s : sections) {
    if (s.type != SHT_PROGBITS || (s.flags & SHF_EXECINSTR) != 0) continue;
    const std::size_t skew = (8 - static_cast<std::size_t>(s.bytes.data() - file.data()) % 8) % 8;
    for (std::size_t at = skew; at + layout::container_header <= s.bytes.size();) {
      const Bytes rest = s.bytes.subspan(at);
      if (*layout::read<std::uint32_t>(rest, 0) == layout::container_magic &&
          *layout::read<std::uint16_t>(rest, 6) == layout::container_header) {
        const auto size = *layout::read<std::uint64_t>(rest, 8);
        if (size <= rest.size() - layout::container_header) {
          found.push_back(rest.first(layout::container_header + size));
          at += layout::container_header + size;
          at = (at - skew + 7) / 8 * 8 + skew;
          continue;
        }
      }
      at += 8;
    }
  }
  return found;
}

}  // namespace tessera::image
