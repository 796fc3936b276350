// The tables: texts and enumerators are two names of one thing.
#include "placement/ptx/tables.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace tessera::ptx {
namespace {

TEST_CASE("each opcode is found by its text") {
  std::set<std::string_view> texts;
  for (unsigned i = 0; i < static_cast<unsigned>(Opcode::unknown); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    CHECK(find_opcode(row_of(opcode).text) == opcode);
    CHECK(texts.insert(row_of(opcode).text).second);
  }
  CHECK(find_opcode("") == Opcode::unknown);
  CHECK(find_opcode("addx") == Opcode::unknown);
  CHECK(row_of(Opcode::unknown).memory == MemoryEffect::unknown);
}

TEST_CASE("each modifier is found by its text") {
  std::set<std::string_view> texts;
  for (unsigned i = 0; i < static_cast<unsigned>(Modifier::first_unknown); ++i) {
    const auto modifier = static_cast<Modifier>(i);
    CHECK(find_modifier(text_of_known(modifier)) == modifier);
    CHECK(texts.insert(text_of_known(modifier)).second);
  }
  CHECK_FALSE(find_modifier("").has_value());
  CHECK_FALSE(find_modifier("shared::").has_value());
}

TEST_CASE("each type and each state space is a modifier that means it") {
  for (unsigned i = 0; i < static_cast<unsigned>(Type::none); ++i) {
    const auto type = static_cast<Type>(i);
    INFO(text_of(type));
    CHECK(find_type(text_of(type)) == type);
    CHECK(bytes_of(type) > 0);
    const auto modifier = find_modifier(text_of(type));
    REQUIRE(modifier.has_value());
    CHECK(type_of_modifier(*modifier) == type);
  }
  for (Space space : {Space::const_, Space::global, Space::local, Space::param, Space::shared, Space::shared_cta, Space::shared_cluster,
                      Space::param_entry, Space::param_func}) {
    const auto modifier = find_modifier(text_of(space));
    REQUIRE(modifier.has_value());
    CHECK(space_of_modifier(*modifier) == space);
  }
  CHECK(find_type("f33") == Type::none);
  CHECK(type_of_modifier(Modifier::first_unknown) == Type::none);
}

TEST_CASE("each special register is found by its text") {
  for (unsigned i = 0; i < static_cast<unsigned>(SpecialReg::unknown); ++i) {
    const auto reg = static_cast<SpecialReg>(i);
    CHECK(find_special_reg(text_of(reg)) == reg);
    CHECK((components_of(reg) == 1 || components_of(reg) == 4));
    CHECK(bits_of(reg) <= 64);
  }
  CHECK(find_special_reg("%tidy") == SpecialReg::unknown);
}

}  // namespace
}  // namespace tessera::ptx
