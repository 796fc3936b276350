// Damaged texts: never a crash, and one bad statement costs one function.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <random>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"
#include "test/ptx/texts.h"

namespace tessera::ptx {
namespace {

std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

void require_sound(const std::string& text) {
  const Module module = parse(text);
  const std::string violated = check(module);
  INFO(text);
  REQUIRE(violated.empty());
  for (const Function& f : module.functions) REQUIRE(check_cfg(build_cfg(module, f), f).empty());
  if (!module.diagnostics.empty()) return;
  std::string difference;
  const bool equal = same(module, parse(print(module)), &difference);
  INFO(difference);
  REQUIRE(equal);
}

TEST_CASE("deleting, doubling and swapping tokens never breaks the reader") {
  std::mt19937 random{7};
  for (const TextFile& file : case_texts()) {
    const auto tokens = tokens_of(file.text);
    for (int round = 0; round < 150; ++round) {
      auto damaged = tokens;
      for (int n = 0; n < 1 + round % 3; ++n) {
        const std::size_t at = random() % damaged.size();
        const std::size_t other = random() % damaged.size();
        switch (random() % 3) {
          case 0:
            damaged[at].clear();
            break;
          case 1:
            damaged[at] += damaged[other];
            break;
          default:
            std::swap(damaged[at], damaged[other]);
        }
      }
      std::string text;
      for (const std::string& token : damaged) text += token;
      require_sound(text);
    }
  }
}

TEST_CASE("a text may end anywhere") {
  for (const TextFile& file : case_texts()) {
    for (std::size_t size = 0; size < file.text.size(); size += 1 + size % 5) require_sound(file.text.substr(0, size));
  }
}

std::string entry(int number, const std::string& extra) {
  return fmt::format(
      ".visible .entry kernel{}(.param .u64 a, .param .u32 n)\n{{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
      "\tld.param.u64 %rd1, [a];\n\tld.param.u32 %r1, [n];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra done{};\n{}"
      "\tst.global.u32 [%rd1], %r1;\ndone{}:\n\tret;\n}}\n",
      number, number, extra, number);
}

TEST_CASE("a bad statement costs its own entry and no other") {
  constexpr int entries = 50;
  const std::vector<std::string> bad = {
      "\tmov.u32 %r1 %r2;\n",
      "\tmov.u32 %r1, %r9;\n",
      "\tmov.u32 %r1, ;\n",
      "\tbra nowhere;\n",
      "\tld.global.u32 %r1, [%rd1;\n",
      "\tmov.b64 %rd1, {%r1, %r2;\n",
      "\tcall (%r1), missing, (%r1\n\tret;\n",
      "\t@%p7 ret;\n",
      "\tadd..u32 %r1, %r1, %r1;\n",
      "\t.reg .b32 %r<9>;\n",
      "\t.unheard_of 1, 2;\n",
      "\t= + ~ ` ;\n",
      "\tmov.u32 %r1, 0xZZ;\n",
      "\t{\n",  // never closed
      "\t}\n",  // closes the body
      "\tmov.u32 %r1, \"text\n",
      "\t}}}} {{{ ;\n",
      "\t/* never closed until the next comment, if there is one */ \\ ;\n",
      "\t.shared .u32 s[4] = {1, 2\n",
      "label: .branchtargets 5;\n",
  };
  for (const std::string& statement : bad) {
    for (int victim : {0, 7, entries - 1}) {
      INFO(statement << " in entry " << victim);
      std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
      for (int i = 0; i < entries; ++i) text += entry(i, i == victim ? statement : "");
      const Module module = parse(text);
      REQUIRE(check(module).empty());
      REQUIRE(module.functions.size() == entries);
      for (int i = 0; i < entries; ++i) {
        const Function& f = module.functions[static_cast<std::size_t>(i)];
        REQUIRE(module.name_of(f) == fmt::format("kernel{}", i));
        REQUIRE(f.broken == (i == victim));
        if (i != victim) REQUIRE(f.instrs.size() == 6);
      }
      REQUIRE(!module.diagnostics.empty());
      const std::uint32_t first_line = module.functions[static_cast<std::size_t>(victim)].place.line;
      for (const Diagnostic& d : module.diagnostics) {
        CHECK(d.function == fmt::format("kernel{}", victim));
        CHECK(d.place.line > first_line);
        CHECK(d.place.line <= first_line + 20);
        CHECK(d.place.column > 0);
        CHECK(d.message.find("found ") == 0);
        CHECK(d.message.find(", expected ") != std::string::npos);
      }
    }
  }
}

TEST_CASE("diagnostics are bounded, broken is not") {
  std::string text = ".version 8.0\n.target sm_80\n.entry a() {\n";
  for (int i = 0; i < 1000; ++i) text += "mov.u32 nothing, 1;\n";
  text += "}\n.entry b() { mov.u32 nothing, 1; }\n";
  const Module module = parse(text, {{}, 3});
  CHECK(module.diagnostics.size() == 4);
  CHECK(module.diagnostics[0].place == SourcePlace{4, 9});
  CHECK(module.functions[0].broken);
  CHECK(module.functions[1].broken);
  const auto strict = parse_strict(text);
  REQUIRE_FALSE(strict.ok());
  CHECK(strict.error().code == ErrorCode::bad_data);
  CHECK(strict.error().where == "4:9");
}

}  // namespace
}  // namespace tessera::ptx
