#include "tools/simgpu/machine/touched.h"

#include <algorithm>

namespace tessera::simgpu {

Touched::Page& Touched::page(std::uint64_t number) {
  if (number != last_number_) {
    std::unique_ptr<Page>& slot = pages_[number];
    if (slot == nullptr) slot = std::make_unique<Page>();
    last_number_ = number;
    last_ = slot.get();
  }
  return *last_;
}

void Touched::add(std::uint64_t address, std::uint64_t bytes, std::uint8_t kinds) {
  for (const std::uint64_t end = address + bytes; address < end;) {
    Page& p = page(address / page_bytes);
    const std::uint64_t first = address % page_bytes, last = std::min(page_bytes, first + (end - address));
    for (std::uint64_t i = first; i < last; ++i) p[i] = static_cast<std::uint8_t>(p[i] | kinds);
    address += last - first;
  }
}

std::vector<TouchedRange> Touched::ranges() const {
  std::vector<TouchedRange> found;
  for (const auto& [number, p] : pages_) {
    for (std::uint64_t i = 0; i < page_bytes; ++i) {
      const std::uint8_t kinds = (*p)[i];
      if (kinds == 0) continue;
      const std::uint64_t address = number * page_bytes + i;
      if (!found.empty() && found.back().hi == address && found.back().kinds == kinds) {
        ++found.back().hi;
      } else {
        found.push_back({address, address + 1, kinds});
      }
    }
  }
  return found;
}

}  // namespace tessera::simgpu
