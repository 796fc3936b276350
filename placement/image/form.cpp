#include <algorithm>

#include "placement/image/elf.h"
#include "placement/image/image.h"
#include "placement/image/layout.h"

namespace tessera::image {
namespace {

constexpr std::size_t look_ahead = std::size_t{64} << 10;  // comments in front of .version

// Behind white space and comments: does `.version` follow?
bool starts_with_version(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = text.find('\n', at);
    } else if (text.substr(at, 2) == "/*") {
      at = text.find("*/", at + 2);
      if (at != std::string_view::npos) at += 2;
    } else {
      return text.substr(at, 8) == ".version";
    }
  }
  return false;
}

}  // namespace

Form form_of(Bytes bytes) {
  const auto magic = layout::read<std::uint32_t>(bytes, 0);
  if (magic == layout::wrapper_magic) return Form::fatbin_wrapper;
  if (magic == layout::container_magic) return Form::fatbin_container;
  if (const auto machine = elf_machine(bytes)) return *machine == layout::machine_cuda ? Form::cubin : Form::host_elf;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), look_ahead));
  return starts_with_version(text) ? Form::ptx_text : Form::unknown;
}

std::string_view name_of(Form form) {
  switch (form) {
    case Form::ptx_text:
      return "PTX text";
    case Form::cubin:
      return "cubin";
    case Form::fatbin_container:
      return "fat binary";
    case Form::fatbin_wrapper:
      return "fat binary wrapper";
    case Form::host_elf:
      return "host ELF file";
    case Form::unknown:
      break;
  }
  return "unknown form";
}

Result<Bytes> extent_of(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  if (bytes == nullptr) return Error{ErrorCode::bad_data, "null image", "", ""};
  // A text may be shorter than a magic number: look at one byte after the other. None of the magic numbers holds a zero byte.
  const std::size_t head = strnlen(static_cast<const char*>(image), sizeof(std::uint32_t));
  if (head < sizeof(std::uint32_t))
    return Error{ErrorCode::bad_data, "not a device image", "", "expected PTX text, a cubin or a fat binary"};
  std::uint32_t magic;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic == layout::wrapper_magic) {
    layout::Wrapper wrapper;
    std::memcpy(&wrapper, bytes, sizeof wrapper);
    if (wrapper.data == 0) return Error{ErrorCode::bad_data, "fat binary wrapper without a container", "", ""};
    const auto* container = reinterpret_cast<const void*>(wrapper.data);
    std::memcpy(&magic, container, sizeof magic);
    if (magic != layout::container_magic) return Error{ErrorCode::bad_data, "a wrapper's container has the wrong magic number", "", ""};
    return extent_of(container);
  }
  if (magic == layout::container_magic) {
    std::uint16_t header;
    std::uint64_t size;
    std::memcpy(&header, bytes + 6, sizeof header);
    std::memcpy(&size, bytes + 8, sizeof size);
    if (size > std::uint64_t{1} << 40) return Error{ErrorCode::bad_data, "fat binary with an impossible size", "", ""};
    return Bytes(bytes, header + size);
  }
  if (const auto size = elf_extent(image)) return Bytes(bytes, *size);
  const char* text = static_cast<const char*>(image);
  const std::size_t length = std::strlen(text);
  if (starts_with_version({text, std::min(length, look_ahead)})) return Bytes(bytes, length);
  return Error{ErrorCode::bad_data, "not a device image", "", "expected PTX text, a cubin or a fat binary"};
}

}  // namespace tessera::image
