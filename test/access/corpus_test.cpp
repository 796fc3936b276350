// Every real kernel at hand gets an answer, and every refusal says where and why.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "placement/access/pointer_flow.h"
#include "placement/ptx/parse.h"

using namespace tessera;

TEST_CASE("the corpus: each entry is analysed, each refusal names a line and a reason") {
  const char* override_folder = std::getenv("TESSERA_CORPUS");
  const std::filesystem::path folder = override_folder != nullptr ? override_folder : TESSERA_CORPUS_DIR;
  if (!std::filesystem::exists(folder)) {
    WARN("SKIPPED: no corpus at " << folder << " (set TESSERA_CORPUS)");
    return;
  }
  std::size_t entries = 0, understood = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const ptx::Module module = ptx::parse(text);
    for (const ptx::Function& f : module.functions) {
      if (!f.is_entry || !f.has_body) continue;
      ++entries;
      const access::KernelAccess k = access::analyse(module, f);
      if (k.understood()) {
        ++understood;
        continue;
      }
      INFO(file.path() << " " << module.name_of(f));
      CHECK(k.line > 0);
      CHECK_FALSE(k.reason.empty());
      CHECK(k.accesses.empty());
    }
  }
  CHECK(entries > 100);
  CHECK(understood * 2 > entries);
  std::cout << "corpus: " << understood << " of " << entries << " kernels understood\n";
}
