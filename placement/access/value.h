// What the analysis knows of a register: of which kinds its value may be, and which words of the parameter block are in it.
//
// Invariant: the lattice has finite height (kinds only gain bits, word lists only grow), so that the fixpoint ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "placement/access/pointer_flow.h"

namespace tessera::access {

enum Kind : std::uint8_t {
  integer = 1,    // computed from constants, thread indices, narrow parameters
  loaded = 2,     // holds something that was loaded from global memory, and no parameter word
  word = 4,       // a parameter word, plus integers or loaded values
  window = 8,     // an address in shared, local or parameter space
  variable = 16,  // an address of a module variable or function
};

// One way in which a value may be made: these words summed up, and integers or loaded values.
struct Sum {
  Words words;          // not empty
  bool loaded = false;  // something that was loaded is among the summands
  auto operator<=>(const Sum&) const = default;
};

// More alternatives than these, and the analysis gives up.
inline constexpr std::size_t most_sums = 24;

struct Value {
  std::uint8_t kinds = 0;
  std::vector<Sum> sums;  // the alternatives with words in them; sorted, no duplicates
  Words mixed;            // words that it was computed with other than by addition
  // The address `param_offset` of parameter space, when that is all that it can be.
  enum class Param : std::uint8_t { never, exactly, sometimes } param = Param::never;
  std::int64_t param_offset = 0;

  [[nodiscard]] bool has(Kind kind) const { return (kinds & kind) != 0; }
  // All words that are in it in any way.
  [[nodiscard]] Words all_words() const;
  bool operator==(const Value&) const = default;
};

inline void unite(Words& to, const Words& from) {
  if (from.empty()) return;
  Words both;
  both.reserve(to.size() + from.size());
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
  to = std::move(both);
}

inline Words Value::all_words() const {
  Words words = mixed;
  for (const Sum& s : sums) unite(words, s.words);
  return words;
}

inline void insert(std::vector<Sum>& sums, Sum sum) {
  const auto place = std::lower_bound(sums.begin(), sums.end(), sum);
  if (place == sums.end() || *place != sum) sums.insert(place, std::move(sum));
}

inline Value plain(std::uint8_t kinds) {
  Value v;
  v.kinds = kinds;
  return v;
}

// Either of the two.
inline void join(Value& to, const Value& from) {
  if (from.kinds == 0) return;
  const bool same_param = to.kinds == 0 || (to.param == from.param && to.param_offset == from.param_offset);
  if (to.kinds == 0) {
    to.param = from.param;
    to.param_offset = from.param_offset;
  } else if (!same_param) {
    to.param = Value::Param::sometimes;
    to.param_offset = 0;
  }
  to.kinds |= from.kinds;
  for (const Sum& s : from.sums) insert(to.sums, s);
  unite(to.mixed, from.mixed);
}

// Any function of the two that isn't known to keep an address.
inline Value mix(const Value& a, const Value& b) {
  Value v;
  const std::uint8_t either = a.kinds | b.kinds;
  const bool holds_loaded = (either & loaded) != 0 || std::any_of(a.sums.begin(), a.sums.end(), [](const Sum& s) { return s.loaded; }) ||
                            std::any_of(b.sums.begin(), b.sums.end(), [](const Sum& s) { return s.loaded; });
  v.kinds = static_cast<std::uint8_t>((either & variable) | (holds_loaded ? loaded : integer));
  v.mixed = a.all_words();
  unite(v.mixed, b.all_words());
  if (a.param != Value::Param::never || b.param != Value::Param::never) v.param = Value::Param::sometimes;
  return v;
}

// The sum: every alternative of the one with every alternative of the other.
inline Value sum(const Value& a, const Value& b) {
  Value v;
  const auto both = [&](Kind x, Kind y) { return (a.has(x) && b.has(y)) || (a.has(y) && b.has(x)); };
  if (both(integer, integer)) v.kinds |= integer;
  if (both(integer, loaded) || both(loaded, loaded)) v.kinds |= loaded;
  if (both(window, integer) || both(window, loaded)) v.kinds |= window;
  if (both(window, word)) v.kinds |= window;
  if (both(window, window)) v.kinds |= integer;
  if (a.has(variable) || b.has(variable)) v.kinds |= variable;
  for (const auto& [x, y] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const Sum& s : x->sums) {
      if (y->has(integer) || y->has(window)) insert(v.sums, s);
      if (y->has(loaded)) insert(v.sums, Sum{s.words, true});
    }
    unite(v.mixed, x->mixed);
  }
  for (const Sum& s : a.sums) {
    for (const Sum& t : b.sums) {
      Sum united{s.words, s.loaded || t.loaded};
      unite(united.words, t.words);
      insert(v.sums, std::move(united));
    }
  }
  if (!v.sums.empty()) v.kinds |= word;
  if (a.param != Value::Param::never || b.param != Value::Param::never) v.param = Value::Param::sometimes;
  return v;
}

}  // namespace tessera::access
