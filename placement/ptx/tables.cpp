#include "placement/ptx/tables.h"

#include <array>
#include <cstddef>

namespace tessera::ptx {
namespace {

constexpr OpcodeRow opcode_rows[] = {
#define PTX_OPCODE(id, text, memory, numeric, control, destinations) \
  {text, MemoryEffect::memory, NumericClass::numeric, ControlEffect::control, destinations},
#include "placement/ptx/opcodes.def"
#undef PTX_OPCODE
    {"", MemoryEffect::unknown, NumericClass::approximate, ControlEffect::none, 0},
};

constexpr std::string_view modifier_texts[] = {
#define PTX_MODIFIER(id, text) text,
#include "placement/ptx/modifiers.def"
#undef PTX_MODIFIER
};

struct TypeRow {
  std::string_view text;
  unsigned bytes;
};
constexpr TypeRow type_rows[] = {
#define PTX_TYPE(id, text, bytes) {text, bytes},
#include "placement/ptx/types.def"
#undef PTX_TYPE
    {"", 0},
};

struct SregRow {
  std::string_view text;
  unsigned components, bits;
};
constexpr SregRow sreg_rows[] = {
#define PTX_SREG(id, text, components, bits) {text, components, bits},
#include "placement/ptx/sregs.def"
#undef PTX_SREG
    {"", 1, 32},
};

constexpr std::string_view space_texts[] = {"",       "reg", "sreg",        "const",           "global",       "local",      "param",
                                            "shared", "tex", "shared::cta", "shared::cluster", "param::entry", "param::func"};

constexpr std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash ^ (hash >> 15U);
}

// Open addressing over the rows' texts, made by the compiler: at most a quarter full, so that most look-ups see one slot.
template <std::size_t count>
class TextTable {
 public:
  template <typename TextOf>
  explicit constexpr TextTable(TextOf text_of_row) {
    for (std::size_t row = 0; row < count; ++row) {
      std::size_t slot = hash_of(text_of_row(row)) % size;
      while (slots_[slot] != 0) slot = (slot + 1) % size;
      slots_[slot] = static_cast<std::uint16_t>(row + 1);
    }
  }

  // `count` when there is none.
  template <typename TextOf>
  [[nodiscard]] constexpr std::size_t find(std::string_view text, TextOf text_of_row) const {
    for (std::size_t slot = hash_of(text) % size; slots_[slot] != 0; slot = (slot + 1) % size) {
      const std::size_t row = slots_[slot] - 1U;
      if (text_of_row(row) == text) return row;
    }
    return count;
  }

 private:
  static constexpr std::size_t power_above(std::size_t n) {
    std::size_t p = 1;
    while (p < n) p *= 2;
    return p;
  }
  static constexpr std::size_t size = power_above(count * 4);
  std::array<std::uint16_t, size> slots_{};
};

constexpr auto opcode_text = [](std::size_t row) { return opcode_rows[row].text; };
constexpr auto modifier_row_text = [](std::size_t row) { return modifier_texts[row]; };
constexpr auto sreg_text = [](std::size_t row) { return sreg_rows[row].text; };
constexpr auto type_text = [](std::size_t row) { return type_rows[row].text; };

constexpr std::size_t opcode_count = static_cast<std::size_t>(Opcode::unknown);
constexpr std::size_t modifier_count = static_cast<std::size_t>(Modifier::first_unknown);
constexpr std::size_t sreg_count = static_cast<std::size_t>(SpecialReg::unknown);
constexpr std::size_t type_count = static_cast<std::size_t>(Type::none);

constexpr TextTable<opcode_count> opcodes{opcode_text};
constexpr TextTable<modifier_count> modifiers{modifier_row_text};
constexpr TextTable<sreg_count> sregs{sreg_text};
constexpr TextTable<type_count> types{type_text};

struct ModifierMeaning {
  Type type = Type::none;
  Space space = Space::generic;
};
// By modifier; made by the compiler from the texts.
constexpr auto meanings = [] {
  std::array<ModifierMeaning, modifier_count> result{};
  for (std::size_t m = 0; m < modifier_count; ++m) {
    const std::size_t type = types.find(modifier_texts[m], type_text);
    if (type < type_count) result[m].type = static_cast<Type>(type);
    for (std::size_t s = 1; s < std::size(space_texts); ++s) {
      if (space_texts[s] == modifier_texts[m]) result[m].space = static_cast<Space>(s);
    }
  }
  return result;
}();

}  // namespace

const OpcodeRow& row_of(Opcode opcode) { return opcode_rows[static_cast<std::size_t>(opcode)]; }
std::string_view text_of(Type type) { return type_rows[static_cast<std::size_t>(type)].text; }
std::string_view text_of(Space space) { return space_texts[static_cast<std::size_t>(space)]; }
std::string_view text_of(SpecialReg reg) { return sreg_rows[static_cast<std::size_t>(reg)].text; }
std::string_view text_of_known(Modifier modifier) {
  return modifier < Modifier::first_unknown ? modifier_texts[static_cast<std::size_t>(modifier)] : std::string_view{};
}
unsigned bytes_of(Type type) { return type_rows[static_cast<std::size_t>(type)].bytes; }
unsigned components_of(SpecialReg reg) { return sreg_rows[static_cast<std::size_t>(reg)].components; }
unsigned bits_of(SpecialReg reg) { return sreg_rows[static_cast<std::size_t>(reg)].bits; }

Opcode find_opcode(std::string_view text) { return static_cast<Opcode>(opcodes.find(text, opcode_text)); }
std::optional<Modifier> find_modifier(std::string_view text) {
  const std::size_t row = modifiers.find(text, modifier_row_text);
  if (row == modifier_count) return std::nullopt;
  return static_cast<Modifier>(row);
}
SpecialReg find_special_reg(std::string_view text) { return static_cast<SpecialReg>(sregs.find(text, sreg_text)); }
Type find_type(std::string_view text) { return static_cast<Type>(types.find(text, type_text)); }
Type type_of_modifier(Modifier modifier) {
  return modifier < Modifier::first_unknown ? meanings[static_cast<std::size_t>(modifier)].type : Type::none;
}
Space space_of_modifier(Modifier modifier) {
  return modifier < Modifier::first_unknown ? meanings[static_cast<std::size_t>(modifier)].space : Space::generic;
}

}  // namespace tessera::ptx
