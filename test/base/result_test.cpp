#include "profiles/base/result.h"

#include <catch2/catch.hpp>

using namespace tessera;

namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{ErrorCode::bad_data, "odd number", "line 1", "give an even one"};
  return n / 2;
}
Result<int> quarter(int n) {
  TRY(once, half(n));
  TRY(twice, half(once));
  return twice;
}

}  // namespace

TEST_CASE("TRY passes values on and returns the first error") {
  CHECK(quarter(12).value() == 3);
  REQUIRE_FALSE(quarter(6).ok());
  CHECK(quarter(6).error().message() == "odd number (line 1): give an even one");
}
