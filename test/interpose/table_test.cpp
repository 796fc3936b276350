// The tables against the toolkit's headers: nothing is in neither, nothing in both.
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

const std::set<std::string> hooked = {
#define TESSERA_HOOK(symbol, stem, since, variant) #symbol,
#include "interpose/hooks.def"
#undef TESSERA_HOOK
};
const std::set<std::string> hooked_stems = {
#define TESSERA_HOOK(symbol, stem, since, variant) #stem,
#include "interpose/hooks.def"
#undef TESSERA_HOOK
};

struct Pass {
  const char *symbol, *reason;
};
const Pass passes[] = {
#define TESSERA_PASS(symbol, reason) {#symbol, #reason},
#include "interpose/passthrough.def"
};
const std::set<std::string> reasons = {
#define TESSERA_PASS_REASON(reason, sentence) #reason,
#include "interpose/passthrough.def"
};

std::string header(const char* name) {
  std::ifstream file(std::string(TESSERA_CUDA_INCLUDE) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Names that stand behind `before`, up to the first character that can't be in a name.
std::set<std::string> names_behind(const std::string& text, const std::string& before, const std::string& start) {
  std::set<std::string> names;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    std::size_t begin = text.find_first_not_of(" \n", at + before.size());
    if (text.compare(begin, start.size(), start) != 0) continue;
    std::size_t end = begin;
    while (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_') ++end;
    names.insert(text.substr(begin, end - begin));
  }
  return names;
}

}  // namespace

TEST_CASE("every function of cuda.h is hooked, or passed with a reason", "[hooks]") {
  std::set<std::string> passed;
  for (const Pass& pass : passes) {
    INFO(pass.symbol);
    REQUIRE(passed.insert(pass.symbol).second);
    REQUIRE(hooked.count(pass.symbol) == 0);
    REQUIRE(reasons.count(pass.reason) == 1);
  }
  const auto functions = names_behind(header("cuda.h"), "CUDAAPI", "cu");
  REQUIRE(functions.size() > 450);
  for (const std::string& name : functions) {
    INFO(name);
    const bool is_here = hooked.count(name) + passed.count(name) == 1;
    CHECK(is_here);
  }
}

TEST_CASE("every versioned name of cudaTypedefs.h is hooked, or passed with a reason", "[hooks]") {
  std::set<std::string> symbols = hooked;
  for (const Pass& pass : passes) symbols.insert(pass.symbol);
  const auto types = names_behind(header("cudaTypedefs.h"), "CUDAAPI *", "PFN_cu");
  REQUIRE(types.size() > 600);
  std::set<std::string> stems;
  for (const std::string& type : types) {
    const std::size_t version = type.rfind("_v");
    const std::size_t variant = type.find("_pt", version);
    std::string name = type.substr(4, version - 4);
    stems.insert(name);
    if (variant == std::string::npos) continue;
    // A per-thread variant of some version of the name.
    const std::string suffix = type.substr(variant);
    const bool is_here = symbols.count(name + suffix) + symbols.count(name + "_v2" + suffix) + symbols.count(name + "_v3" + suffix) > 0;
    INFO(type);
    CHECK(is_here);
  }
  REQUIRE(symbols.size() >= types.size());  // as many entry points as types
  for (const std::string& stem : stems) {
    INFO(stem);
    const bool is_here = symbols.count(stem) + symbols.count(stem + "_v2") + hooked_stems.count(stem) > 0;
    CHECK(is_here);
  }
}
