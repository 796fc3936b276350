#include "placement/policy/choose.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tessera;
using namespace tessera::policy;

namespace {

const DeviceModel* model(const char* name) { return find_device(name).value(); }
std::vector<Candidate> a100_and_l40s() { return {{0, model("a100")}, {1, model("l40s")}}; }
LaunchQuestion question(const WorkEstimate* work, std::uint64_t number = 0) {
  LaunchQuestion q{KernelKeyView("k", ContentHash{1, 2}), {}, work, number, 0};
  q.shape.grid = {1000, 1, 1};
  q.shape.block = {256, 1, 1};
  return q;
}

}  // namespace

TEST_CASE("policies are read strictly, and a wrong one says what is allowed") {
  CHECK(parse_policy("home").value() == Policy{});
  CHECK(parse_policy("fastest")->kind == PolicyKind::fastest);
  CHECK(parse_policy("random:7").value() == Policy{PolicyKind::random, 7, 0});
  CHECK(parse_policy("1").value() == Policy{PolicyKind::device, 0, 1});
  for (const char* bad : {"", "Home", "random", "random:", "random:x", "random:-1", "-1", "1x", "fastest ", "0x1", "99999999999"}) {
    const auto result = parse_policy(bad);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message().find("random:SEED") != std::string::npos);
  }
}

TEST_CASE("fastest follows the roofline: arithmetic to the L40S, bandwidth to the A100") {
  WorkEstimate arithmetic, streaming;
  arithmetic.fp32 = 1e12;
  streaming.global_read = 1e10;
  const auto candidates = a100_and_l40s();
  const Policy fastest{PolicyKind::fastest, 0, 0};
  CHECK(choose(fastest, question(&arithmetic), candidates, nullptr).ordinal == 1);
  CHECK(choose(fastest, question(&streaming), candidates, nullptr).ordinal == 0);
  CHECK(choose(fastest, question(&arithmetic), candidates, nullptr).predicted);
  CHECK(choose(fastest, question(nullptr), candidates, nullptr).ordinal == 0);
}

TEST_CASE("the database overrules the prediction") {
  WorkEstimate arithmetic;
  arithmetic.fp32 = 1e12;
  Database database;
  REQUIRE(database.add_run({1, 0, "test", "test", true}).ok());
  const auto candidates = a100_and_l40s();
  const LaunchQuestion q = question(&arithmetic);
  for (const Candidate& c : candidates) {
    const double seconds[] = {c.ordinal == 0 ? 1e-6 : 1e-3};
    const Distribution d = distribution_of(seconds).value();
    REQUIRE(database.add({"k", {1, 2}}, q.shape, identity_of(*c.model), {1, d, {}}).ok());
  }
  const Choice choice = choose({PolicyKind::fastest, 0, 0}, q, candidates, &database);
  CHECK(choice.ordinal == 0);
  CHECK_FALSE(choice.predicted);
}

TEST_CASE("random depends on seed and launch number only, and reaches every GPU") {
  const auto candidates = a100_and_l40s();
  std::set<unsigned> seen;
  for (std::uint64_t n = 0; n < 64; ++n) {
    const auto q = question(nullptr, n);
    const unsigned once = choose({PolicyKind::random, 3, 0}, q, candidates, nullptr).ordinal;
    CHECK(choose({PolicyKind::random, 3, 0}, q, candidates, nullptr).ordinal == once);
    seen.insert(once);
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("a GPU that isn't a candidate leaves the launch home") {
  CHECK(choose({PolicyKind::device, 0, 5}, question(nullptr), a100_and_l40s(), nullptr).ordinal == 0);
  CHECK(choose({PolicyKind::device, 0, 1}, question(nullptr), a100_and_l40s(), nullptr).ordinal == 1);
}
