#include "profiles/kernel_key.h"

#include <fmt/core.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "profiles/device_catalog.h"

namespace tessera {
namespace {

constexpr std::size_t word_digits = 16;

std::optional<std::uint64_t> parse_word(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const bool decimal = c >= '0' && c <= '9', small = c >= 'a' && c <= 'f', large = c >= 'A' && c <= 'F';
    if (!decimal && !small && !large) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(decimal ? c - '0' : c - (small ? 'a' : 'A') + 10);
  }
  return value;
}

}  // namespace

std::string ContentHash::text() const { return fmt::format("{:016x}{:016x}", high, low); }

ContentHash content_hash(std::string_view bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

ContentHash content_hash(std::span<const std::byte> bytes) noexcept {
  return content_hash(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::optional<ContentHash> parse_content_hash(std::string_view text) noexcept {
  if (text.size() != 2 * word_digits) return std::nullopt;
  const auto high = parse_word(text.substr(0, word_digits)), low = parse_word(text.substr(word_digits));
  if (!high || !low) return std::nullopt;
  return ContentHash{*high, *low};
}

DeviceIdentityView::DeviceIdentityView(const DeviceModel& device)
    : model(device.name), cc_major(device.cc_major), cc_minor(device.cc_minor), sm_count(device.sm_count) {}

DeviceIdentityView::DeviceIdentityView(const DeviceIdentity& device)
    : model(device.model), cc_major(device.cc_major), cc_minor(device.cc_minor), sm_count(device.sm_count) {}

DeviceIdentity identity_of(const DeviceModel& device) { return {device.name, device.cc_major, device.cc_minor, device.sm_count}; }

std::uint64_t launch_hash(KernelKeyView kernel, const LaunchShape& shape, DeviceIdentityView device) noexcept {
  const std::uint64_t words[] = {
      kernel.content.high,
      kernel.content.low,
      std::uint64_t{shape.grid[0]} << 32 | shape.grid[1],
      std::uint64_t{shape.grid[2]} << 32 | shape.block[0],
      std::uint64_t{shape.block[1]} << 32 | shape.block[2],
      std::uint64_t{shape.dynamic_shared} << 32 | device.sm_count,
      std::uint64_t{device.cc_major} << 32 | device.cc_minor,
  };
  const std::uint64_t shaped = XXH3_64bits(words, sizeof words);
  const std::uint64_t named = XXH3_64bits_withSeed(kernel.name.data(), kernel.name.size(), shaped);
  return XXH3_64bits_withSeed(device.model.data(), device.model.size(), named);
}

}  // namespace tessera
