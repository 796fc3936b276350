// Which bytes something touched, and how: a set of ranges.
//
// Recording is by byte, in pages that come into being when they are touched. Invariant: ranges() is sorted, its ranges don't overlap, and
// neighbours differ in kind or have a gap between them. Units: bytes. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tessera::simgpu {

// Bits of TouchedRange::kinds.
inline constexpr std::uint8_t touched_read = 1, touched_written = 2, touched_atomic = 4;

struct TouchedRange {
  std::uint64_t lo = 0, hi = 0;
  std::uint8_t kinds = 0;
  friend bool operator==(const TouchedRange&, const TouchedRange&) = default;
};

class Touched {
 public:
  void add(std::uint64_t address, std::uint64_t bytes, std::uint8_t kinds);
  [[nodiscard]] std::vector<TouchedRange> ranges() const;

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using Page = std::array<std::uint8_t, page_bytes>;
  Page& page(std::uint64_t number);

  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
};

}  // namespace tessera::simgpu
