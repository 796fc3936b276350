// Which 32-byte sectors of global memory a launch touched: what must cross from DRAM, or from the host, at least once.
//
// A set of bits by pages of 64 KiB, half a kilobyte a page that is touched, behind a small cache of the pages found last. Invariant: the
// union over worker threads doesn't depend on how blocks were spread over them. Units: 32-byte sectors; a sector's number is address ÷ 32.
// Threads: one object a worker; merge() when they have ended.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace tessera::simgpu {

struct AllocationTable;
struct Counters;

class Sectors {
 public:
  // All sectors from `first` to `last`, both included.
  void add(std::uint64_t first, std::uint64_t last, bool read, bool written) {
    for (std::uint64_t n = first; n <= last; ++n) {
      Page& page = page_of(n / page_sectors);
      const unsigned word = static_cast<unsigned>(n % page_sectors) / 64;
      const std::uint64_t bit = std::uint64_t{1} << (n % 64);
      if (read) page.read[word] |= bit;
      if (written) page.written[word] |= bit;
    }
  }
  void merge(const Sectors& other);
  // Sets the counters of distinct sectors. `memory` tells which lie outside the device.
  void count(const AllocationTable& memory, Counters& counters) const;

 private:
  static constexpr unsigned page_sectors = 2048, words = page_sectors / 64, cached = 64;
  struct Page {
    std::array<std::uint64_t, words> read{}, written{};
  };
  struct Cached {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };
  Page& page_of(std::uint64_t number) {
    const Cached& slot = cache_[number % cached];
    return slot.number == number ? *slot.page : found(number);
  }
  Page& found(std::uint64_t number);

  std::array<Cached, cached> cache_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace tessera::simgpu
