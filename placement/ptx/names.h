// Look-up tables of the parser: names to numbers, and names in scope.
//
// NameTable maps texts to values; it keeps views, which must outlive it, and empties in constant time. FunctionNames knows the
// registers, variables and parameters in scope: a declaration hides outer ones until its scope closes. Numbered registers
// (.reg .b32 %r<10000>) take one entry, found by prefix and number.
// Cost: constant per operation, whatever the depth of scopes. Threads: one parser, one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "placement/ptx/ir.h"

namespace tessera::ptx {

[[nodiscard]] inline std::uint64_t load_bytes(const char* from, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, count);
  return word;
}

[[nodiscard]] inline std::uint32_t hash_name(std::string_view text) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  const char* p = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = left * factor;
  for (; left > 8; p += 8, left -= 8) {
    hash = (hash ^ load_bytes(p, 8)) * factor;
    hash ^= hash >> 29U;
  }
  std::uint64_t tail = 0;
  if (left == 8) {
    tail = load_bytes(p, 8);
  } else if (left >= 4) {
    tail = load_bytes(p, 4) | load_bytes(p + left - 4, 4) << 32U;
  } else if (left > 0) {
    tail = static_cast<unsigned char>(p[0]) | static_cast<std::uint64_t>(static_cast<unsigned char>(p[left / 2])) << 8U |
           static_cast<std::uint64_t>(static_cast<unsigned char>(p[left - 1])) << 16U;
  }
  hash = (hash ^ tail) * factor;
  return static_cast<std::uint32_t>(hash >> 32U);
}

// Whether two texts of `size` characters are equal: names are short, so that a call would cost more than the comparison.
[[nodiscard]] inline bool equal_names(const char* a, const char* b, std::size_t size) {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return load_bytes(a, 8) == load_bytes(b, 8) && load_bytes(a + size - 8, 8) == load_bytes(b + size - 8, 8);
  if (size >= 4) return load_bytes(a, 4) == load_bytes(b, 4) && load_bytes(a + size - 4, 4) == load_bytes(b + size - 4, 4);
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

template <typename Value>
class NameTable {
 public:
  NameTable() : slots_(64) {}

  void clear() {
    ++epoch_;
    used_ = 0;
  }
  [[nodiscard]] const Value* find(std::string_view name) const {
    const Slot& slot = slots_[position(name, hash_name(name))];
    return slot.epoch == epoch_ ? &slot.value : nullptr;
  }
  // The value of `name`; `fresh` when it wasn't there, and .second says so. The reference holds until the next insertion.
  std::pair<Value&, bool> insert(std::string_view name, const Value& fresh) {
    const std::uint32_t hash = hash_name(name);
    std::size_t at = position(name, hash);
    if (slots_[at].epoch == epoch_) return {slots_[at].value, false};
    if ((used_ + 1) * 2 > slots_.size()) {
      grow();
      at = position(name, hash);
    }
    ++used_;
    slots_[at] = {name.data(), static_cast<std::uint32_t>(name.size()), hash, epoch_, fresh};
    return {slots_[at].value, true};
  }

 private:
  struct Slot {
    const char* text = nullptr;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;
    std::uint64_t epoch = 0;
    Value value{};
  };
  [[nodiscard]] std::size_t position(std::string_view name, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.epoch != epoch_) return at;
      if (slot.hash == hash && slot.size == name.size() && equal_names(slot.text, name.data(), name.size())) return at;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (Slot& slot : old) {
      if (slot.epoch != epoch_) continue;
      std::size_t at = slot.hash & mask;
      while (slots_[at].epoch == epoch_) at = (at + 1) & mask;
      slots_[at] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::uint64_t epoch_ = 1;
  std::size_t used_ = 0;
};

struct LocalName {
  enum class Kind : std::uint8_t { none, reg, variable, parameter, return_parameter } kind = Kind::none;
  Index ref = no_index;  // register id, or index of the variable
};

class FunctionNames {
 public:
  void clear();
  void open_scope(Index scope);
  void close_scope();

  // False when the innermost scope has that name already.
  bool declare(std::string_view name, LocalName what);
  bool declare_numbered(std::string_view prefix, Index first, std::uint32_t count);

  [[nodiscard]] LocalName find(std::string_view name) const;

 private:
  struct Plain {
    LocalName what;
    Index scope = 0;
  };
  struct Numbered {
    Index first = 0;
    std::uint32_t count = 0;
    Index scope = 0;
    Index outer = no_index;  // entry of numbered_ with the same prefix, further out, and a larger count
  };
  struct Undo {
    std::string_view name;
    bool numbered = false;
    Plain plain;
    Index head = no_index;
  };
  struct OpenScope {
    Index scope = 0;
    std::size_t undo = 0;
    std::size_t numbered = 0;
    std::size_t plain_registers = 0;
  };

  [[nodiscard]] const Numbered* find_split(std::string_view name, std::size_t split, std::uint32_t& number) const;
  [[nodiscard]] const Numbered* find_numbered(std::string_view name, std::uint32_t& number) const;

  NameTable<Plain> plain_;
  NameTable<Index> heads_;  // prefix -> innermost entry of numbered_
  std::vector<Numbered> numbered_;
  std::vector<Undo> undo_;
  std::vector<OpenScope> open_;
  std::size_t plain_registers_ = 0;  // in the open scopes
  bool digit_prefixes_ = false;      // some prefix of this function ends in a digit itself
};

}  // namespace tessera::ptx
