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

bool all_null(std::span<const std::byte> params, const Words& words) {
  return std::all_of(words.begin(), words.end(), [&](std::uint16_t offset) { return word_at(params, offset) == 0; });
}

using IsPointer = std::function<bool(std::uint64_t)>;

std::size_t count_pointers(std::span<const std::byte> params, const Words& words, const IsPointer& is_pointer) {
  return static_cast<std::size_t>(
      std::count_if(words.begin(), words.end(), [&](std::uint16_t offset) { return is_pointer(word_at(params, offset)); }));
}

// The one pointer among the words: its offset, -1 for none, -2 for several.
int only_pointer(std::span<const std::byte> params, const Words& words, const IsPointer& is_pointer) {
  int found = -1;
  for (const std::uint16_t offset : words) {
    if (!is_pointer(word_at(params, offset))) continue;
    if (found != -1) return -2;
    found = offset;
  }
  return found;
}

// The result of a comparison is the same on every GPU when both sides hang on the same pointer, or on none.
bool comparable(std::span<const std::byte> params, const Comparison& c, const IsPointer& is_pointer) {
  for (const Words& left : c.left) {
    for (const Words& right : c.right) {
      const int a = only_pointer(params, left, is_pointer), b = only_pointer(params, right, is_pointer);
      if (a != b || a == -2) return false;
    }
  }
  return true;
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
    if (count_pointers(params, e.words, in_device_memory) > 0) return refuse(e.refusal, e.line);
  }
  for (const Comparison& c : kernel.comparisons) {
    if (!comparable(params, c, in_device_memory)) return refuse(Refusal::pointer_arithmetic, c.line);
  }
  for (const PointerAccess& a : kernel.accesses) {
    if (count_pointers(params, a.mixed, in_device_memory) > 0) return refuse(Refusal::pointer_arithmetic, a.line);
    const int base = only_pointer(params, a.words, in_device_memory);
    if (base == -2) return refuse(Refusal::pointer_arithmetic, a.line);
    if (base >= 0) {
      note(result, static_cast<std::uint16_t>(base), word_at(params, static_cast<std::uint16_t>(base)), a);
    } else if (a.loaded) {
      return refuse(Refusal::loaded_base, a.line);
    } else if (!all_null(params, a.words)) {
      return refuse(Refusal::unknown_base, a.line);
    }  // else an optional pointer that is null: what hangs on it isn't reached, or it would be a fault at home, too
  }
}

}  // namespace tessera::access
