// Device memories: disjoint, bounded, reused, never leaking old contents.
#include <random>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

constexpr std::uint64_t capacity = std::uint64_t{256} << 20;

std::unique_ptr<DeviceMemory> memory(unsigned ordinal = 0) {
  auto made = DeviceMemory::create(ordinal, capacity);
  REQUIRE(made.ok());
  return std::move(made).value();
}

TEST_CASE("random allocations and frees keep the invariant, and blocks keep their bytes") {
  const auto m = memory();
  std::mt19937_64 random(7);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || random() % 3 != 0) {
      const std::uint64_t size = 1 + random() % (random() % 20 == 0 ? 3'000'000 : 5000);
      const auto got = m->allocate(size);
      if (!got.ok()) continue;
      REQUIRE(*got % allocation_alignment == 0);
      std::memset(reinterpret_cast<void*>(*got), static_cast<int>(*got >> 9), size);
      live.emplace_back(*got, size);
    } else {
      const std::size_t i = random() % live.size();
      const auto [base, size] = live[i];
      const auto* p = reinterpret_cast<const unsigned char*>(base);
      REQUIRE(p[0] == static_cast<unsigned char>(base >> 9));
      REQUIRE(p[size - 1] == static_cast<unsigned char>(base >> 9));
      REQUIRE(m->free(base).ok());
      REQUIRE_FALSE(m->find(base));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (step % 50 == 0) REQUIRE(m->check().empty());
  }
  REQUIRE(m->check().empty());
}

TEST_CASE("contents never survive a free, small or large") {
  const auto m = memory();
  for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{1} << 16, std::uint64_t{5} << 20}) {
    const std::uint64_t a = m->allocate(size).value();
    std::memset(reinterpret_cast<void*>(a), 0x5C, size);
    REQUIRE(m->free(a).ok());
    const std::uint64_t b = m->allocate(size).value();
    REQUIRE(a == b);  // reused eagerly
    const auto* p = reinterpret_cast<const unsigned char*>(b);
    for (std::uint64_t i = 0; i < size; ++i) REQUIRE(p[i] != 0x5C);
    REQUIRE(m->free(b).ok());
  }
}

TEST_CASE("capacity is a limit, and what was freed can be had again") {
  const auto m = memory();
  const std::uint64_t a = m->allocate(capacity / 2).value();
  CHECK_FALSE(m->allocate(capacity / 2 + 1024).ok());
  CHECK(m->allocate(capacity / 4).ok());
  CHECK(m->free(a).ok());
  CHECK(m->allocate(capacity / 2).ok());
  CHECK(m->high_water() >= capacity / 2);
  CHECK_FALSE(m->allocate(0).ok());
  CHECK_FALSE(m->free(a + 512).ok());
  CHECK_FALSE(m->allocate(~std::uint64_t{0}).ok());
}

TEST_CASE("devices don't share addresses, and addresses are the same in every run") {
  const auto first = memory(0), second = memory(1);
  const std::uint64_t a = first->allocate(1000).value(), b = second->allocate(1000).value();
  CHECK(first->owns(a));
  CHECK_FALSE(first->owns(b));
  CHECK_FALSE(second->find(a));
  CHECK(first->covers(a, 1000));
  CHECK_FALSE(first->covers(a, 1001));
  CHECK(first->snapshot()->find(a + 999) != nullptr);
  CHECK(first->snapshot()->find(a + 1000) == nullptr);
}

}  // namespace
}  // namespace tessera::simgpu
