#include "placement/access/pointer_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "placement/access/flow.h"

namespace tessera::access {
namespace {

struct RefusalRow {
  std::string_view name, sentence;
};
// In the order of Refusal.
constexpr RefusalRow refusals[] = {
    {"none", "understood"},
    {"broken", "its PTX could not be parsed"},
    {"loaded_base", "an address is loaded from memory (a table of pointers)"},
    {"unknown_base", "an address doesn't come from a pointer parameter"},
    {"module_variable", "it uses a module variable or constant"},
    {"pointer_escapes", "a pointer is stored to memory"},
    {"pointer_arithmetic", "the numeric value of a pointer matters"},
    {"call", "it calls a function whose effects aren't followed"},
    {"texture", "it uses a texture or surface"},
    {"tensor_map", "addresses are hidden in a tensor map"},
    {"system_scope", "it communicates with other devices or the host while it runs"},
    {"unknown_opcode", "an instruction that isn't known"},
    {"unsupported_form", "a form of a memory instruction that isn't followed"},
    {"too_complex", "the analysis gave up"},
};

std::uint64_t word_at(std::span<const std::byte> params, std::uint16_t offset) {
  std::uint64_t value = 0;
  if (offset < params.size()) std::memcpy(&value, params.data() + offset, std::min<std::size_t>(sizeof value, params.size() - offset));
  return value;
}

void note(LaunchAccess& result, std::uint16_t offset, std::uint64_t address, const PointerAccess& access) {
  for (LaunchPointer& p : result.pointers) {
    if (p.offset == offset) {
      p.read |= access.read;
      p.written |= access.written;
      return;
    }
  }
  result.pointers.push_back({offset, address, access.read, access.written});
}

// A pointer that the launch doesn't give: what hangs on it is guarded by a null check, or would be a fault anywhere.
bool all_null(std::span<const std::byte> params, const Words& words) {
  return std::all_of(words.begin(), words.end(), [&](std::uint16_t offset) { return word_at(params, offset) == 0; });
}

}  // namespace

std::string_view name_of(Refusal refusal) { return refusals[static_cast<std::size_t>(refusal)].name; }
std::string_view sentence_of(Refusal refusal) { return refusals[static_cast<std::size_t>(refusal)].sentence; }

KernelAccess analyse(const ptx::Module& module, const ptx::Function& kernel) { return Flow(module, kernel).run(); }

void evaluate(const KernelAccess& kernel, std::span<const std::byte> params, const std::function<bool(std::uint64_t)>& in_device_memory,
              LaunchAccess& result) {
  result.refusal = kernel.refusal;
  result.line = kernel.line;
  result.pointers.clear();
  if (!kernel.understood()) return;
  const auto refuse = [&](Refusal refusal, std::uint32_t line) {
    result.refusal = refusal;
    result.line = line;
  };
  for (const Exposure& e : kernel.exposures) {
    std::uint32_t pointers = 0;
    for (const std::uint16_t offset : e.words) pointers += in_device_memory(word_at(params, offset)) ? 1 : 0;
    if (pointers >= e.least) return refuse(e.refusal, e.line);
  }
  for (const PointerAccess& a : kernel.accesses) {
    for (const std::uint16_t offset : a.mixed) {
      if (in_device_memory(word_at(params, offset))) return refuse(Refusal::pointer_arithmetic, a.line);
    }
    bool based = false;
    for (const std::uint16_t offset : a.words) {
      const std::uint64_t value = word_at(params, offset);
      if (!in_device_memory(value)) continue;
      based = true;
      note(result, offset, value, a);
    }
    if (!based && !all_null(params, a.words)) return refuse(Refusal::unknown_base, a.line);
  }
}

}  // namespace tessera::access
