// The language's tables as enumerations: opcodes, modifiers, types, state spaces, special registers.
//
// Each comes from one .def file; text ↔ enumerator look-ups are here as well. Invariant: text_of(find_x(t)) == t.
// Threads: constant data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::ptx {

enum class Opcode : std::uint16_t {
#define PTX_OPCODE(id, text, memory, numeric, control, destinations) id,
#include "placement/ptx/opcodes.def"
#undef PTX_OPCODE
  unknown,
};

// Values at and above first_unknown index Module::unknown_modifiers.
enum class Modifier : std::uint16_t {
#define PTX_MODIFIER(id, text) id,
#include "placement/ptx/modifiers.def"
#undef PTX_MODIFIER
  first_unknown,
};

enum class Type : std::uint8_t {
#define PTX_TYPE(id, text, bytes) id,
#include "placement/ptx/types.def"
#undef PTX_TYPE
  none,
};

enum class Space : std::uint8_t {
  generic,  // none was written
  reg,
  sreg,
  const_,
  global,
  local,
  param,
  shared,
  tex,
  shared_cta,
  shared_cluster,
  param_entry,
  param_func,
};

enum class SpecialReg : std::uint8_t {
#define PTX_SREG(id, text, components, bits) id,
#include "placement/ptx/sregs.def"
#undef PTX_SREG
  unknown,
};

enum class MemoryEffect : std::uint8_t {
  none,
  load,     // first source is an address
  store,    // first operand is an address
  atomic,   // read and written
  async,    // cp.*: direction by operand order
  matrix,   // wmma/wgmma/tcgen05: some forms load or store
  texture,  // read through an object
  surface,  // read or written through an object
  hint,     // names an address, moves nothing that the program can see
  barrier,  // mbarrier objects in shared memory
  call,     // what the callee does
  unknown,  // may touch anything
};
enum class NumericClass : std::uint8_t { exact, approximate };
enum class ControlEffect : std::uint8_t { none, branch, call, ret, exit, barrier, trap };

struct OpcodeRow {
  std::string_view text;
  MemoryEffect memory;
  NumericClass numeric;
  ControlEffect control;
  std::uint8_t destinations;
};

// The row of an opcode; that of Opcode::unknown says MemoryEffect::unknown.
[[nodiscard]] const OpcodeRow& row_of(Opcode opcode);
[[nodiscard]] std::string_view text_of(Type type);                // "f32"
[[nodiscard]] std::string_view text_of(Space space);              // "shared::cta"; "" for generic
[[nodiscard]] std::string_view text_of(SpecialReg reg);           // "%tid"
[[nodiscard]] std::string_view text_of_known(Modifier modifier);  // "" for unknown ones
[[nodiscard]] unsigned bytes_of(Type type);                       // 0 for none
[[nodiscard]] unsigned components_of(SpecialReg reg);
[[nodiscard]] unsigned bits_of(SpecialReg reg);

[[nodiscard]] Opcode find_opcode(std::string_view text);  // Opcode::unknown when there is none
[[nodiscard]] std::optional<Modifier> find_modifier(std::string_view text);
[[nodiscard]] SpecialReg find_special_reg(std::string_view text);  // with the %
[[nodiscard]] Type find_type(std::string_view text);               // "f32"; Type::none when there is none
[[nodiscard]] Type type_of_modifier(Modifier modifier);            // Type::none when it isn't a type
[[nodiscard]] Space space_of_modifier(Modifier modifier);          // Space::generic when it isn't a space

[[nodiscard]] constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::f16x2 || t == Type::bf16 || t == Type::bf16x2 || t == Type::f32 || t == Type::f64 ||
         t == Type::tf32 || t == Type::f32x2;
}
[[nodiscard]] constexpr bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64 || t == Type::s16x2;
}

}  // namespace tessera::ptx
