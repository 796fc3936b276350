// What the analysis knows of a register: of which kinds its value may be, and which words of the parameter block are in it.
//
// Invariant: the lattice has finite height (kinds only gain bits, word lists only grow), so that the fixpoint ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "placement/access/pointer_flow.h"

namespace tessera::access {

enum Kind : std::uint8_t {
  integer = 1,    // computed from constants, thread indices, narrow parameters
  loaded = 2,     // holds something that was loaded from global memory, and no parameter word
  word = 4,       // a parameter word, plus integers or loaded values
  window = 8,     // an address in shared, local or parameter space
  variable = 16,  // an address of a module variable or function
};

struct Value {
  std::uint8_t kinds = 0;
  Words words;  // added in
  Words mixed;  // computed with
  // The address `param_offset` of parameter space, when that is all that it can be.
  enum class Param : std::uint8_t { never, exactly, sometimes } param = Param::never;
  std::int64_t param_offset = 0;

  [[nodiscard]] bool has(Kind kind) const { return (kinds & kind) != 0; }
  bool operator==(const Value&) const = default;
};

inline void unite(Words& to, const Words& from) {
  if (from.empty()) return;
  Words both;
  both.reserve(to.size() + from.size());
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
  to = std::move(both);
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
  unite(to.words, from.words);
  unite(to.mixed, from.mixed);
}

// Any function of the two that isn't known to keep an address.
inline Value mix(const Value& a, const Value& b) {
  Value v;
  const std::uint8_t either = a.kinds | b.kinds;
  v.kinds = static_cast<std::uint8_t>((either & variable) | ((either & loaded) != 0 ? loaded : integer));
  for (const Value* x : {&a, &b}) {
    unite(v.mixed, x->words);
    unite(v.mixed, x->mixed);
  }
  if (a.param != Value::Param::never || b.param != Value::Param::never) v.param = Value::Param::sometimes;
  return v;
}

// The sum: every alternative of the one with every alternative of the other.
inline Value sum(const Value& a, const Value& b) {
  Value v;
  const auto both = [&](Kind x, Kind y) { return (a.has(x) && b.has(y)) || (a.has(y) && b.has(x)); };
  if (both(integer, integer)) v.kinds |= integer;
  if (both(integer, loaded) || both(loaded, loaded)) v.kinds |= loaded;
  if (both(word, integer) || both(word, loaded) || both(word, word)) v.kinds |= word;
  if (both(window, integer) || both(window, loaded)) v.kinds |= window;
  if (both(window, word)) v.kinds |= window | word;
  if (both(window, window)) v.kinds |= integer;
  if (a.has(variable) || b.has(variable)) v.kinds |= variable;
  for (const Value* x : {&a, &b}) {
    unite(v.words, x->words);
    unite(v.mixed, x->mixed);
  }
  if (a.param != Value::Param::never || b.param != Value::Param::never) v.param = Value::Param::sometimes;
  return v;
}

}  // namespace tessera::access
