// Any bytes as PTX: the reader keeps its invariant, and what it accepts survives printing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"

namespace {

using namespace tessera::ptx;

void require(bool holds, const char* what, const std::string& detail) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const Module module = parse(text);
  const std::string violated = check(module);
  require(violated.empty(), "invariant", violated);
  for (const Function& f : module.functions) {
    const std::string flow = check_cfg(build_cfg(module, f), f);
    require(flow.empty(), "control flow", flow);
  }
  for (const EntryIndex& e : index_entries(text)) require(e.begin < e.end && e.end <= size, "index", std::string{e.name});
  if (!module.diagnostics.empty()) return 0;
  std::string difference;
  require(same(module, parse(print(module)), &difference), "round trip", difference + "\n" + print(module));
  return 0;
}
