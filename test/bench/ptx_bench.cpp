// MB/s of reading and writing PTX, single-threaded, over a folder of texts: TESSERA_CORPUS, else the corpus beside the checkout.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"

namespace {

using namespace tessera::ptx;

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = [] {
    const char* chosen = std::getenv("TESSERA_CORPUS");
    const std::filesystem::path folder = chosen != nullptr ? chosen : TESSERA_CORPUS_DEFAULT;
    std::vector<std::string> read;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder, ignored}) {
      if (entry.path().extension() != ".ptx") continue;
      std::ifstream in{entry.path(), std::ios::binary};
      read.emplace_back(std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{});
    }
    return read;
  }();
  return all;
}

bool have_texts(benchmark::State& state) {
  if (!texts().empty()) return true;
  state.SkipWithError("no .ptx files: set TESSERA_CORPUS to a folder that has some");
  return false;
}

std::int64_t total_bytes() {
  std::int64_t bytes = 0;
  for (const std::string& text : texts()) bytes += static_cast<std::int64_t>(text.size());
  return bytes;
}

void parse_texts(benchmark::State& state) {
  if (!have_texts(state)) return;
  for (auto step : state) {
    for (const std::string& text : texts()) benchmark::DoNotOptimize(parse(text));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * total_bytes());
}
BENCHMARK(parse_texts)->Unit(benchmark::kMillisecond);

void index_texts(benchmark::State& state) {
  if (!have_texts(state)) return;
  for (auto step : state) {
    for (const std::string& text : texts()) benchmark::DoNotOptimize(index_entries(text));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * total_bytes());
}
BENCHMARK(index_texts)->Unit(benchmark::kMillisecond);

// Per byte of output.
void print_modules(benchmark::State& state) {
  if (!have_texts(state)) return;
  std::vector<Module> modules;
  std::transform(texts().begin(), texts().end(), std::back_inserter(modules), [](const std::string& text) { return parse(text); });
  std::int64_t bytes = 0;
  for (auto step : state) {
    for (const Module& module : modules) bytes += static_cast<std::int64_t>(print(module).size());
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(print_modules)->Unit(benchmark::kMillisecond);

void build_cfgs(benchmark::State& state) {
  if (!have_texts(state)) return;
  std::vector<Module> modules;
  std::transform(texts().begin(), texts().end(), std::back_inserter(modules), [](const std::string& text) { return parse(text); });
  std::int64_t instrs = 0;
  for (auto step : state) {
    for (const Module& module : modules) {
      for (const Function& f : module.functions) {
        benchmark::DoNotOptimize(build_cfg(module, f));
        instrs += static_cast<std::int64_t>(f.instrs.size());
      }
    }
  }
  state.SetItemsProcessed(instrs);
}
BENCHMARK(build_cfgs)->Unit(benchmark::kMillisecond);

}  // namespace
