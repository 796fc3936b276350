// Writers of fat binaries, host ELF files and cubins, for tests of their readers: written from the layout, sharing no code with them.
// Source of the layouts: docs/file-formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {

enum class Packing { plain, lz4, zstd };

struct Part {
  std::uint16_t kind = 1;  // 1 PTX, 2 cubin, 8 LTO-IR
  unsigned sm = 80;
  std::string payload;
  Packing packing = Packing::plain;
  std::uint64_t flags = 0x11;  // 64-bit, Linux
  std::string options = {};
  std::string identifier = {};
};

std::string packed(std::string_view payload, Packing packing);
std::string entry(const Part& part);
std::string container(const std::vector<Part>& parts);
// Around entries that are already bytes.
std::string container_of_bytes(std::string_view entries);
// A wrapper that points to `container`, which must outlive it.
std::string wrapper(const void* container);

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  bytes.replace(offset, sizeof value, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

struct Section {
  std::string name;
  std::uint32_t type = 1;   // SHT_PROGBITS
  std::uint64_t flags = 2;  // SHF_ALLOC
  std::uint32_t link = 0, info = 0;
  std::string bytes = {};
};
// Sections get the indices 1, 2, …; their bytes begin at multiples of 8.
std::string elf(std::uint16_t machine, std::uint32_t flags, const std::vector<Section>& sections);

struct Param {
  std::uint16_t ordinal, offset, size;
  std::uint8_t space = 0;
};
struct Kernel {
  std::string name;
  std::vector<Param> params;
  bool second_version = false;  // of the parameter records
};
// A cubin of these kernels, and of globals with their sizes.
std::string cubin(unsigned sm, const std::vector<Kernel>& kernels, const std::vector<std::pair<std::string, std::uint64_t>>& globals = {});

// A copy in memory of exactly its size, so that a sanitizer sees a read past the end.
class Exact {
 public:
  explicit Exact(std::string_view bytes);
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_;
};

}  // namespace tessera::testing
