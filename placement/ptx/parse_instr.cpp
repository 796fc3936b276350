// Instructions: guard, opcode with modifiers, operands.
#include <algorithm>
#include <limits>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {
namespace {

constexpr std::size_t most_operands = std::numeric_limits<std::uint16_t>::max();

// Where an array element may stand for an address: ld.global.u32 r, table[3];
bool takes_addresses(Opcode opcode) {
  const MemoryEffect effect = row_of(opcode).memory;
  return effect == MemoryEffect::load || effect == MemoryEffect::store || effect == MemoryEffect::atomic || effect == MemoryEffect::hint;
}

}  // namespace

bool Parser::instruction() {
  Instr i;
  stack_.clear();
  Function& f = *function_;
  const std::size_t modifiers_before = f.modifiers.size();
  const std::size_t operands_before = f.operands.size();
  const std::size_t labels_before = label_operands_.size();
  if (*c_.at == '@' && !guard(i)) return false;
  i.place = c_.place();
  if (opcode_and_modifiers(i) && operands(i)) {
    f.instrs.push_back(i);
    return true;
  }
  f.modifiers.resize(modifiers_before);
  f.operands.resize(operands_before);
  label_operands_.resize(labels_before);
  return false;
}

bool Parser::guard(Instr& i) {
  c_.take('@');
  i.guarded = true;
  i.guard_negated = c_.take('!');
  const SourcePlace place = c_.place();
  const std::string_view text = c_.name();
  const LocalName found = text.empty() ? LocalName{} : locals_.find(text);
  if (found.kind != LocalName::Kind::reg) {
    return fail_at(place,
                   "found " + (text.empty() ? c_.found() : "'" + std::string{text} + "'") + ", expected a declared predicate register");
  }
  i.guard = found.ref;
  c_.skip_space();
  return true;
}

bool Parser::opcode_and_modifiers(Instr& i) {
  const char* begin = c_.at;
  if (!is(*begin, char_class::name_start)) return fail("an opcode");
  for (;; c_.at += 2) {
    while (is(*c_.at, char_class::opcode)) ++c_.at;
    if (c_.at[0] != ':' || c_.at[1] != ':') break;
  }
  const std::string_view text{begin, static_cast<std::size_t>(c_.at - begin)};
  if (text.empty()) return fail("an opcode");
  auto [chunk, fresh] = chunks_.insert(text, {});
  if (fresh && !decode(text, chunk))
    return fail_at(c_.place_of(begin), "found '" + std::string{text} + "', expected an opcode with its modifiers");
  if (!chunk.valid) return fail_at(c_.place_of(begin), "found '" + std::string{text} + "', expected an opcode with its modifiers");
  Function& f = *function_;
  i.opcode = chunk.opcode;
  i.name = chunk.name;
  i.modifiers = static_cast<Index>(f.modifiers.size());
  i.modifier_count = chunk.count;
  const auto first = chunk_modifiers_.begin() + chunk.first;
  f.modifiers.insert(f.modifiers.end(), first, first + chunk.count);
  if (*c_.at == '[') {
    c_.skip_space();
  } else {
    c_.skip_space();
    if (*c_.at != '.') return true;
  }
  return loose_modifiers(i, text);
}

// "ld.global.v4.f32" -> opcode and modifiers; done once for each distinct text.
bool Parser::decode(std::string_view text, Chunk& chunk) {
  const std::size_t dot = text.find('.');
  const std::string_view opcode_text = text.substr(0, dot);
  chunk.first = static_cast<Index>(chunk_modifiers_.size());
  std::vector<Modifier> list;
  for (std::size_t at = dot; at < text.size();) {
    const std::size_t end = std::min(text.find('.', at + 1), text.size());
    if (!modifier(text.substr(at + 1, end - at - 1), list)) return false;
    at = end;
  }
  if (list.size() > std::numeric_limits<std::uint16_t>::max() || opcode_text.find(':') != std::string_view::npos) return false;
  chunk.opcode = find_opcode(opcode_text);
  if (chunk.opcode == Opcode::unknown) chunk.name = intern(opcode_text);
  chunk.count = static_cast<std::uint16_t>(list.size());
  chunk_modifiers_.insert(chunk_modifiers_.end(), list.begin(), list.end());
  chunk.valid = true;
  return true;
}

bool Parser::modifier(std::string_view text, std::vector<Modifier>& into) {
  if (text.empty()) return false;
  if (const auto known = find_modifier(text)) {
    into.push_back(*known);
    return true;
  }
  constexpr std::size_t first = static_cast<std::size_t>(Modifier::first_unknown);
  constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();
  if (first + m_.unknown_modifiers.size() >= most) return false;
  const auto [index, fresh] = unknown_modifiers_.insert(text, static_cast<Index>(m_.unknown_modifiers.size()));
  if (fresh) m_.unknown_modifiers.emplace_back(text);
  into.push_back(static_cast<Modifier>(first + index));
  return true;
}

// Modifiers behind white space ("ld .global .u32"), and behind the bank number of PTX 1.x ("ld.const[2].f32"; the variable has the bank).
bool Parser::loose_modifiers(Instr& i, std::string_view text) {
  std::vector<Modifier> list;
  if (*c_.at == '[' && text.size() > 6 && text.substr(text.size() - 6) == ".const") {
    Cursor ahead = c_;
    ahead.take('[');
    while (is(*ahead.at, char_class::digit)) ++ahead.at;
    ahead.skip_space();
    if (ahead.take(']') && *ahead.at == '.') c_ = ahead;
  }
  while (*c_.at == '.') {
    const std::string_view word = c_.dot_word();
    if (!modifier(word, list)) return fail("a modifier");
    c_.skip_space();
  }
  if (list.size() + i.modifier_count > std::numeric_limits<std::uint16_t>::max()) return fail("fewer modifiers");
  i.modifier_count = static_cast<std::uint16_t>(i.modifier_count + list.size());
  function_->modifiers.insert(function_->modifiers.end(), list.begin(), list.end());
  return true;
}

bool Parser::operands(Instr& i) {
  control_ = row_of(i.opcode).control;
  elements_are_addresses_ = takes_addresses(i.opcode);
  if (*c_.at != ';') {
    do {
      if (!operand(0)) return false;
    } while (c_.take(','));
    if (*c_.at != ';') return fail("',' or ';'");
  }
  c_.take(';');
  if (stack_.size() > most_operands) return fail("fewer operands");
  i.operands = static_cast<Index>(function_->operands.size());
  i.operand_count = static_cast<std::uint16_t>(stack_.size());
  append_operands(0);
  return true;
}

// The operands on stack_ from `first` on go to where they stay.
void Parser::append_operands(std::size_t first) {
  auto& all = function_->operands;
  const auto begin = static_cast<Index>(all.size() - first);
  for (std::size_t k = first; k < stack_.size(); ++k) {
    if (stack_[k].kind == OperandKind::label) label_operands_.push_back(begin + static_cast<Index>(k));
  }
  all.insert(all.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
}

}  // namespace tessera::ptx
