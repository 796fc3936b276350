#include "tools/simgpu/machine/memory.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/simgpu/machine/device.h"

namespace tessera::simgpu {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t scrub_limit = std::uint64_t{1} << 20;  // larger blocks are given back to the system instead of overwritten
// Ranges are asked for at fixed places, one a device, so that addresses are the same in every run.
#ifdef __SANITIZE_THREAD__  // ThreadSanitizer lets a program have only the top of the address space
constexpr std::uint64_t range_start = 0x7ea0'0000'0000, range_stride = 0x0040'0000'0000, range_count = 5;
#else
constexpr std::uint64_t range_start = 0x2000'0000'0000, range_stride = 0x0100'0000'0000, range_count = 64;
#endif

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

void* at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void* reserve(std::uint64_t wanted, std::uint64_t size) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* got = ::mmap(at(wanted), size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) got = ::mmap(nullptr, size, PROT_NONE, flags, -1, 0);
  return got;
}

std::string name_of(const Allocation& a) {
  const char* kind = a.kind == AllocationKind::device ? "allocation" : "mapped range";
  return a.label.empty() ? fmt::format("{} {}", kind, a.id) : fmt::format("{} {} ({})", kind, a.id, a.label);
}

}  // namespace

const Allocation* AllocationTable::find(std::uint64_t address) const {
  const auto after = std::upper_bound(rows.begin(), rows.end(), address, [](std::uint64_t a, const Allocation& r) { return a < r.base; });
  if (after == rows.begin()) return nullptr;
  const Allocation& row = *std::prev(after);
  return row.holds(address) ? &row : nullptr;
}

std::string AllocationTable::describe_nearest(std::uint64_t address) const {
  if (rows.empty()) return "no live allocation on this device";
  const auto after = std::upper_bound(rows.begin(), rows.end(), address, [](std::uint64_t a, const Allocation& r) { return a < r.base; });
  const auto span = [](const Allocation& a) { return fmt::format("{} at [{:#x}, {:#x}), {} bytes", name_of(a), a.base, a.end(), a.size); };
  const std::uint64_t far = ~std::uint64_t{0};
  const std::uint64_t behind = after == rows.begin() ? far : address - (std::prev(after)->end() - 1);
  const std::uint64_t before = after == rows.end() ? far : after->base - address;
  if (after != rows.begin() && std::prev(after)->holds(address)) {
    return fmt::format("{} bytes into {}", address - std::prev(after)->base, span(*std::prev(after)));
  }
  if (behind <= before) return fmt::format("{} bytes behind the end of {}", behind - 1, span(*std::prev(after)));
  return fmt::format("{} bytes before {}", before, span(*after));
}

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::create(unsigned ordinal, std::uint64_t capacity) {
  const std::uint64_t size = round_up(2 * capacity + (std::uint64_t{1} << 30), std::uint64_t{1} << 30);
  void* base = reserve(range_start + ordinal % range_count * range_stride, size);
  if (base == MAP_FAILED) {
    return Error{ErrorCode::environment, fmt::format("no {} GiB of address space for the memory of simulated GPU {}", size >> 30, ordinal),
                 "", "raise the limit on virtual memory (ulimit -v), or simulate a smaller GPU"};
  }
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(reinterpret_cast<std::uint64_t>(base), size, capacity));
}

DeviceMemory::DeviceMemory(std::uint64_t base, std::uint64_t reserved, std::uint64_t capacity)
    : base_(base), reserved_(reserved), capacity_(capacity) {
  free_.emplace(base, reserved);
}

DeviceMemory::~DeviceMemory() { ::munmap(at(base_), reserved_); }

Result<std::uint64_t> DeviceMemory::allocate(std::uint64_t size, std::uint64_t alignment, std::string label) {
  if (size == 0 || (alignment & (alignment - 1)) != 0) {
    return Error{ErrorCode::usage, fmt::format("cannot allocate {} bytes aligned to {}", size, alignment), "", ""};
  }
  alignment = std::max(alignment, allocation_alignment);
  const std::lock_guard lock(mutex_);
  const std::uint64_t charged = round_up(size, allocation_alignment);
  const auto full = [&] {
    return Error{ErrorCode::environment, fmt::format("out of memory: {} bytes asked, {} of {} in use", size, used_, capacity_), "", ""};
  };
  if (size > capacity_ || charged > capacity_ - used_) return full();
  const std::uint64_t wanted = charged + guard_bytes;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [span_base, span_size] = *it;
    const std::uint64_t start = round_up(span_base, alignment);
    if (start - span_base > span_size || span_size - (start - span_base) < wanted) continue;
    const std::uint64_t first_page = start / page * page;
    if (::mprotect(at(first_page), round_up(start + wanted, page) - first_page, PROT_READ | PROT_WRITE) != 0) return full();
    free_.erase(it);
    if (start > span_base) free_.emplace(span_base, start - span_base);
    if (span_base + span_size > start + wanted) free_.emplace(start + wanted, span_base + span_size - start - wanted);
    span_.emplace(start, wanted);
    live_.emplace(start, Allocation{start, size, AllocationKind::device, next_id_++, std::move(label)});
    used_ += charged;
    high_water_ = std::max(high_water_, used_);
    table_.reset();
    return start;
  }
  return full();
}

// Overwrites what the allocation held, or gives its whole pages back.
void DeviceMemory::scrub(std::uint64_t base, std::uint64_t size) {
  if (size <= scrub_limit) {
    std::memset(at(base), poison_byte, size);
    return;
  }
  const std::uint64_t first = round_up(base, page), last = (base + size) / page * page;
  std::memset(at(base), poison_byte, first - base);
  std::memset(at(last), poison_byte, base + size - last);
  ::madvise(at(first), last - first, MADV_DONTNEED);
  ::mprotect(at(first), last - first, PROT_NONE);
}

void DeviceMemory::release_span(std::uint64_t base, std::uint64_t size) {
  auto next = free_.lower_bound(base);
  if (next != free_.end() && base + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == base) {
      previous->second += size;
      return;
    }
  }
  free_.emplace_hint(next, base, size);
}

Status DeviceMemory::free(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto it = live_.find(address);
  if (it == live_.end() || it->second.kind != AllocationKind::device) {
    return Error{ErrorCode::not_found, fmt::format("{:#x} is not the start of a live allocation", address), "", ""};
  }
  scrub(address, it->second.size);
  used_ -= round_up(it->second.size, allocation_alignment);
  const auto span = span_.find(address);
  release_span(span->first, span->second);
  span_.erase(span);
  live_.erase(it);
  table_.reset();
  return {};
}

Status DeviceMemory::map_external(std::uint64_t address, std::uint64_t size, std::string label) {
  const std::lock_guard lock(mutex_);
  const auto next = live_.lower_bound(address);
  const bool hits_next = next != live_.end() && next->first - address < size;
  const bool hits_previous = next != live_.begin() && std::prev(next)->second.end() > address;
  if (size == 0 || address + size < address || hits_next || hits_previous || (address - base_ < reserved_)) {
    return Error{ErrorCode::usage, fmt::format("[{:#x}, +{}) can't be mapped: empty, or overlaps what is there", address, size), "", ""};
  }
  live_.emplace(address, Allocation{address, size, AllocationKind::external, next_id_++, std::move(label)});
  table_.reset();
  return {};
}

Status DeviceMemory::unmap_external(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto it = live_.find(address);
  if (it == live_.end() || it->second.kind != AllocationKind::external) {
    return Error{ErrorCode::not_found, fmt::format("nothing is mapped at {:#x}", address), "", ""};
  }
  live_.erase(it);
  table_.reset();
  return {};
}

std::optional<Allocation> DeviceMemory::find(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after == live_.begin() || !std::prev(after)->second.holds(address)) return std::nullopt;
  return std::prev(after)->second;
}

bool DeviceMemory::covers(std::uint64_t address, std::uint64_t size) const {
  const std::uint64_t end = address + size;
  while (true) {
    const auto found = find(address);
    if (!found) return false;
    if (end <= found->end()) return true;
    if (found->kind != AllocationKind::external) return false;
    address = found->end();
  }
}

Status DeviceMemory::charge(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > capacity_ - used_) {
    return Error{ErrorCode::environment, fmt::format("out of memory: {} bytes asked, {} of {} in use", bytes, used_, capacity_), "", ""};
  }
  charged_ += bytes;
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return {};
}
void DeviceMemory::discharge(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  charged_ -= bytes;
  used_ -= bytes;
}

std::shared_ptr<const AllocationTable> DeviceMemory::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!table_) {
    auto made = std::make_shared<AllocationTable>();
    made->rows.reserve(live_.size());
    for (const auto& [base, allocation] : live_) made->rows.push_back(allocation);
    table_ = std::move(made);
  }
  return table_;
}

std::uint64_t DeviceMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t DeviceMemory::high_water() const {
  const std::lock_guard lock(mutex_);
  return high_water_;
}

std::string DeviceMemory::check() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t last_end = 0, charged = 0, spans = 0;
  for (const auto& [base, a] : live_) {
    if (base != a.base) return "an allocation is filed under another address";
    if (base < last_end) return "live allocations overlap";
    last_end = a.end();
    if (a.kind != AllocationKind::device) continue;
    const auto span = span_.find(base);
    if (span == span_.end() || span->second < a.size + guard_bytes) return "an allocation has no span with a guard";
    if (!owns(base) || !owns(a.end())) return "an allocation lies outside the device's range";
    charged += round_up(a.size, allocation_alignment);
  }
  if (charged + charged_ != used_) return "used() isn't the sum of the live allocations and what is charged";
  for (const auto& [base, size] : span_) {
    if (live_.find(base) == live_.end()) return "a span has no allocation";
    spans += size;
  }
  last_end = 0;
  for (const auto& [base, size] : free_) {
    if (base <= last_end) return "free spans overlap or aren't coalesced";
    last_end = base + size;
    spans += size;
  }
  return spans == reserved_ ? "" : "spans and free spans don't tile the range";
}

Result<std::unique_ptr<Device>> Device::create(DeviceTraits traits) {
  TRY(memory, DeviceMemory::create(traits.ordinal, traits.memory_bytes));
  auto device = std::make_unique<Device>();
  device->traits = std::move(traits);
  device->memory = std::move(memory);
  return device;
}

}  // namespace tessera::simgpu
