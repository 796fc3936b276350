#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include "placement/image/image.h"
#include "test/image/writer.h"

using namespace tessera;
using namespace tessera::image;
using namespace tessera::testing;

namespace {

std::size_t largest_allocation = 0;

std::string ptx_text(unsigned number) {
  std::string text = "\n\n.version 9.0\n.target sm_80\n.address_size 64\n";
  for (unsigned i = 0; i < 20; ++i) text += ".visible .entry kernel_" + std::to_string(number) + "_" + std::to_string(i) + "() { ret; }\n";
  return text;
}

std::vector<Part> parts_of(std::uint16_t kind, Packing packing, unsigned count) {
  std::vector<Part> parts;
  for (unsigned i = 0; i < count; ++i) {
    const std::string payload = kind == 1 ? ptx_text(i) : cubin(80 + i % 10, {{"kernel_" + std::to_string(i), {{0, 0, 8}}}});
    parts.push_back({kind, 75 + i, payload, packing, 0x11, i % 2 == 0 ? "" : "-maxrregcount=64", i % 3 == 0 ? "" : "source.cu"});
  }
  return parts;
}

void check_same(const std::vector<Entry>& entries, const std::vector<Part>& parts) {
  REQUIRE(entries.size() <= parts.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const Part& p = parts[i];
    REQUIRE(e.raw_kind == p.kind);
    REQUIRE(e.sm == p.sm);
    REQUIRE(e.version_major == 9);
    REQUIRE(e.identifier == p.identifier);
    if (e.kind == EntryKind::ptx) REQUIRE(e.options == p.options);
    const auto payload = payload_of(e);
    REQUIRE(payload.ok());
    REQUIRE(payload->substr(0, p.payload.size()) == p.payload);
    // Machine code may keep its padding; text may not.
    if (e.kind == EntryKind::ptx)
      REQUIRE(payload->size() == p.payload.size());
    else
      REQUIRE(payload->size() < p.payload.size() + 8);
  }
}

std::string with_flags(Part part, std::uint64_t flags) {
  part.flags |= flags;
  return container({part});
}

}  // namespace

// Watched, for the promise that a bomb costs no memory.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  largest_allocation = std::max(largest_allocation, size);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("containers of every kind read back as they were written, with a wrapper or without") {
  for (const std::uint16_t kind : {1, 2}) {
    for (const Packing packing : {Packing::plain, Packing::lz4, Packing::zstd}) {
      for (const unsigned count : {1u, 3u, 200u}) {
        const auto parts = parts_of(kind, packing, count);
        const Exact bytes(container(parts));
        CHECK(form_of(bytes.bytes()) == Form::fatbin_container);
        std::string damage = "not set";
        const auto entries = entries_of(bytes.bytes(), &damage);
        REQUIRE(entries.ok());
        REQUIRE(entries->size() == count);
        CHECK(damage.empty());
        check_same(*entries, parts);

        const Exact wrapped(wrapper(bytes.bytes().data()));
        CHECK(form_of(wrapped.bytes()) == Form::fatbin_wrapper);
        const auto through = entries_of(wrapped.bytes());
        REQUIRE(through.ok());
        check_same(*through, parts);
        for (const void* pointer : {static_cast<const void*>(wrapped.bytes().data()), static_cast<const void*>(bytes.bytes().data())}) {
          const auto extent = extent_of(pointer);
          REQUIRE(extent.ok());
          CHECK(extent->data() == bytes.bytes().data());
          CHECK(extent->size() == bytes.bytes().size());
        }
      }
    }
  }
}

TEST_CASE("a container that was cut anywhere gives what stands before the cut, and says that it was cut") {
  for (const Packing packing : {Packing::plain, Packing::lz4, Packing::zstd}) {
    const auto parts = parts_of(1, packing, 3);
    const std::string whole = container(parts);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Exact cut(std::string_view(whole).substr(0, size));
      std::string damage;
      const auto entries = entries_of(cut.bytes(), &damage);
      INFO(size << " of " << whole.size());
      if (!entries.ok()) {
        REQUIRE(entries.error().code == ErrorCode::bad_data);
        continue;
      }
      REQUIRE(entries->size() < parts.size());
      REQUIRE_FALSE(damage.empty());
      check_same(*entries, parts);
    }
  }
}

TEST_CASE("unknown kinds and unknown compression are passed over, and reading goes on") {
  auto parts = parts_of(1, Packing::zstd, 5);
  parts[1].kind = 77;
  parts[3].kind = 8;
  std::string bytes = container(parts);
  const Exact exact(bytes);
  const auto entries = entries_of(exact.bytes());
  REQUIRE(entries.ok());
  REQUIRE(entries->size() == 5);
  CHECK((*entries)[1].kind == EntryKind::other);
  CHECK((*entries)[1].raw_kind == 77);
  CHECK((*entries)[3].kind == EntryKind::lto_ir);
  for (const std::size_t i : {0u, 2u, 4u}) CHECK(payload_of((*entries)[i]).value() == parts[i].payload);

  Part odd = parts[0];
  odd.packing = Packing::plain;
  std::string unknown = container({odd});
  put(unknown, 16 + 56, std::uint64_t{1000});  // an uncompressed size without a method
  const Exact without(unknown);
  const auto entry = entries_of(without.bytes());
  REQUIRE(entry.ok());
  const auto payload = payload_of(entry->front());
  REQUIRE_FALSE(payload.ok());
  CHECK(payload.error().code == ErrorCode::unsupported);
}

TEST_CASE("architecture letters come from the flags") {
  const Part part{1, 90, ptx_text(0)};
  const Exact plain(with_flags(part, 0)), exact(with_flags(part, 0x100000)), family(with_flags(part, 0x200000));
  CHECK(entries_of(plain.bytes())->front().arch_suffix == '\0');
  CHECK(entries_of(exact.bytes())->front().arch_suffix == 'a');
  CHECK(entries_of(family.bytes())->front().arch_suffix == 'f');
}

TEST_CASE("sizes that overflow or reach outside are refused") {
  const auto u64 = std::numeric_limits<std::uint64_t>::max();
  struct Damage {
    std::size_t offset, width;
    std::uint64_t value;
    bool only_payload;  // the entry itself still reads
  };
  const Damage all[] = {
      {8, 8, u64, false},
      {8, 8, u64 - 15, false},
      {6, 2, 0, false},
      {6, 2, 15, false},
      {6, 2, 0xffff, false},
      {16 + 4, 4, 0, false},
      {16 + 4, 4, 63, false},
      {16 + 4, 4, 0xffffffff, false},
      {16 + 8, 8, u64, false},
      {16 + 8, 8, u64 - 63, false},
      {16 + 8, 8, u64 / 2, false},
      {16 + 16, 4, 0xffffffff, true},
      {16 + 16, 4, 0, true},
      {16 + 16, 4, 5, true},
      {16 + 56, 8, u64, true},
      {16 + 56, 8, std::uint64_t{1} << 40, true},
      {16 + 56, 8, 1, true},
      {16 + 56, 8, 0x7fffffff, true},
  };
  for (const Packing packing : {Packing::lz4, Packing::zstd}) {
    for (const Damage& d : all) {
      std::string bytes = container({{1, 80, ptx_text(1), packing}});
      bytes.replace(d.offset, d.width, std::string(reinterpret_cast<const char*>(&d.value), d.width));
      const Exact exact(bytes);
      std::string damage;
      const auto entries = entries_of(exact.bytes(), &damage);
      INFO("offset " << d.offset << " = " << d.value << ": " << damage);
      if (!d.only_payload) {
        CHECK((!entries.ok() || !damage.empty()));
        continue;
      }
      REQUIRE(entries.ok());
      CHECK_FALSE(payload_of(entries->front()).ok());
    }
  }
  // Places of texts inside the header.
  for (const std::size_t offset : {20u, 32u, 36u}) {
    std::string bytes = container({{1, 80, ptx_text(1), Packing::zstd, 0x11, "-opt", "name"}});
    for (const std::uint32_t value : {0u, 63u, 90u, 0x7fffffffu, 0xfffffff8u, 0xffffffffu}) {
      put(bytes, 16 + offset, value);
      const Exact exact(bytes);
      const auto entries = entries_of(exact.bytes());
      REQUIRE(entries.ok());
      CHECK(payload_of(entries->front()).value() == ptx_text(1));
      CHECK(entries->front().options.size() < 128);
      CHECK(entries->front().identifier.size() < 128);
    }
  }
}

TEST_CASE("bombs cost no more memory than the cap") {
  const std::string zeros(std::size_t{8} << 20, '\0');
  for (const Packing packing : {Packing::lz4, Packing::zstd}) {
    Part bomb{2, 80, zeros, packing};
    const std::string honest = container({bomb});
    CHECK(honest.size() * 200 < zeros.size());
    const Exact exact(honest);
    const auto entries = entries_of(exact.bytes());
    REQUIRE(entries.ok());
    CHECK(payload_of(entries->front()).value() == zeros);  // packed well, but within the cap
    CHECK_FALSE(payload_of(entries->front(), zeros.size() - 1).ok());

    std::string liar = honest;
    put(liar, 16 + 56, static_cast<std::uint64_t>(zeros.size() - 1));  // unpacks to more than it says
    const Exact less(liar);
    CHECK_FALSE(payload_of(entries_of(less.bytes())->front()).ok());
    put(liar, 16 + 56, static_cast<std::uint64_t>(default_payload_cap));  // claims as much as may be, holds nothing of the kind
    const Exact more(liar);
    largest_allocation = 0;
    CHECK_FALSE(payload_of(entries_of(more.bytes())->front()).ok());
    CHECK(largest_allocation < zeros.size());
  }
  const Exact plain(container({{1, 80, ptx_text(1)}}));
  CHECK_FALSE(payload_of(entries_of(plain.bytes())->front(), 10).ok());
}

TEST_CASE("any damage in compressed bytes is refused or unpacks to the size that was said") {
  std::mt19937_64 random(8);
  for (const Packing packing : {Packing::lz4, Packing::zstd}) {
    const std::string good = container({{1, 80, ptx_text(1), packing}});
    for (int round = 0; round < 2000; ++round) {
      std::string bytes = good;
      for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
      const Exact exact(bytes);
      const auto entries = entries_of(exact.bytes());
      if (!entries.ok()) continue;
      for (const Entry& e : *entries) {
        const auto payload = payload_of(e, 1 << 20);
        if (payload.ok()) REQUIRE(payload->size() <= std::max<std::uint64_t>(e.uncompressed_size, e.stored.size()));
      }
    }
  }
}
