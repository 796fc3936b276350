// Real PTX: every kernel of the corpus decodes, or names the instruction that isn't simulated.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "test/simgpu/machine.h"

namespace tessera::simgpu {
namespace {

TEST_CASE("kernels of real programs decode, or say what is missing") {
  const char* given = std::getenv("TESSERA_CORPUS");
  const std::filesystem::path corpus = given != nullptr ? given : TESSERA_CORPUS_DEFAULT;
  if (!std::filesystem::is_directory(corpus)) {
    WARN("SKIPPED: no corpus at " << corpus << " (set TESSERA_CORPUS)");
    return;
  }
  unsigned kernels = 0, decoded = 0;
  std::map<std::string, unsigned> missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    Machine machine;
    const auto module = load(std::make_shared<ptx::Module>(ptx::parse(text.str())), machine.device());
    if (!module.ok()) {
      ++missing["load: " + module.error().what];
      continue;
    }
    for (const auto& kernel : (*module)->kernels()) {
      ++kernels;
      const auto program = kernel->program();
      if (program.ok()) {
        ++decoded;
        continue;
      }
      INFO(entry.path() << ": " << program.error().message());
      CHECK_FALSE(program.error().what.empty());
      CHECK(program.error().where.find("line") != std::string::npos);
      ++missing[program.error().what];
    }
  }
  fmt::print("{} of {} kernels of the corpus decode\n", decoded, kernels);
  for (const auto& [what, count] : missing) fmt::print("  {:4} {}\n", count, what);
  CHECK(decoded * 10 >= kernels * 7);
}

}  // namespace
}  // namespace tessera::simgpu
