#include "profiles/database.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "profiles/device_catalog.h"
#include "test/profiles/random_database.h"

using namespace tessera;
using tessera::testing::RandomDatabase;

namespace {

thread_local std::size_t allocations = 0;

Database merged(Database a, const Database& b) {
  a.merge(b);
  return a;
}

const DeviceIdentity a100 = {"A100-SXM4-80GB", 8, 0, 108};
const Run first = {1, 0, "0.1", "580", true};
const Sample quick = {1, {1, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 0}, {}};

}  // namespace

// Counted, for the promise that a look-up allocates nothing.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("merging is associative, commutative and idempotent") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomDatabase random(seed);
    const Database a = random.make(), b = random.make(), c = random.make();
    REQUIRE(a.violation().empty());
    CHECK(merged(a, b) == merged(b, a));
    CHECK(merged(merged(a, b), c) == merged(a, merged(b, c)));
    CHECK(merged(a, a) == a);
    CHECK(merged(merged(a, b), b) == merged(a, b));
    CHECK(merged(a, Database{}) == a);
    REQUIRE(merged(merged(a, b), c).violation().empty());
  }
}

TEST_CASE("adding one by one gives what the builder gives, in any order") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomDatabase random(seed);
    const Database whole = random.make();
    Database slow;
    for (const Run& r : whole.runs()) REQUIRE(slow.add_run(r).ok());
    std::vector<std::pair<const Record*, const Sample*>> all;
    for (const Record& r : whole.records()) {
      for (const Sample& s : r.samples) all.emplace_back(&r, &s);
    }
    std::shuffle(all.begin(), all.end(), std::mt19937_64(seed));
    for (const auto& [r, s] : all) {
      REQUIRE(slow.add(r->kernel, r->shape, r->device, *s).ok());
      REQUIRE(slow.violation().empty());
    }
    CHECK(slow == whole);
  }
}

TEST_CASE("the sample with more durations stays when a run was saved twice") {
  Database early, late;
  REQUIRE(early.add_run(first).ok());
  REQUIRE(late.add_run(first).ok());
  const KernelKey kernel{"k", {1, 2}};
  Sample more = quick;
  more.time.count = 7;
  REQUIRE(early.add(kernel, {}, a100, quick).ok());
  REQUIRE(late.add(kernel, {}, a100, more).ok());
  CHECK(merged(early, late).records()[0].time.count == 7);
  CHECK(merged(late, early).records()[0].time.count == 7);
}

TEST_CASE("a record is found by exactly its key, and without allocating") {
  RandomDatabase random(11);
  Database database = random.make();
  for (int i = 0; i < 5; ++i) database.merge(random.make());
  REQUIRE(database.records().size() > 10);
  for (const Record& r : database.records()) {
    const std::string other_name = r.kernel.name + "x";
    LaunchShape other_shape = r.shape;
    other_shape.block[2] = 7;
    DeviceIdentity other_device = r.device;
    other_device.sm_count = 5;
    ContentHash other_content = r.kernel.content;
    other_content.low ^= 1;
    const std::size_t before = allocations;
    const Record* found = database.find(r.kernel, r.shape, r.device);
    const bool others = database.find({other_name, r.kernel.content}, r.shape, r.device) != nullptr ||
                        database.find({r.kernel.name, other_content}, r.shape, r.device) != nullptr ||
                        database.find(r.kernel, other_shape, r.device) != nullptr ||
                        database.find(r.kernel, r.shape, other_device) != nullptr;
    const std::size_t after = allocations;
    CHECK(found == &r);
    CHECK_FALSE(others);
    CHECK(after == before);
  }
  CHECK(Database{}.find({"k", {}}, {}, a100) == nullptr);
}

TEST_CASE("figures of another GPU of the same name aren't taken") {
  Database database;
  REQUIRE(database.add_run(first).ok());
  REQUIRE(database.add({"k", {}}, {}, {"A100-SXM4-80GB", 8, 0, 42}, quick).ok());
  const DeviceModel* model = find_device("A100-SXM4-80GB").value();
  CHECK(database.find({"k", {}}, {}, *model) == nullptr);
  CHECK(database.count_for(*model) == 0);
  REQUIRE(database.add({"k", {}}, {}, identity_of(*model), quick).ok());
  CHECK(database.find({"k", {}}, {}, *model) != nullptr);
  CHECK(database.count_for(*model) == 1);
}

TEST_CASE("what can't be is refused, and leaves the database as it was") {
  Database database;
  CHECK_FALSE(database.add_run({0, 0, "", "", false}).ok());
  CHECK_FALSE(database.add_run({5, 0, "new\nline", "", false}).ok());
  CHECK_FALSE(database.add({"k", {}}, {}, a100, quick).ok());  // its run isn't known
  REQUIRE(database.add_run(first).ok());
  const Database before = database;
  Sample bad = quick;
  bad.time.p90 = 0;
  CHECK_FALSE(database.add({"k", {}}, {}, a100, bad).ok());
  CHECK_FALSE(database.add({"", {}}, {}, a100, quick).ok());
  CHECK_FALSE(database.add({"caf\xc3\xa9", {}}, {}, a100, quick).ok());
  CHECK_FALSE(database.add({"k", {}}, {{0, 1, 1}, {1, 1, 1}, 0}, a100, quick).ok());
  CHECK_FALSE(database.add({"k", {}}, {}, {"", 8, 0, 1}, quick).ok());
  CHECK_FALSE(database.add({"k", {}}, {}, {"x", 8, 0, 0}, quick).ok());
  CHECK(database == before);
  DatabaseBuilder builder;
  REQUIRE(builder.add({"k", {}}, {}, a100, quick).ok());
  CHECK_FALSE(builder.build().ok());
}

TEST_CASE("a content hash survives its text, and nothing else is one") {
  const ContentHash hash = content_hash(std::string_view("ld.global.f32"));
  CHECK(hash.text().size() == 32);
  CHECK(parse_content_hash(hash.text()) == hash);
  CHECK(content_hash(std::string_view("")).text() == "99aa06d3014798d86001c324468d497f");  // the specification's value
  for (const char* bad : {"", "0", "99aa06d3014798d86001c324468d497", "99aa06d3014798d86001c324468d497fa",
                          "g9aa06d3014798d86001c324468d497f", "-9aa06d3014798d86001c324468d497f"}) {
    CHECK_FALSE(parse_content_hash(bad).has_value());
  }
}
