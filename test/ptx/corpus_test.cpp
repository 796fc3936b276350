// PTX of public repositories (TESSERA_CORPUS, or ../shared/corpus): what the vendor's assembler accepts is read cleanly.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"
#include "test/ptx/texts.h"

namespace tessera::ptx {
namespace {

// "owner+repo/file" -> what the assembler said, from the corpus's table.
std::map<std::string, std::string> verdicts() {
  std::map<std::string, std::string> found;
  std::istringstream table{read_text(corpus_folder() / "corpus.tsv")};
  std::vector<std::string> header;
  for (std::string line; std::getline(table, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    std::istringstream row{line};
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    if (header.empty()) {
      header = cells;
      continue;
    }
    std::map<std::string, std::string> by_name;
    for (std::size_t i = 0; i < cells.size() && i < header.size(); ++i) by_name[header[i]] = cells[i];
    std::string folder = by_name["repo"];
    std::replace(folder.begin(), folder.end(), '/', '+');
    found[folder + "/" + by_name["file"]] = by_name["ptxas13.0"];
  }
  return found;
}

TEST_CASE("the corpus is read and survives printing") {
  const auto files = texts_below(corpus_folder());
  if (files.empty()) {
    WARN("no corpus at " << corpus_folder() << ": SKIPPED; set TESSERA_CORPUS");
    return;
  }
  const auto verdict_of = verdicts();
  std::size_t clean = 0;
  std::size_t accepted = 0;
  for (const TextFile& file : files) {
    INFO(file.path.string());
    const Module module = parse(file.text);
    REQUIRE(check(module).empty());
    for (const Function& f : module.functions) REQUIRE(check_cfg(build_cfg(module, f), f).empty());
    const auto verdict = verdict_of.find(file.path.parent_path().filename().string() + "/" + file.path.filename().string());
    if (verdict != verdict_of.end() && verdict->second.rfind("ok", 0) == 0) {
      ++accepted;
      for (const Diagnostic& d : module.diagnostics) FAIL_CHECK(fmt::format("{}:{} {}", d.place.line, d.place.column, d.message));
    }
    if (!module.diagnostics.empty()) continue;
    ++clean;
    std::string difference;
    CHECK(same(module, parse(print(module)), &difference));
    CHECK(difference.empty());
  }
  WARN(fmt::format("corpus: {} files, {} accepted by the assembler, {} read and round-tripped", files.size(), accepted, clean));
  CHECK(accepted > 100);
  CHECK(clean >= accepted);
}

TEST_CASE("the index finds the bodies that parsing finds") {
  auto files = texts_below(corpus_folder());
  const auto cases = case_texts();
  files.insert(files.end(), cases.begin(), cases.end());
  for (const TextFile& file : files) {
    const Module module = parse(file.text);
    if (!module.diagnostics.empty()) continue;
    INFO(file.path.string());
    const auto index = index_entries(file.text);
    std::vector<const Function*> bodies;
    for (const Function& f : module.functions) {
      if (f.has_body) bodies.push_back(&f);
    }
    REQUIRE(index.size() == bodies.size());
    for (std::size_t i = 0; i < index.size(); ++i) {
      CHECK(index[i].name == module.name_of(*bodies[i]));
      CHECK(index[i].is_entry == bodies[i]->is_entry);
      CHECK(file.text[index[i].begin] == '.');
      CHECK(file.text[index[i].end - 1] == '}');
      CHECK(index[i].line <= bodies[i]->place.line);
    }
  }
}

TEST_CASE("bodies that aren't asked for are skipped, and change nothing else") {
  for (const TextFile& file : case_texts()) {
    const Module whole = parse(file.text);
    const bool parameters_in_bodies = whole.version_major == 1 && whole.version_minor < 4;
    if (!whole.diagnostics.empty() || parameters_in_bodies) continue;
    INFO(file.path.string());
    for (const Function& f : whole.functions) {
      const std::string_view wanted[] = {whole.name_of(f)};
      const Module part = parse(file.text, {wanted, 16});
      CHECK(part.diagnostics.empty());
      CHECK(check(part).empty());
      REQUIRE(part.functions.size() == whole.functions.size());
      for (std::size_t i = 0; i < part.functions.size(); ++i) {
        const bool read = part.name_of(part.functions[i]) == wanted[0] || !part.functions[i].has_body;
        CHECK(part.functions[i].body_skipped == !read);
        CHECK(part.functions[i].instrs.size() == (read ? whole.functions[i].instrs.size() : 0));
        CHECK(part.functions[i].param_bytes == whole.functions[i].param_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::ptx
