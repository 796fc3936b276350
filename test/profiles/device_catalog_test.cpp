#include "profiles/device_catalog.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tessera;

TEST_CASE("every model of the catalogue is complete and can be found by each of its names") {
  REQUIRE(all_devices().size() == 16);
  for (const DeviceModel& model : all_devices()) {
    INFO(model.name);
    CHECK(find_device(model.name).value() == &model);
    CHECK(find_device(model.cuda_name).value() == &model);
    for (const auto& alias : model.aliases) CHECK(find_device(alias).value() == &model);
    CHECK(model.memory_bytes > 8'000'000'000u);
    CHECK(model.shared_per_block_optin >= model.shared_per_block);
    CHECK(model.shared_per_sm >= model.shared_per_block_optin);
    CHECK(model.pcie_byte_per_s > 0);
    CHECK(model.launch_latency_s > 0);
    CHECK_FALSE(model.sources.empty());
  }
}

TEST_CASE("case and punctuation of a name don't count") {
  CHECK(find_device("A100").value() == find_device("a-100").value());
  CHECK(find_device("rtx pro 6000").value() == find_device("RTXPRO6000").value());
  CHECK(find_device("nvidia l40s").value() == find_device("L40S").value());
}

TEST_CASE("an unknown name says which names are near") {
  const auto result = find_device("l40z");
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().message().find("L40S") != std::string::npos);
  CHECK_FALSE(find_device("").ok());
}

TEST_CASE("a list keeps its order, and repeats are allowed") {
  const auto list = parse_device_list("a100, l40s,a100");
  REQUIRE(list.ok());
  REQUIRE(list->size() == 3);
  CHECK((*list)[0] == (*list)[2]);
  CHECK((*list)[1]->name == "L40S");
  CHECK_FALSE(parse_device_list("").ok());
  CHECK_FALSE(parse_device_list("a100,").ok());
  CHECK_FALSE(parse_device_list("a100,,l40s").ok());
}

TEST_CASE("a damaged device file is refused with its name") {
  for (const char* bad : {"", "{", "[]", "{}", "{\"schema_version\":2}", "{\"schema_version\":1,\"name\":\"x\"}",
                          "{\"schema_version\":1,\"name\":\"x\",\"figures\":{}}", "{\"schema_version\":1,\"name\":3,\"figures\":{}}"}) {
    const auto result = parse_device_model(bad, "some.json");
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message().find("some.json") != std::string::npos);
  }
}
