// The two reports as the command reads them, and what it says about them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/cli/report_print.h"
#include "tools/cli/report_read.h"

namespace tessera::cli {
namespace {

const std::string start = R"({"type":"start","pid":7,"schema_version":1,"command":"x","policy":"random:1","simulated":true})"
                          "\n";
const std::string kernel =
    R"({"type":"kernel","pid":7,"name":"_Z3addPKfPfi","launches":{"0":2,"1":3},"redirected":3,"reasons":{"unclear":2}})"
    "\n";
const std::string rest = R"({"type":"device","pid":7,"ordinal":0,"name":"NVIDIA A100","used":true})"
                         "\n"
                         R"({"type":"device","pid":7,"ordinal":1,"name":"NVIDIA L40S","used":true})"
                         "\n"
                         R"({"type":"moved","pid":7,"from":0,"to":1,"bytes":4096,"copies":2})"
                         "\n"
                         R"({"type":"something newer","pid":7})"
                         "\n"
                         R"({"type":"end","pid":7,"launches":5,"redirected":3,"bytes_moved":4096})"
                         "\n";

std::vector<report::Block> parsed(const std::string& text) {
  auto blocks = parse_report(text, "report");
  REQUIRE(blocks.ok());
  return *blocks;
}

}  // namespace

TEST_CASE("report: a block a process") {
  const auto blocks = parsed(start + kernel + rest + start + rest);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].launches == 5);
  CHECK(blocks[0].kernels.at(0).launches.at(1) == 3);
  CHECK(blocks[0].kernels.at(0).reasons.at("unclear") == 2);
  CHECK(blocks[0].moved.at(0).bytes == 4096);
  CHECK(blocks[1].kernels.empty());
  CHECK(parsed("").empty());
}

TEST_CASE("report: damage and newer versions are named by their line") {
  for (const std::string bad :
       {"{", "nonsense", "[]", "{\"type\":3}", R"({"type":"start"})", R"({"type":"start","pid":7,"schema_version":2})"}) {
    const auto blocks = parse_report(start + bad + "\n", "report");
    INFO(bad);
    REQUIRE_FALSE(blocks.ok());
    CHECK(blocks.error().message().find("report:2") != std::string::npos);
  }
}

TEST_CASE("report: the text names kernels readably, the JSON says the same") {
  RunReport run{parsed(start + kernel + rest), SimulatedRun{}, 3};
  const std::string text = text_of(run);
  CHECK(text.find("add ") != std::string::npos);
  CHECK(text.find("unclear (2)") != std::string::npos);
  CHECK(text.find("4.096 kB in 2 copies") != std::string::npos);
  const auto document = nlohmann::json::parse(json_of(run));
  CHECK(document.at("exit_status") == 3);
  CHECK(document.at("processes").at(0).at("kernels").at(0).at("launches").at("1") == 3);
  CHECK(text_of({}).find("did not use CUDA") != std::string::npos);
}

TEST_CASE("report: the simulated driver's figures") {
  const auto run = parse_simulated(
      R"({"makespan_s":0.5,"launches":2,"devices":[{"ordinal":0,"model":"L4","busy_s":{"compute":0.25},"kernels":2}]})", "sim");
  REQUIRE(run.ok());
  CHECK((*parse_simulated(R"({"makespan_s":0.5,"launches":2,"devices":[]})", "sim")).makespan_s == 0.5);
  CHECK_FALSE(parse_simulated("{}", "sim").ok());
  CHECK_FALSE(parse_simulated("", "sim").ok());
}

}  // namespace tessera::cli
