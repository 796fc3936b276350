// Single-instruction kernels whose inputs and expected outputs are public facts: ../shared/corpus/zluda-cases.json.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

// What isn't simulated yet, and must say so by name: case → what the message must contain.
const std::map<std::string, std::string> unsupported{{"atom_add", "32-bit addresses"}, {"shared_variable", "32-bit addresses"}};

std::string corpus() {
  const char* given = std::getenv("TESSERA_CORPUS");
  return given != nullptr ? given : TESSERA_CORPUS_DEFAULT;
}

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

template <typename T>
bool close(const std::uint8_t* got, const std::uint8_t* wanted) {
  T a, b;
  std::memcpy(&a, got, sizeof a);
  std::memcpy(&b, wanted, sizeof b);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= T(1e-3) * std::abs(b);
}

// Equal bytes; floats to 1e-3 relative, as the cases say.
bool same(const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& wanted, const std::string& type) {
  const std::size_t step = type == "f32" ? 4 : type == "f64" ? 8 : 1;
  for (std::size_t i = 0; i + step <= wanted.size(); i += step) {
    const bool fine = step == 4 ? close<float>(&got[i], &wanted[i]) : step == 8 ? close<double>(&got[i], &wanted[i]) : got[i] == wanted[i];
    if (!fine) return false;
  }
  return true;
}

std::string hex_of(const std::vector<std::uint8_t>& bytes) {
  std::string s;
  for (const std::uint8_t b : bytes) s += fmt::format("{:02x}", b);
  return s;
}

// Empty: as expected.
std::string run_case(const std::string& text, const nlohmann::json& expected) {
  auto parsed = std::make_shared<ptx::Module>(ptx::parse(text));
  if (!parsed->diagnostics.empty()) return fmt::format("line {}: {}", parsed->diagnostics[0].place.line, parsed->diagnostics[0].message);
  Machine machine;
  auto module = load(parsed, machine.device());
  if (!module.ok()) return module.error().message();
  const std::vector<std::uint8_t> in = bytes_of(expected["in"]), out = bytes_of(expected["out"]);
  std::vector<std::uint8_t> room(out.size());
  const std::uint64_t from = machine.put(in), to = machine.put(room);
  const auto& kernel = (*module)->kernels().at(0);
  const LaunchOutcome outcome = launch(*kernel, {1, 1, 1}, {1, 1, 1}, Params().add(from).add(to), 4096);
  if (outcome.refused) return outcome.refused->message();
  if (outcome.fault) return outcome.fault->text();
  const auto got = machine.get<std::uint8_t>(to, out.size());
  return same(got, out, expected["out_type"]) ? "" : fmt::format("got {}, expected {}", hex_of(got), hex_of(out));
}

TEST_CASE("public single-instruction cases give their public results") {
  std::ifstream file(corpus() + "/zluda-cases.json");
  if (!file) {
    WARN("SKIPPED: no " << corpus() << "/zluda-cases.json (set TESSERA_CORPUS)");
    return;
  }
  const auto all = nlohmann::json::parse(file);
  unsigned passed = 0;
  for (const auto& [name, expected] : all["cases"].items()) {
    const std::string path = corpus() + "/vosen+ZLUDA/ptx__src__test__spirv_run__" + name + ".ptx";
    std::string text = text_of(path);
    if (text.empty()) text = text_of(corpus() + "/vosen+ZLUDA/ptx__src__test__spirv_run__32__" + name + ".ptx");
    if (text.empty()) {
      WARN("no PTX for case " << name << " at " << path);
      continue;
    }
    const std::string problem = run_case(text, expected);
    const auto listed = unsupported.find(name);
    INFO(name << ": " << problem);
    if (listed == unsupported.end()) {
      CHECK(problem.empty());
      passed += problem.empty() ? 1 : 0;
    } else {
      CHECK(problem.find(listed->second) != std::string::npos);
    }
  }
  fmt::print("{} of {} cases pass, {} are listed as unsupported\n", passed, all["cases"].size(), unsupported.size());
}

}  // namespace
}  // namespace tessera::simgpu
