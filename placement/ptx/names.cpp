#include "placement/ptx/names.h"

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

const FunctionNames::Numbered* FunctionNames::find_numbered(std::string_view name, std::uint32_t& number) const {
  std::size_t digits_at = name.size();
  while (digits_at > 0 && is(name[digits_at - 1], char_class::digit)) --digits_at;
  if (digits_at == name.size()) return nullptr;
  // Zeros in front don't matter: %r07 is %r7. A prefix may itself end in digits: %r1<4> gives %r10 to %r13, so that each split is tried.
  std::uint64_t value = 0;
  std::uint64_t weight = 1;
  for (std::size_t split = name.size(); split-- > digits_at && weight < 10'000'000'000U; weight *= 10) {
    value += weight * static_cast<unsigned>(name[split] - '0');
    if (split != digits_at && !digit_prefixes_) continue;
    const Index* head = heads_.find(name.substr(0, split));
    if (head == nullptr) continue;
    for (Index at = *head; at != no_index; at = numbered_[at].outer) {
      if (value < numbered_[at].count) {
        number = static_cast<std::uint32_t>(value);
        return &numbered_[at];
      }
    }
  }
  return nullptr;
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
