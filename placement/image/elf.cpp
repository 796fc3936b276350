#include "placement/image/elf.h"

#include <elf.h>

#include <algorithm>

#include "placement/image/layout.h"

namespace tessera::image {
namespace {

std::optional<Elf64_Ehdr> header_of(Bytes file) {
  const auto header = layout::read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  return header;
}

}  // namespace

std::optional<std::uint16_t> elf_machine(Bytes file) {
  const auto header = header_of(file);
  return header ? std::optional(header->e_machine) : std::nullopt;
}

std::optional<std::uint32_t> elf_flags(Bytes file) {
  const auto header = header_of(file);
  return header ? std::optional(header->e_flags) : std::nullopt;
}

std::string_view elf_string(Bytes table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* text = reinterpret_cast<const char*>(table.data() + offset);
  return {text, strnlen(text, table.size() - offset)};
}

Result<std::vector<ElfSection>> elf_sections(Bytes file) {
  const auto header = header_of(file);
  if (!header) return Error{ErrorCode::bad_data, "not a little-endian 64-bit ELF file", "", ""};
  std::vector<ElfSection> sections;
  if (header->e_shoff == 0) return sections;
  if (header->e_shentsize != sizeof(Elf64_Shdr)) return Error{ErrorCode::bad_data, "ELF section headers of an unknown size", "", ""};
  // More sections than 16 bits hold: the count stands in the first header.
  const auto first = layout::read<Elf64_Shdr>(file, header->e_shoff);
  if (!first) return Error{ErrorCode::bad_data, "truncated ELF section table", "", ""};
  const std::uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
  const std::uint64_t names_index = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first->sh_link;
  if (count > (file.size() - header->e_shoff) / sizeof(Elf64_Shdr))
    return Error{ErrorCode::bad_data, "truncated ELF section table", "", ""};
  const auto raw = [&](std::uint64_t i) { return *layout::read<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr)); };
  Bytes names;
  if (names_index < count) names = layout::part(file, raw(names_index).sh_offset, raw(names_index).sh_size).value_or(Bytes{});
  sections.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr h = raw(i);
    ElfSection s{elf_string(names, h.sh_name), h.sh_type, h.sh_flags, h.sh_link, h.sh_info, h.sh_entsize, {}, h.sh_size};
    if (h.sh_type != SHT_NOBITS) s.bytes = layout::part(file, h.sh_offset, h.sh_size).value_or(Bytes{});
    sections.push_back(s);
  }
  return sections;
}

std::optional<std::uint64_t> elf_extent(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const auto header = header_of(Bytes(bytes, sizeof(Elf64_Ehdr)));
  if (!header) return std::nullopt;
  // Of a device image; larger values are damage, and kept out of the sums below, which they could wrap around.
  constexpr std::uint64_t longest = std::uint64_t{1} << 40, most_sections = 1 << 24;
  if (header->e_phoff > longest || header->e_shoff > longest) return std::nullopt;
  std::uint64_t end = std::max<std::uint64_t>(sizeof(Elf64_Ehdr), header->e_phoff + std::uint64_t{header->e_phnum} * header->e_phentsize);
  if (header->e_shoff == 0) return end;
  const auto section = [&](std::uint64_t i) {
    Elf64_Shdr h;
    std::memcpy(&h, bytes + header->e_shoff + i * sizeof h, sizeof h);
    return h;
  };
  const std::uint64_t count = header->e_shnum != 0 ? header->e_shnum : section(0).sh_size;
  if (count > most_sections) return std::nullopt;
  end = std::max(end, header->e_shoff + count * sizeof(Elf64_Shdr));
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr h = section(i);
    if (h.sh_type == SHT_NOBITS) continue;
    if (h.sh_offset > longest || h.sh_size > longest) return std::nullopt;
    end = std::max(end, h.sh_offset + h.sh_size);
  }
  return end <= longest ? std::optional(end) : std::nullopt;
}

}  // namespace tessera::image
