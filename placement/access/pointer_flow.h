// Which bytes of a kernel's parameter block are pointers, and what happens to the memory behind each: from the PTX alone.
//
// analyse() follows values from the parameter block to every address that the kernel forms. The answer is sound: when it says "understood",
// every access of every launch goes through one of the listed pointers, in the listed ways; whatever it can't follow makes the kernel "not
// understood", with the instruction and the reason. evaluate() then takes the parameter bytes of one launch and says which of the
// candidates really are device pointers there.
// Granularity: whole allocations (which bytes of an allocation are touched isn't said).
// Units: byte offsets in the parameter block; lines of the PTX text. Threads: pure functions; results are values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::access {

// Why a kernel isn't understood. Kept short and stable: reports count by it.
enum class Refusal : std::uint8_t {
  none,
  broken,              // its PTX could not be parsed
  loaded_base,         // an address whose base was loaded from memory (a table of pointers)
  unknown_base,        // an address with no parameter in it
  module_variable,     // touches a module global or constant
  pointer_escapes,     // a pointer is stored to memory
  pointer_arithmetic,  // two pointers are combined, or a pointer is used as a number
  call,                // calls something whose effects aren't known
  texture,             // textures, surfaces
  tensor_map,          // addresses hide in a tensor map
  system_scope,        // talks to other devices or the host while it runs
  unknown_opcode,
  unsupported_form,  // a memory instruction whose form isn't followed yet
  too_complex,       // the analysis gave up
};
[[nodiscard]] std::string_view name_of(Refusal refusal);      // "loaded_base"
[[nodiscard]] std::string_view sentence_of(Refusal refusal);  // for people

// Sorted byte offsets of 64-bit words of the parameter block.
using Words = std::vector<std::uint16_t>;

// One way in which the kernel forms an address: the sum of `words` and of integers that may depend on `mixed`. Exactly one of the words
// must be a device pointer at launch: the base.
struct PointerAccess {
  Words words;
  Words mixed;          // words whose value changed the offset by more than addition: none of them may be a device pointer
  bool loaded = false;  // something that was loaded is in the sum
  bool read = false, written = false;
  std::uint32_t line = 0;  // of the first instruction that does so
};

// Words whose value is seen other than through an address (stored, compared with other pointers, computed with): not allowed
// to be device pointers, since a replica has another address.
struct Exposure {
  Words words;
  Refusal refusal = Refusal::pointer_arithmetic;
  std::uint32_t line = 0;
};

// Two values that are compared, as alternatives (each the words summed up in it; none = no word): the pointers in them must be the same.
struct Comparison {
  std::vector<Words> left, right;
  std::uint32_t line = 0;
};

struct KernelAccess {
  Refusal refusal = Refusal::none;
  std::string reason;  // one sentence, names the instruction
  std::uint32_t line = 0;
  std::vector<PointerAccess> accesses;
  std::vector<Exposure> exposures;
  std::vector<Comparison> comparisons;

  [[nodiscard]] bool understood() const { return refusal == Refusal::none; }
};

[[nodiscard]] KernelAccess analyse(const ptx::Module& module, const ptx::Function& kernel);

struct LaunchPointer {
  std::uint16_t offset = 0;  // in the parameter block
  std::uint64_t address = 0;
  bool read = false, written = false;
};

struct LaunchAccess {
  Refusal refusal = Refusal::none;  // none = resolved
  std::uint32_t line = 0;
  std::vector<LaunchPointer> pointers;  // one a word, by offset; the object is reused, so that a launch allocates nothing
};

// `in_device_memory`: whether a value lies in, or one behind, a live allocation of the program.
void evaluate(const KernelAccess& kernel, std::span<const std::byte> params, const std::function<bool(std::uint64_t)>& in_device_memory,
              LaunchAccess& result);

}  // namespace tessera::access
