#include "interpose/report/json_line.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

using namespace tessera::report;

TEST_CASE("any bytes become a JSON string, and UTF-8 comes back as it was", "[report]") {
  for (const std::string text : {"", "plain", "quote \" and \\", "line\nbreak\ttab",
                                 "gr\xc3\xb6\xc3\x9f"
                                 "e",
                                 "\xf0\x9f\x98\x80"}) {
    REQUIRE(nlohmann::json::parse(json_string(text)) == text);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() % 128 : 128 + random() % 128);
    INFO(i);
    REQUIRE(nlohmann::json::accept(json_string(text)));
  }
}

TEST_CASE("lines are objects", "[report]") {
  const std::string text =
      JsonLine().add("a", std::uint64_t{18446744073709551615U}).add("b", "x").add_flag("c", true).add_json("d", "{}").text();
  REQUIRE(nlohmann::json::parse(text) ==
          nlohmann::json({{"a", 18446744073709551615U}, {"b", "x"}, {"c", true}, {"d", nlohmann::json::object()}}));
}
