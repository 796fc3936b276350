#include "placement/ptx/names.h"

#include <algorithm>
#include <limits>

#include "placement/ptx/lexer.h"

namespace tessera::ptx {

void FunctionNames::clear() {
  plain_.clear();
  heads_.clear();
  numbered_.clear();
  undo_.clear();
  open_.clear();
  plain_registers_ = 0;
  digit_prefixes_ = false;
  open_scope(0);
}

void FunctionNames::open_scope(Index scope) { open_.push_back({scope, undo_.size(), numbered_.size(), plain_registers_}); }

void FunctionNames::close_scope() {
  const OpenScope scope = open_.back();
  open_.pop_back();
  while (undo_.size() > scope.undo) {
    const Undo& last = undo_.back();
    if (last.numbered) {
      heads_.insert(last.name, no_index).first = last.head;
    } else {
      plain_.insert(last.name, {}).first = last.plain;
    }
    undo_.pop_back();
  }
  numbered_.resize(scope.numbered);
  plain_registers_ = scope.plain_registers;
}

bool FunctionNames::declare(std::string_view name, LocalName what) {
  const Index scope = open_.back().scope;
  std::uint32_t number = 0;
  const Numbered* numbered = find_numbered(name, number);
  if (numbered != nullptr && numbered->scope == scope) return false;
  Plain& entry = plain_.insert(name, {}).first;
  if (entry.what.kind != LocalName::Kind::none && entry.scope == scope) return false;
  undo_.push_back({name, false, entry, no_index});
  entry = {what, scope};
  if (what.kind == LocalName::Kind::reg) ++plain_registers_;
  return true;
}

bool FunctionNames::declare_numbered(std::string_view prefix, Index first, std::uint32_t count) {
  const Index scope = open_.back().scope;
  if (!prefix.empty() && is(prefix.back(), char_class::digit)) digit_prefixes_ = true;
  Index& head = heads_.insert(prefix, no_index).first;
  if (head != no_index && numbered_[head].scope == scope) return false;
  undo_.push_back({prefix, true, {}, head});
  Index outer = head;
  while (outer != no_index && numbered_[outer].count <= count) outer = numbered_[outer].outer;
  head = static_cast<Index>(numbered_.size());
  numbered_.push_back({first, count, scope, outer});
  return true;
}

// The declaration that `name` means when its number begins at `split`.
const FunctionNames::Numbered* FunctionNames::find_split(std::string_view name, std::size_t split, std::uint32_t& number) const {
  const Index* head = heads_.find(name.substr(0, split));
  if (head == nullptr) return nullptr;
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t value = 0;
  for (std::size_t i = split; i < name.size() && value <= most; ++i) value = value * 10 + static_cast<unsigned>(name[i] - '0');
  for (Index at = *head; at != no_index; at = numbered_[at].outer) {
    if (value >= numbered_[at].count) continue;
    number = static_cast<std::uint32_t>(value);
    return &numbered_[at];
  }
  return nullptr;
}

const FunctionNames::Numbered* FunctionNames::find_numbered(std::string_view name, std::uint32_t& number) const {
  std::size_t digits_at = name.size();
  while (digits_at > 0 && is(name[digits_at - 1], char_class::digit)) --digits_at;
  if (digits_at == name.size()) return nullptr;
  // Zeros in front don't matter: %r07 is %r7.
  if (!digit_prefixes_) return find_split(name, digits_at, number);
  // %r1<4> gives %r10 to %r13. A number has ten digits at most, so that these tries are few.
  constexpr std::size_t most_digits = 10;
  const std::size_t first = name.size() - std::min(name.size() - digits_at, most_digits);
  for (std::size_t split = name.size(); split-- > first;) {
    if (const Numbered* found = find_split(name, split, number); found != nullptr) return found;
  }
  return first == digits_at ? nullptr : find_split(name, digits_at, number);
}

LocalName FunctionNames::find(std::string_view name) const {
  std::uint32_t number = 0;
  const Numbered* numbered = find_numbered(name, number);
  if (numbered != nullptr && plain_registers_ == 0) return {LocalName::Kind::reg, numbered->first + number};
  const Plain* plain = plain_.find(name);
  const bool have_plain = plain != nullptr && plain->what.kind != LocalName::Kind::none;
  if (numbered != nullptr && (!have_plain || plain->scope < numbered->scope)) return {LocalName::Kind::reg, numbered->first + number};
  return have_plain ? plain->what : LocalName{};
}

}  // namespace tessera::ptx
