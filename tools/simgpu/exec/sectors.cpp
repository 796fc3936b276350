#include "tools/simgpu/exec/sectors.h"

#include <algorithm>
#include <bit>

#include "tools/simgpu/exec/counters.h"
#include "tools/simgpu/machine/memory.h"

namespace tessera::simgpu {

Sectors::Page& Sectors::found(std::uint64_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  cache_[number % cached] = {number, page.get()};
  return *page;
}

void Sectors::merge(const Sectors& other) {
  for (const auto& [number, theirs] : other.pages_) {
    Page& page = found(number);
    for (unsigned i = 0; i < words; ++i) {
      page.read[i] |= theirs->read[i];
      page.written[i] |= theirs->written[i];
    }
  }
}

void Sectors::count(const AllocationTable& memory, Counters& counters) const {
  counters.unique_read_sectors = counters.unique_written_sectors = counters.external_sectors = 0;
  for (const auto& [number, page] : pages_) {
    for (unsigned i = 0; i < words; ++i) {
      const std::uint64_t read = page->read[i], written = page->written[i];
      counters.unique_read_sectors += static_cast<std::uint64_t>(std::popcount(read));
      counters.unique_written_sectors += static_cast<std::uint64_t>(std::popcount(written));
      // Allocations begin and end at least 512 bytes apart, so a sector lies in one; 64 sectors may not.
      for (std::uint64_t left = read | written; left != 0; left &= left - 1) {
        const std::uint64_t sector = number * page_sectors + i * 64 + static_cast<unsigned>(std::countr_zero(left));
        const Allocation* row = memory.find(sector * 32);
        if (row == nullptr) row = memory.find(sector * 32 + 31);
        if (row == nullptr || row->kind != AllocationKind::external) {
          if (row != nullptr && row->base <= (sector & ~std::uint64_t{63}) * 32 && row->end() >= ((sector | 63) + 1) * 32) break;
          continue;
        }
        counters.external_sectors += (read >> (sector % 64) & 1u) + (written >> (sector % 64) & 1u);
      }
    }
  }
}

}  // namespace tessera::simgpu
