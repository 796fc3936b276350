// The vendor's assembler as judge of the printer: what we print assembles to the same bytes as what we read.
// Needs the toolkit's ptxas (found at configuration); without it, and for texts that it refuses, there is nothing to compare.
#include <fmt/core.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"
#include "test/ptx/texts.h"

namespace tessera::ptx {
namespace {

class Assembler {
 public:
  Assembler() : folder_(std::filesystem::temp_directory_path() / fmt::format("tessera-assemble-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Assembler() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  // The cubin, or empty when the text is refused.
  [[nodiscard]] std::string cubin_of(const std::string& text, const std::string& arch) const {
    const auto source = folder_ / "text.ptx";
    const auto result = folder_ / "text.cubin";
    std::filesystem::remove(result);
    std::ofstream{source, std::ios::binary} << text;
    const std::string command =
        fmt::format("'{}' -arch={} -o '{}' '{}' >/dev/null 2>&1", TESSERA_PTXAS, arch, result.string(), source.string());
    return std::system(command.c_str()) == 0 ? read_text(result) : std::string{};
  }

 private:
  std::filesystem::path folder_;
};

// The text's own architecture, or the oldest that today's assembler knows.
std::string arch_of(const Module& module) {
  constexpr unsigned oldest = 75;
  return module.sm() < oldest ? fmt::format("sm_{}", oldest) : module.targets.front();
}

TEST_CASE("what is printed assembles to the same bytes") {
  if (!std::filesystem::exists(TESSERA_PTXAS)) {
    WARN("no ptxas at " << TESSERA_PTXAS << ": SKIPPED");
    return;
  }
  constexpr std::size_t longest = 30'000;  // keeps this to seconds
  auto files = texts_below(corpus_folder());
  const auto cases = case_texts();
  files.insert(files.end(), cases.begin(), cases.end());
  const Assembler assembler;
  std::size_t compared = 0;
  for (const TextFile& file : files) {
    if (file.text.size() > longest) continue;
    const Module module = parse(file.text);
    // Texts of functions alone, and debug sections, carry hashes of the text itself into the result.
    const bool has_entry = std::any_of(module.functions.begin(), module.functions.end(), [](const Function& f) { return f.is_entry; });
    if (!module.diagnostics.empty() || !module.passthrough.empty() || !has_entry) continue;
    const std::string expected = assembler.cubin_of(file.text, arch_of(module));
    if (expected.empty()) continue;
    INFO(file.path.string());
    const std::string printed = print(module);
    INFO(printed);
    CHECK((assembler.cubin_of(printed, arch_of(module)) == expected));
    ++compared;
  }
  CHECK(compared >= 2);
  WARN(fmt::format("{} texts assembled twice", compared));
}

TEST_CASE("what the assembler accepts of damaged texts, we accept") {
  if (!std::filesystem::exists(TESSERA_PTXAS)) {
    WARN("no ptxas at " << TESSERA_PTXAS << ": SKIPPED");
    return;
  }
  const Assembler assembler;
  const std::string text = read_text(std::filesystem::path{TESSERA_CASES} / "saxpy.ptx");
  const std::string arch = arch_of(parse(text));
  for (std::size_t line_begin = 0; line_begin < text.size();) {  // leave out one line at a time
    const std::size_t line_end = std::min(text.find('\n', line_begin), text.size() - 1) + 1;
    const std::string damaged = text.substr(0, line_begin) + text.substr(line_end);
    if (!assembler.cubin_of(damaged, arch).empty()) {
      INFO(damaged);
      CHECK(parse(damaged).diagnostics.empty());
    }
    line_begin = line_end;
  }
}

}  // namespace
}  // namespace tessera::ptx
