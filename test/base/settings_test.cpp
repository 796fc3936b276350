#include "profiles/base/settings.h"

#include <catch2/catch.hpp>
#include <map>

using tessera::Settings;

namespace {

Settings read(const std::map<std::string, std::string>& environment) {
  return Settings::read([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("an empty environment gives the defaults of the table and no problem") {
  const Settings settings = read({});
  CHECK(settings.problems.empty());
  CHECK(settings.policy == "home");
  CHECK(settings.sim_threads == 0);
}

TEST_CASE("a number that isn't one keeps the default and says so in one line") {
  for (const char* bad : {"x", "-1", "1x", "", "99999999999999999999999", "0x10", " 1"}) {
    const Settings settings = read({{"TESSERA_SIM_THREADS", bad}});
    CHECK(settings.sim_threads == 0);
    REQUIRE(settings.problems.size() == 1);
    CHECK(settings.problems[0].find("TESSERA_SIM_THREADS") != std::string::npos);
    CHECK(settings.problems[0].find('\n') == std::string::npos);
  }
}

TEST_CASE("every row is named after its variable and has a help sentence") {
  for (const auto& row : tessera::setting_rows()) {
    CHECK(row.variable.substr(0, 8) == "TESSERA_");
    CHECK(row.variable == std::string(row.variable.data()));
    CHECK(row.help.size() > 10);
    CHECK(row.help.back() == '.');
  }
}
