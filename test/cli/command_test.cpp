// The real command, as a user gets it wrong: one clear line on stderr, nothing on stdout, and the documented status.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/programs/process.h"

using namespace tessera::test;

namespace {

Outcome invoke(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TESSERA_COMMAND);
  return run_process(arguments, {});
}

std::string file_with(const std::string& name, const std::string& bytes) {
  const std::string path = temporary_file(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

void check_refused(const std::vector<std::string>& arguments, int status, const std::string& names) {
  const Outcome outcome = invoke(arguments);
  std::string shown;
  for (const auto& a : arguments) shown += a + " ";
  INFO("tessera " << shown << "\n" << outcome.err);
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.rfind("tessera: ", 0) == 0);
  CHECK(outcome.err.find(names) != std::string::npos);
}

const char* const good_database = R"({"format":"tessera-profile","schema_version":1,"runs":{},"devices":{},"kernels":{},"records":[]})";
const char* const small_ptx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, "
    "[p];\nst.global.u64 [%rd1], 0;\nret;\n}\n";

}  // namespace

TEST_CASE("command: a wrong flag, verb or argument is usage") {
  check_refused({"--wrong"}, 2, "--wrong");
  check_refused({"rnu"}, 2, "'run'");
  check_refused({"inspekt"}, 2, "'inspect'");
  check_refused({"quux"}, 2, "quux");
  check_refused({}, 2, "no command");
  check_refused({"help", "foo"}, 2, "'foo'");
  check_refused({"help", "run", "foo"}, 2, "'run foo'");
  check_refused({"devices", "--wrong"}, 2, "--wrong");
  check_refused({"inspect"}, 2, "FILE");
  check_refused({"run", "--wrong", "--", "true"}, 125, "--wrong");
  check_refused({"run", "--report", "xml", "--", "true"}, 125, "xml");
  check_refused({"run", "--sim", "a100"}, 125, "--");
}

TEST_CASE("command: run refuses before the program starts") {
  const std::string started = temporary_file("started");
  const std::vector<std::string> program = {"--", "touch", started};
  const auto run = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), program.begin(), program.end());
    return options;
  };
  check_refused(run({"--sim", "a101"}), 125, "a101");
  check_refused(run({"--sim", ""}), 125, "a100,l40s");
  check_refused(run({"--sim", "a100,l40s", "--home", "9"}), 125, "9");
  check_refused(run({"--sim", "a100", "--policy", "quickest"}), 125, "quickest");
  check_refused(run({"--sim", "a100,l40s", "--policy", "7"}), 125, "7");
  check_refused(run({"--sim", "a100", "--order", "sideways"}), 125, "sideways");
  check_refused(run({"--races"}), 125, "--sim");
  check_refused(run({"--order", "3"}), 125, "--sim");
  check_refused(run({"--sim", "a100", "--profile", "/nonexistent.json"}), 125, "/nonexistent.json");
  check_refused(run({"--sim", "a100", "-o", "/nonexistent/report"}), 125, "/nonexistent/report");
  CHECK_FALSE(std::ifstream(started).good());
}

TEST_CASE("command: a damaged database is named with the place of the damage") {
  const std::string good = good_database;
  const std::vector<std::pair<std::string, std::string>> databases = {
      {"empty.json", ""},
      {"truncated.json", good.substr(0, good.size() / 2)},
      {"newer.json", R"({"format":"tessera-profile","schema_version":99,"runs":{},"devices":{},"kernels":{},"records":[]})"},
      {"nan.json", R"({"format":"tessera-profile","schema_version":NaN})"},
      {"deep.json", std::string(100000, '[')},
      {"gzip.json", std::string("\x1f\x8b\x08\x00\x00\x00", 6)},
  };
  for (const auto& [name, bytes] : databases)
    check_refused({"run", "--sim", "a100", "--profile", file_with(name, bytes), "--", "true"}, 125, name);
}

TEST_CASE("command: a program that isn't there or can't be executed is what it is in a shell") {
  check_refused({"run", "--sim", "a100", "--", "/nonexistent/program"}, 127, "/nonexistent/program");
  check_refused({"run", "--sim", "a100", "--", "no-such-program-anywhere"}, 127, "no-such-program-anywhere");
  const std::string script = file_with("script", "#!/nonexistent/interpreter\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  check_refused({"run", "--sim", "a100", "--", script}, 127, "interpreter");
  check_refused({"run", "--sim", "a100", "--", file_with("not-executable", "x")}, 126, "not-executable");
}

TEST_CASE("command: the program's status, output and arguments pass through") {
  const Outcome said =
      invoke({"run", "--sim", "a100", "--", "sh", "-c", "printf '%s' \"$1\"; printf err >&2; exit 7", "sh", "a b --sim x"});
  CHECK(said.status == 7);
  CHECK(said.out == "a b --sim x");
  CHECK(said.err.rfind("err", 0) == 0);
  CHECK(invoke({"run", "--sim", "a100", "--", "sh", "-c", "kill -TERM $$"}).status == 128 + 15);
  CHECK(invoke({"run", "--sim", "a100", "-q", "--", "true"}).err.empty());
  const Outcome nested =
      invoke({"run", "--sim", "a100", "-q", "--", TESSERA_COMMAND, "run", "--sim", "a100", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"});
  CHECK(nested.status == 0);
  CHECK(std::count(nested.out.begin(), nested.out.end(), ':') == 0);
}

TEST_CASE("command: the report goes where -o says, and a temporary folder that isn't there is named") {
  const std::string report = temporary_file("report.json");
  const Outcome outcome = invoke({"run", "--sim", "a100", "--report", "json", "-o", report, "--", "true"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(nlohmann::json::parse(read_file(report)).at("schema_version") == 1);
  const Outcome lost = run_process({TESSERA_COMMAND, "run", "--sim", "a100", "--", "true"}, {{"TMPDIR", "/nonexistent"}});
  CHECK(lost.status == 125);
  CHECK(lost.err.find("TMPDIR") != std::string::npos);
}

TEST_CASE("command: --home keeps hidden what CUDA_VISIBLE_DEVICES hides") {
  const auto with = [](const std::string& visible, const std::string& home) {
    return run_process(
        {TESSERA_COMMAND, "run", "-q", "--sim", "a100,l40s,h100", "--home", home, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"},
        {{"CUDA_VISIBLE_DEVICES", visible}});
  };
  CHECK(with("2,0", "1").out == "0,2\n");
  CHECK(with("1,7,0", "0").out == "1\n");
  CHECK(with("1,7,0", "1").status == 125);
  CHECK(with("-1", "0").status == 125);
  CHECK(with("", "0").status == 125);
}

TEST_CASE("command: inspect says what is wrong with a file") {
  check_refused({"inspect", "/nonexistent.ptx"}, 4, "/nonexistent.ptx");
  check_refused({"inspect", "/"}, 4, "directory");
  check_refused({"inspect", file_with("empty.ptx", "")}, 3, "empty");
  check_refused({"inspect", file_with("garbage", std::string(5000, '\x7b'))}, 3, "garbage");
  check_refused({"inspect", TESSERA_COMMAND}, 3, "without device code");
  check_refused({"inspect", file_with("truncated.fatbin", std::string("\x50\xed\x55\xba\x01\x00\x10\x00", 8))}, 3, "truncated");
  check_refused({"inspect", "--kernel", "nothing", file_with("small.ptx", small_ptx)}, 4, "nothing");
}

TEST_CASE("command: inspect shows kernels, and a bad statement costs its kernel alone") {
  const Outcome text = invoke({"inspect", file_with("good.ptx", small_ptx)});
  CHECK(text.status == 0);
  CHECK(text.err.empty());
  CHECK(text.out.find("pointer, written") != std::string::npos);

  const Outcome json =
      invoke({"inspect", "--json", file_with("bad.ptx", std::string(small_ptx) + ".visible .entry b()\n{\nadd.s32 ((;\nret;\n}\n")});
  CHECK(json.status == 3);
  const auto document = nlohmann::json::parse(json.out);
  CHECK(document.at("schema_version") == 1);
  const auto& image = document.at("images").at(0);
  REQUIRE(image.at("kernels").size() == 2);
  CHECK(image.at("kernels").at(0).at("understood") == true);
  CHECK(image.at("kernels").at(0).at("pointers").at(0).at("written") == true);
  CHECK(image.at("kernels").at(1).at("understood") == false);
  CHECK(image.at("problems").at(0).get<std::string>().find("line 13") != std::string::npos);
}

TEST_CASE("command: devices as a table and as JSON, estimated figures marked") {
  const Outcome text = invoke({"devices"});
  CHECK(text.status == 0);
  CHECK(text.out.find("L40S") != std::string::npos);
  CHECK(text.out.find("~") != std::string::npos);
  const auto document = nlohmann::json::parse(invoke({"devices", "--json"}).out);
  CHECK(document.at("devices").size() == 16);
  for (const auto& device : document.at("devices")) {
    for (const char* figure : {"sm_count", "memory_size_byte", "memory_bandwidth_byte_per_s"}) CHECK(device.at(figure) > 0);
  }
}

TEST_CASE("command: help and version") {
  CHECK(invoke({"--version"}).out.rfind("tessera ", 0) == 0);
  for (const char* verb : {"run", "inspect", "devices", "help"}) {
    const Outcome help = invoke({verb, "--help"});
    INFO(verb);
    CHECK(help.status == 0);
    CHECK(help.out.find("--help") != std::string::npos);
    if (std::string(verb) != "help") CHECK(invoke({"help", verb}).out == help.out);
  }
}
