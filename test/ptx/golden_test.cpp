// Each file of test/cases/ptx says in comments what reading it must report:
//   // expect LINE:COLUMN MESSAGE [FUNCTION]
// one line a diagnostic, in order. A file without such lines must be read cleanly, and survive printing.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <string_view>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"
#include "test/ptx/texts.h"

namespace tessera::ptx {
namespace {

std::vector<std::string> expectations_of(std::string_view text) {
  constexpr std::string_view mark = "// expect ";
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.substr(0, mark.size()) == mark) found.emplace_back(line.substr(mark.size()));
    at = end + 1;
  }
  return found;
}

std::vector<std::string> reports_of(const Module& module) {
  std::vector<std::string> found;
  for (const Diagnostic& d : module.diagnostics) {
    found.push_back(fmt::format("{}:{} {} [{}]", d.place.line, d.place.column, d.message, d.function));
  }
  return found;
}

TEST_CASE("each golden file reports what it says") {
  const auto files = case_texts();
  REQUIRE(files.size() > 8);
  for (const TextFile& file : files) {
    INFO(file.path.string());
    const Module module = parse(file.text);
    CHECK(reports_of(module) == expectations_of(file.text));
    CHECK(check(module).empty());
    for (const Diagnostic& d : module.diagnostics) {
      const bool costs = std::any_of(module.functions.begin(), module.functions.end(),
                                     [&](const Function& f) { return f.broken && module.name_of(f) == d.function; });
      CHECK((costs || d.function.empty()));
    }
    for (const Function& f : module.functions) {
      const bool reported = std::any_of(module.diagnostics.begin(), module.diagnostics.end(),
                                        [&](const Diagnostic& d) { return d.function == module.name_of(f); });
      if (f.broken) CHECK(reported);
      CHECK(check_cfg(build_cfg(module, f), f).empty());
    }
  }
}

TEST_CASE("each clean golden file survives printing") {
  for (const TextFile& file : case_texts()) {
    const Module module = parse(file.text);
    if (!module.diagnostics.empty()) continue;
    INFO(file.path.string());
    const std::string printed = print(module);
    const Module again = parse(printed);
    CHECK(reports_of(again).empty());
    std::string difference;
    CHECK(same(module, again, &difference));
    CHECK(difference.empty());
    CHECK(print(again) == printed);
  }
}

}  // namespace
}  // namespace tessera::ptx
