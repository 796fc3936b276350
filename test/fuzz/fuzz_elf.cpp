// Any bytes as a cubin and as a host file: what is found lies inside the bytes, and is not more than they can hold.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "placement/image/cubin.h"
#include "placement/image/elf.h"
#include "placement/image/image.h"

namespace {

using namespace tessera::image;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool is_inside(Bytes whole, const void* begin, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(begin);
  return size == 0 || (first >= whole.data() && first + size <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const auto sections = elf_sections(bytes);
  if (sections.ok()) {
    for (const ElfSection& s : *sections) {
      require(is_inside(bytes, s.bytes.data(), s.bytes.size()), "a section's bytes lie outside");
      require(is_inside(bytes, s.name.data(), s.name.size()), "a section's name lies outside");
    }
  }
  const auto containers = containers_in_elf(bytes);
  if (containers.ok()) {
    for (const Bytes c : *containers) require(is_inside(bytes, c.data(), c.size()), "a container lies outside");
  }
  const auto cubin = read_cubin(bytes);
  if (!cubin.ok()) return 0;
  for (const CubinKernel& k : cubin->kernels) {
    require(!k.name.empty() && k.name.size() <= size, "a kernel's name is empty or too long");
    require(k.params.size() <= size / 12, "more parameters than the bytes hold");
  }
  return 0;
}
