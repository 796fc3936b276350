#include "placement/image/cubin.h"

#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include "placement/image/elf.h"
#include "placement/image/layout.h"

namespace tessera::image {
namespace {

constexpr std::string_view info_prefix = ".nv.info.";
constexpr std::uint32_t info_section = 0x70000000;
constexpr std::uint8_t format_bytes = 4;  // `val` bytes follow; other formats are 4 bytes in all
constexpr std::uint8_t kparam_info = 0x17, kparam_info_v2 = 0x45, cbank_param_size = 0x19;
constexpr std::uint8_t other_kernel_bit = 0x10;

PointerSpace pointer_space(std::uint32_t nibble) {
  switch (nibble) {
    case 1:
      return PointerSpace::local;
    case 2:
      return PointerSpace::shared;
    case 4:
      return PointerSpace::constant_or_global;
    case 5:
      return PointerSpace::generic;
    default:
      return PointerSpace::none;
  }
}

// {u32 index; u16 ordinal; u16 offset; then v1: u32 packed, v2: u16 size, u8 log2 align, u8 space}
std::optional<CubinParam> read_param(Bytes record, bool second_version) {
  const auto ordinal = layout::read<std::uint16_t>(record, 4), offset = layout::read<std::uint16_t>(record, 6);
  const auto packed = layout::read<std::uint32_t>(record, 8);
  if (!ordinal || !offset || !packed) return std::nullopt;
  CubinParam p{*ordinal, *offset, 0, PointerSpace::none};
  if (second_version) {
    p.size = *packed & 0xffff;
    p.space = pointer_space(*packed >> 24);
  } else {
    p.size = *packed >> 18;
    p.space = pointer_space((*packed >> 8) & 0xf);
  }
  return p;
}

CubinKernel read_kernel(std::string_view name, Bytes info) {
  CubinKernel kernel;
  kernel.name = name;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = std::to_integer<std::uint8_t>(info[at]), attribute = std::to_integer<std::uint8_t>(info[at + 1]);
    const auto value = *layout::read<std::uint16_t>(info, at + 2);
    at += 4;
    if (attribute == cbank_param_size && format != format_bytes) kernel.param_bytes = value;
    if (format != format_bytes) continue;
    const auto record = layout::part(info, at, value);
    if (!record) break;
    if (attribute == kparam_info || attribute == kparam_info_v2) {
      if (const auto p = read_param(*record, attribute == kparam_info_v2)) kernel.params.push_back(*p);
    }
    at += (value + 3u) & ~3u;
  }
  std::sort(kernel.params.begin(), kernel.params.end(), [](const CubinParam& a, const CubinParam& b) { return a.ordinal < b.ordinal; });
  for (const CubinParam& p : kernel.params) kernel.param_bytes = std::max(kernel.param_bytes, p.offset + p.size);
  return kernel;
}

// The `.nv.info.<kernel>` sections by kernel.
using InfoByKernel = std::unordered_map<std::string_view, Bytes>;

InfoByKernel infos_of(const std::vector<ElfSection>& sections) {
  InfoByKernel infos;
  for (const ElfSection& s : sections) {
    if (s.type == info_section && s.name.starts_with(info_prefix)) infos.try_emplace(s.name.substr(info_prefix.size()), s.bytes);
  }
  return infos;
}

void read_symbols(const std::vector<ElfSection>& sections, const InfoByKernel& infos, const ElfSection& table, Cubin& cubin) {
  const Bytes names = table.link < sections.size() ? sections[table.link].bytes : Bytes{};
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.bytes.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = *layout::read<Elf64_Sym>(table.bytes, at);
    const std::string_view name = elf_string(names, symbol.st_name);
    if (name.empty() || symbol.st_shndx == SHN_UNDEF) continue;
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC && (symbol.st_other & other_kernel_bit) != 0) {
      const auto info = infos.find(name);
      cubin.kernels.push_back(info == infos.end() ? CubinKernel{std::string(name), {}, 0} : read_kernel(name, info->second));
    } else if (type == STT_OBJECT && symbol.st_shndx < sections.size()) {
      const std::string_view section = sections[symbol.st_shndx].name;
      const bool constant = section.substr(0, 13) == ".nv.constant3";
      if (constant || section.substr(0, 10) == ".nv.global") cubin.globals.push_back({std::string(name), symbol.st_size, constant});
    }
  }
}

}  // namespace

Result<Cubin> read_cubin(Bytes file) {
  if (elf_machine(file) != layout::machine_cuda) return Error{ErrorCode::bad_data, "not a cubin", "", ""};
  TRY(sections, elf_sections(file));
  Cubin cubin;
  cubin.sm = (*elf_flags(file) >> 8) & 0xff;
  const InfoByKernel infos = infos_of(sections);
  for (const ElfSection& s : sections) {
    if (s.type == SHT_SYMTAB) read_symbols(sections, infos, s, cubin);
  }
  return cubin;
}

}  // namespace tessera::image
