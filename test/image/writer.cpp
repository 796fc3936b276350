#include "test/image/writer.h"

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace tessera::testing {
namespace {

constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& bytes, std::size_t to) {
  while (bytes.size() % to != 0) bytes.push_back('\0');
}

// Offset of `text` in a string table that it is added to.
std::uint32_t intern(std::string& table, std::string_view text) {
  const auto offset = static_cast<std::uint32_t>(table.size());
  table.append(text);
  table.push_back('\0');
  return offset;
}

std::string info_of(const Kernel& kernel) {
  std::string info;
  for (auto p = kernel.params.rbegin(); p != kernel.params.rend(); ++p) {  // descending, as the assembler writes them
    append(info, std::uint8_t{4});
    append(info, std::uint8_t(kernel.second_version ? 0x45 : 0x17));
    append(info, std::uint16_t{12});
    append(info, std::uint32_t{0});
    append(info, p->ordinal);
    append(info, p->offset);
    if (kernel.second_version)
      append(info, static_cast<std::uint32_t>(p->size | 3u << 16 | std::uint32_t{p->space} << 24));
    else
      append(info, static_cast<std::uint32_t>(std::uint32_t{p->space} << 8 | 0x1fu << 12 | std::uint32_t{p->size} << 18));
  }
  if (!kernel.params.empty()) {
    append(info, std::uint8_t{3});
    append(info, std::uint8_t{0x19});
    append(info, static_cast<std::uint16_t>(kernel.params.back().offset + kernel.params.back().size));
  }
  append(info, std::uint32_t{0x00ff01});  // a record without a value that no reader knows
  return info;
}

}  // namespace

std::string packed(std::string_view payload, Packing packing) {
  switch (packing) {
    case Packing::lz4: {
      std::string out(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(payload.size()))), '\0');
      out.resize(static_cast<std::size_t>(
          LZ4_compress_default(payload.data(), out.data(), static_cast<int>(payload.size()), static_cast<int>(out.size()))));
      return out;
    }
    case Packing::zstd: {
      std::string out(ZSTD_compressBound(payload.size()), '\0');
      out.resize(ZSTD_compress(out.data(), out.size(), payload.data(), payload.size(), 3));
      return out;
    }
    case Packing::plain:
      break;
  }
  return std::string(payload);
}

std::string entry(const Part& part) {
  const std::string stored = packed(part.payload, part.packing);
  std::string tail;  // of the header, behind its fixed 64 bytes
  std::uint32_t options = 0, identifier = 0;
  if (!part.identifier.empty()) {
    identifier = static_cast<std::uint32_t>(64 + tail.size());
    tail += part.identifier;
    pad(tail, 8);
  }
  if (!part.options.empty()) {
    options = static_cast<std::uint32_t>(64 + tail.size());
    append(tail, options + 8);
    append(tail, static_cast<std::uint32_t>(part.options.size()));
    tail += part.options;
    pad(tail, 8);
  }
  const std::uint64_t stored_size = (stored.size() + 7) / 8 * 8;
  const bool is_packed = part.packing != Packing::plain;
  std::string out(64, '\0');
  put(out, 0, part.kind);
  put(out, 2, std::uint16_t{0x0101});
  put(out, 4, static_cast<std::uint32_t>(64 + tail.size()));
  put(out, 8, stored_size);
  put(out, 16, static_cast<std::uint32_t>(is_packed ? stored.size() : 0));
  put(out, 20, options);
  put(out, 24, std::uint16_t{0});
  put(out, 26, std::uint16_t{9});
  put(out, 28, static_cast<std::uint32_t>(part.sm));
  put(out, 32, identifier);
  put(out, 36, static_cast<std::uint32_t>(part.identifier.size()));
  put(out, 40, part.flags | (part.packing == Packing::lz4 ? flag_lz4 : part.packing == Packing::zstd ? flag_zstd : 0));
  put(out, 56, static_cast<std::uint64_t>(is_packed ? part.payload.size() : 0));
  out += tail + stored;
  pad(out, 8);
  return out;
}

std::string container_of_bytes(std::string_view entries) {
  std::string out;
  append(out, std::uint32_t{0xBA55ED50});
  append(out, std::uint16_t{1});
  append(out, std::uint16_t{16});
  append(out, static_cast<std::uint64_t>(entries.size()));
  return out.append(entries);
}

std::string container(const std::vector<Part>& parts) {
  std::string entries;
  for (const Part& p : parts) entries += entry(p);
  return container_of_bytes(entries);
}

std::string wrapper(const void* container) {
  std::string out;
  append(out, std::uint32_t{0x466243B1});
  append(out, std::uint32_t{1});
  append(out, reinterpret_cast<std::uint64_t>(container));
  append(out, std::uint64_t{0});
  return out;
}

std::string elf(std::uint16_t machine, std::uint32_t flags, const std::vector<Section>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  std::string out(sizeof(Elf64_Ehdr), '\0');
  const auto add = [&](const Section& s) {
    pad(out, 8);
    Elf64_Shdr h{};
    h.sh_name = intern(names, s.name);
    h.sh_type = s.type;
    h.sh_flags = s.flags;
    h.sh_offset = out.size();
    h.sh_size = s.bytes.size();
    h.sh_link = s.link;
    h.sh_info = s.info;
    h.sh_addralign = 8;
    out += s.bytes;
    headers.push_back(h);
  };
  for (const Section& s : sections) add(s);
  const std::string shstrtab = ".shstrtab";
  names += shstrtab + '\0';
  pad(out, 8);
  Elf64_Shdr table{};
  table.sh_name = static_cast<Elf64_Word>(names.size() - shstrtab.size() - 1);
  table.sh_type = SHT_STRTAB;
  table.sh_offset = out.size();
  table.sh_size = names.size();
  headers.push_back(table);
  out += names;
  pad(out, 8);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof header;
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  put(out, 0, header);
  for (const Elf64_Shdr& h : headers) append(out, h);
  return out;
}

std::string cubin(unsigned sm, const std::vector<Kernel>& kernels, const std::vector<std::pair<std::string, std::uint64_t>>& globals) {
  constexpr std::uint16_t machine_cuda = 190;
  constexpr std::uint32_t info_type = 0x70000000, strings_index = 1, symbols_index = 2;
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  std::vector<Section> sections = {{".strtab", SHT_STRTAB, 0, 0, 0}, {".symtab", SHT_SYMTAB, 0, strings_index, 0}};
  const auto add_symbol = [&](std::string_view name, unsigned char type, unsigned char other, std::size_t section, std::uint64_t size) {
    Elf64_Sym s{};
    s.st_name = intern(names, name);
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    s.st_other = other;
    s.st_shndx = static_cast<Elf64_Half>(section);
    s.st_size = size;
    append(symbols, s);
  };
  for (const Kernel& k : kernels) {
    const std::size_t text = sections.size() + 1;
    sections.push_back({".text." + k.name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, std::string(128, '\x11')});
    sections.push_back({".nv.info." + k.name, info_type, 0, symbols_index, static_cast<std::uint32_t>(text), info_of(k)});
    add_symbol(k.name, STT_FUNC, 0x10, text, 128);
    add_symbol("$" + k.name + "$callee", STT_FUNC, 0, text, 64);  // a device function: no kernel
  }
  const std::size_t data = sections.size() + 1;
  sections.push_back({".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 0});
  sections.push_back({".nv.constant3", SHT_PROGBITS, SHF_ALLOC, 0, 0, std::string(16, '\0')});
  for (const auto& [name, bytes] : globals) add_symbol(name, STT_OBJECT, 0, data, bytes);
  add_symbol("a_constant", STT_OBJECT, 0, data + 1, 16);
  sections[0].bytes = names;
  sections[1].bytes = symbols;
  return elf(machine_cuda, 0x06000004 | sm << 8, sections);
}

Exact::Exact(std::string_view bytes) : memory_(std::make_unique<std::byte[]>(bytes.size())), size_(bytes.size()) {
  if (!bytes.empty()) std::memcpy(memory_.get(), bytes.data(), bytes.size());
}

}  // namespace tessera::testing
