// Constant expressions against the compiler's own arithmetic.
#include "placement/ptx/constant.h"

#include <bit>
#include <catch2/catch.hpp>

namespace tessera::ptx {
namespace {

Constant value_of(const std::string& text) {
  const std::string buffer = padded(text + ";");
  Cursor cursor{buffer.data()};
  Constant result;
  std::string error;
  INFO(text);
  REQUIRE(parse_constant(cursor, Binding::conditional, result, error));
  REQUIRE(*cursor.at == ';');
  return result;
}

std::string error_of(const std::string& text) {
  const std::string buffer = padded(text + ";");
  Cursor cursor{buffer.data()};
  Constant result;
  std::string error;
  const bool read = parse_constant(cursor, Binding::conditional, result, error);
  return read ? "" : error;
}

#define CHECK_INTEGER(expression) CHECK(value_of(#expression).bits == static_cast<std::uint64_t>(static_cast<std::int64_t>(expression)))

TEST_CASE("integers as in C") {
  CHECK_INTEGER(0);
  CHECK_INTEGER(42);
  CHECK_INTEGER(0x7fffFFFF);
  CHECK_INTEGER(0b1011);
  CHECK_INTEGER(0377);
  CHECK_INTEGER(-5);
  CHECK_INTEGER(- -5);
  CHECK_INTEGER(~0);
  CHECK_INTEGER(!3);
  CHECK_INTEGER(1 + 2 * 3 - 4 / 2 % 3);
  CHECK_INTEGER((1 + 2) * (3 - 4));
  CHECK_INTEGER(1 << 4 | 3 & 2 ^ 7);
  CHECK_INTEGER(-16 >> 2);
  CHECK_INTEGER(3 < 4 && 4 <= 4 || 0);
  CHECK_INTEGER(5 > 6 ? 1 : 7 >= 7 ? 2 : 3);
  CHECK_INTEGER(1 == 1 != 0);
  CHECK(value_of("WARP_SZ * 2").bits == 64);
  CHECK(value_of("5U").type == Type::u64);
  CHECK(value_of("18446744073709551615").bits == ~std::uint64_t{0});
  CHECK(value_of("18446744073709551615").type == Type::u64);
  CHECK(value_of("-1 / 2U").bits == ~std::uint64_t{0} / 2);
  CHECK(value_of("(.u64)-1 > 1").bits == 1);
  CHECK(value_of("(.s64)0xFFFFFFFFFFFFFFFF").type == Type::s64);
  CHECK(value_of("1 << 64").bits == 0);
  CHECK(value_of("-1 >> 100").bits == ~std::uint64_t{0});
  CHECK(value_of("(.s64)0x8000000000000000 / -1").bits == std::uint64_t{1} << 63U);
}

TEST_CASE("floating-point numbers by value and by bits") {
  CHECK(value_of("0f3F800000").real() == 1.0);
  CHECK(value_of("0f3F800000").type == Type::f32);
  CHECK(value_of("0D4000000000000000").real() == 2.0);
  CHECK(value_of("1.").real() == 1.0);
  CHECK(value_of("2.5e-3").real() == 2.5e-3);
  CHECK(value_of("7e2").real() == 700.0);
  CHECK(value_of("-1.5").real() == -1.5);
  CHECK(value_of("-0f80000000").bits == 0);
  CHECK(value_of("0f7FC00001").bits == 0x7FC00001);
  CHECK(value_of("1.5 + 2").real() == 3.5);
  CHECK(value_of("1.5 < 2 ? 4 : 5").bits == 4);
}

TEST_CASE("what isn't a constant says what is missing") {
  CHECK(error_of("") == "a number");
  CHECK(error_of("x") == "a number");
  CHECK(error_of("1 +") == "a number");
  CHECK(error_of("(1") == "')'");
  CHECK(error_of("1 ? 2") == "':'");
  CHECK(error_of("1 / 0") == "a divisor other than 0");
  CHECK(error_of("1 % (2 - 2)") == "a divisor other than 0");
  CHECK(error_of("0x") == "a digit");
  CHECK(error_of("08") == "the end of the number");
  CHECK(error_of("5u") == "the end of the number");
  CHECK(error_of("0f123") == "8 hexadecimal digits behind 0f");
  CHECK(error_of("0f123456789") == "the end of the number");
  CHECK(error_of("1.5 << 2") == "integers on both sides of the operator");
  CHECK(error_of("18446744073709551616") == "an integer of at most 64 bits");
  CHECK(error_of(std::string(100, '(') + "1") == "an expression nested less deeply");
  CHECK(error_of(std::string(100'000, '-') + "1") == "an expression nested less deeply");
}

}  // namespace
}  // namespace tessera::ptx
