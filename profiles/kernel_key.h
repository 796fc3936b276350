// What a measurement is about: which kernel (name and content), launched in which shape, on which kind of GPU.
//
// Invariant: equal code has an equal hash, whatever file or process it came from; the name alone doesn't identify a kernel, since two
// programs may both have a `kernel`. A GPU's identity is its model with compute capability and SM count, so that figures of a variant
// (a laptop part, a slice of a GPU) aren't taken for those of the full one.
// Units: bytes, threads, blocks. Ownership: the view types point into the caller's text. Threads: plain values, pure functions.
// Source: the hash is XXH3, 128 bits (xxHash specification).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct DeviceModel;

struct ContentHash {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const ContentHash&) const = default;
  // 32 lower-case hexadecimal digits.
  [[nodiscard]] std::string text() const;
};
// Of a kernel's code: the text of its PTX function, else the bytes of its cubin.
[[nodiscard]] ContentHash content_hash(std::string_view bytes) noexcept;
[[nodiscard]] ContentHash content_hash(std::span<const std::byte> bytes) noexcept;
// Exactly 32 hexadecimal digits, or nothing.
[[nodiscard]] std::optional<ContentHash> parse_content_hash(std::string_view text) noexcept;

struct KernelKey {
  std::string name;  // as the module spells it (mangled)
  ContentHash content;
  auto operator<=>(const KernelKey&) const = default;
};
struct KernelKeyView {
  KernelKeyView(std::string_view kernel_name, ContentHash hash) : name(kernel_name), content(hash) {}
  KernelKeyView(const KernelKey& key) : name(key.name), content(key.content) {}
  std::string_view name;
  ContentHash content;
};

struct LaunchShape {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::uint32_t dynamic_shared = 0;  // bytes a block
  auto operator<=>(const LaunchShape&) const = default;
  [[nodiscard]] std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  [[nodiscard]] std::uint64_t threads_per_block() const { return std::uint64_t{block[0]} * block[1] * block[2]; }
};

struct DeviceIdentity {
  std::string model;  // catalogue name: "A100-SXM4-80GB"
  unsigned cc_major = 0, cc_minor = 0;
  unsigned sm_count = 0;
  auto operator<=>(const DeviceIdentity&) const = default;
};
struct DeviceIdentityView {
  DeviceIdentityView(const DeviceModel& device);
  DeviceIdentityView(const DeviceIdentity& device);
  std::string_view model;
  unsigned cc_major = 0, cc_minor = 0, sm_count = 0;
};
[[nodiscard]] DeviceIdentity identity_of(const DeviceModel& device);

// Of all of it together, for hash tables. Allocates nothing; may change between builds, so it is never stored.
[[nodiscard]] std::uint64_t launch_hash(KernelKeyView kernel, const LaunchShape& shape, DeviceIdentityView device) noexcept;

}  // namespace tessera
