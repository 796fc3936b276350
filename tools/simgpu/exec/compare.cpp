// Comparison and selection: setp, set, selp, slct; all comparisons, boolean combiners, p|q.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/float_ops.h"
#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

// How a setp ends: op.x says how the comparison is combined with the predicate in c.
enum class Combine : std::uint16_t { none, and_, or_, xor_ };

inline std::uint32_t combine(Combine how, std::uint32_t compared, std::uint32_t c) {
  switch (how) {
    case Combine::and_:
      return compared & c;
    case Combine::or_:
      return compared | c;
    case Combine::xor_:
      return compared ^ c;
    default:
      return compared;
  }
}

// d = cmp ∘ c; d|q: q = !cmp ∘ c.
inline void conclude(Warp& w, const Op& op, std::uint32_t compared) {
  const auto how = static_cast<Combine>(op.x);
  std::uint32_t c = 0;
  if (how != Combine::none) c = w.predicate(op.c);
  if (op.d.valid()) w.set_predicate(op.d, combine(how, compared, c));
  if (op.e.valid()) w.set_predicate(op.e, combine(how, ~compared, c));
}

template <typename F, typename T>
void setp(Warp& w, const Op& op) {
  conclude(w, op, lanes_where<F, T, T>(w.at<const Storage<T>>(op.a), w.at<const Storage<T>>(op.b)));
}

// setp.f16x2: d from the low halves, q from the high ones.
template <typename F, typename H>
void setp_pair(Warp& w, const Op& op) {
  const auto* a = w.at<const std::uint32_t>(op.a);
  const auto* b = w.at<const std::uint32_t>(op.b);
  std::uint32_t low = 0, high = 0;
  for (unsigned i = 0; i < warp_size; ++i) {
    low |= (F::apply(H::widen(a[i] & 0xffff), H::widen(b[i] & 0xffff)) ? 1u : 0u) << i;
    high |= (F::apply(H::widen(a[i] >> 16), H::widen(b[i] >> 16)) ? 1u : 0u) << i;
  }
  const auto how = static_cast<Combine>(op.x);
  std::uint32_t c = 0;
  if (how != Combine::none) c = w.predicate(op.c);
  if (op.d.valid()) w.set_predicate(op.d, combine(how, low, c));
  if (op.e.valid()) w.set_predicate(op.e, combine(how, high, c));
}

// set: true is all ones, or 1.0 where the destination is floating; D is the bits of "true" of its storage.
template <typename F, typename T, typename D>
void set(Warp& w, const Op& op) {
  std::uint32_t mask = lanes_where<F, T, T>(w.at<const Storage<T>>(op.a), w.at<const Storage<T>>(op.b));
  const auto how = static_cast<Combine>(op.x);
  if (how != Combine::none) mask = combine(how, mask, w.predicate(op.c));
  auto* d = w.at<D>(op.d);
  const D yes = static_cast<D>(op.imm);
  TESSERA_EACH_LANE(i) {
    const D value = ((mask >> i) & 1u) != 0 ? yes : D(0);
    d[i] = ((w.exec >> i) & 1u) != 0 ? value : d[i];
  }
}
template <typename F, typename H>
void set_pair(Warp& w, const Op& op) {
  const auto* a = w.at<const std::uint32_t>(op.a);
  const auto* b = w.at<const std::uint32_t>(op.b);
  auto* d = w.at<std::uint32_t>(op.d);
  const auto how = static_cast<Combine>(op.x);
  const std::uint32_t c = how == Combine::none ? 0u : w.predicate(op.c);
  const auto yes = static_cast<std::uint32_t>(op.imm);
  for (unsigned i = 0; i < warp_size; ++i) {
    if (((w.exec >> i) & 1u) == 0) continue;
    const std::uint32_t ci = (c >> i) & 1u;
    const std::uint32_t low = combine(how, F::apply(H::widen(a[i] & 0xffff), H::widen(b[i] & 0xffff)) ? 1u : 0u, ci);
    const std::uint32_t high = combine(how, F::apply(H::widen(a[i] >> 16), H::widen(b[i] >> 16)) ? 1u : 0u, ci);
    d[i] = (low != 0 ? yes : 0u) | (high != 0 ? yes << 16 : 0u);
  }
}

enum class Test : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <Test K, typename T>
inline bool holds(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (K) {
    case Test::eq:
      return a == b;
    case Test::ne:
      return a < b || a > b;
    case Test::lt:
      return a < b;
    case Test::le:
      return a <= b;
    case Test::gt:
      return a > b;
    case Test::ge:
      return a >= b;
    case Test::equ:
      return a == b || unordered;
    case Test::neu:
      return !(a == b);
    case Test::ltu:
      return !(a >= b);
    case Test::leu:
      return !(a > b);
    case Test::gtu:
      return !(a <= b);
    case Test::geu:
      return !(a < b);
    case Test::num:
      return !unordered;
    case Test::nan:
      return unordered;
  }
  return false;
}
template <Test K, typename T, bool Ftz>
struct Compare {
  static bool apply(T a, T b) {
    if constexpr (Ftz && sizeof(T) == 4) return holds<K, T>(flush(a), flush(b));
    return holds<K, T>(a, b);
  }
};
template <Test K, typename H>
struct CompareHalf {
  static bool apply(std::uint16_t a, std::uint16_t b) { return holds<K, float>(H::widen(a), H::widen(b)); }
};
template <Test K>
struct CompareWide {
  static bool apply(float a, float b) { return holds<K, float>(a, b); }
};

// Calls f<Test>() for the comparison that the form names.
template <typename F>
Choice with_test(const Form& form, bool integer, F&& f) {
  using M = Modifier;
  switch (form.first_of({M::eq, M::ne, M::lt, M::le, M::gt, M::ge, M::lo, M::ls, M::hi, M::hs, M::equ, M::neu, M::ltu, M::leu, M::gtu,
                         M::geu, M::num, M::nan})) {
    case M::eq:
      return f.template operator()<Test::eq>();
    case M::ne:
      return f.template operator()<Test::ne>();
    case M::lt:
    case M::lo:
      return f.template operator()<Test::lt>();
    case M::le:
    case M::ls:
      return f.template operator()<Test::le>();
    case M::gt:
    case M::hi:
      return f.template operator()<Test::gt>();
    case M::ge:
    case M::hs:
      return f.template operator()<Test::ge>();
    default:
      break;
  }
  if (integer) return {};
  switch (form.first_of({M::equ, M::neu, M::ltu, M::leu, M::gtu, M::geu, M::num, M::nan})) {
    case M::equ:
      return f.template operator()<Test::equ>();
    case M::neu:
      return f.template operator()<Test::neu>();
    case M::ltu:
      return f.template operator()<Test::ltu>();
    case M::leu:
      return f.template operator()<Test::leu>();
    case M::gtu:
      return f.template operator()<Test::gtu>();
    case M::geu:
      return f.template operator()<Test::geu>();
    case M::num:
      return f.template operator()<Test::num>();
    case M::nan:
      return f.template operator()<Test::nan>();
    default:
      return {};
  }
}

// Calls f with (Compare functor, type) of the form's source type.
template <typename F>
Choice with_comparison(const Form& form, Type source, F&& f) {
  if (source == Type::f32) {
    return with_test(form, false, [&]<Test K>() {
      if (form.ftz) return f.template operator()<Compare<K, float, true>, float>();
      return f.template operator()<Compare<K, float, false>, float>();
    });
  }
  if (source == Type::f64)
    return with_test(form, false, [&]<Test K>() { return f.template operator()<Compare<K, double, false>, double>(); });
  if (source == Type::f16) {
    return with_test(form, false, [&]<Test K>() { return f.template operator()<CompareHalf<K, F16>, std::uint16_t>(); });
  }
  if (source == Type::bf16) {
    return with_test(form, false, [&]<Test K>() { return f.template operator()<CompareHalf<K, Bf16>, std::uint16_t>(); });
  }
  return with_int(source, [&]<typename G>(G) {
    using T = typename G::type;
    return with_test(form, true, [&]<Test K>() { return f.template operator()<Compare<K, T, false>, T>(); });
  });
}

Combine combine_of(const Form& f) {
  switch (f.first_of({Modifier::and_, Modifier::or_, Modifier::xor_})) {
    case Modifier::and_:
      return Combine::and_;
    case Modifier::or_:
      return Combine::or_;
    case Modifier::xor_:
      return Combine::xor_;
    default:
      return Combine::none;
  }
}

Choice set_predicate_of(const Form& f) {
  const Type t = f.types[0];
  const auto how = static_cast<std::uint16_t>(combine_of(f));
  const Shape shape{Type::pred, t, t, how == 0 ? Type::none : Type::pred, Type::none};
  if (t == Type::f16x2 || t == Type::bf16x2) {
    return with_test(f, false, [&]<Test K>() -> Choice {
      return {.fn = t == Type::f16x2 ? setp_pair<CompareWide<K>, F16> : setp_pair<CompareWide<K>, Bf16>, .shape = shape, .x = how};
    });
  }
  return with_comparison(f, t, [&]<typename C, typename T>() -> Choice { return {.fn = setp<C, T>, .shape = shape, .x = how}; });
}

Choice set_value(const Form& f) {
  const Type d = f.types[0], t = f.types[1];
  const auto how = static_cast<std::uint16_t>(combine_of(f));
  const Shape shape{d, t, t, how == 0 ? Type::none : Type::pred, Type::none};
  std::uint64_t yes = ~std::uint64_t{0};
  if (d == Type::f32) yes = 0x3f800000u;
  if (d == Type::f16 || d == Type::f16x2) yes = 0x3c00u;
  if (d == Type::bf16 || d == Type::bf16x2) yes = 0x3f80u;
  if (t == Type::f16x2 || t == Type::bf16x2) {
    if (!ptx::is_float(d)) yes = 0xffffu;
    return with_test(f, false, [&]<Test K>() -> Choice {
      return {
          .fn = t == Type::f16x2 ? set_pair<CompareWide<K>, F16> : set_pair<CompareWide<K>, Bf16>, .shape = shape, .imm = yes, .x = how};
    });
  }
  return with_comparison(
      f, t, [&]<typename C, typename T>() -> Choice { return {.fn = set<C, T, std::uint32_t>, .shape = shape, .imm = yes, .x = how}; });
}

template <typename S>
void selp(Warp& w, const Op& op) {
  const auto* a = w.at<const S>(op.a);
  const auto* b = w.at<const S>(op.b);
  auto* d = w.at<S>(op.d);
  const std::uint32_t p = w.predicate(op.c);
  if (w.exec == full_mask) {
    TESSERA_EACH_LANE(i) d[i] = ((p >> i) & 1u) != 0 ? a[i] : b[i];
  } else {
    alignas(64) S t[warp_size];
    TESSERA_EACH_LANE(i) t[i] = ((p >> i) & 1u) != 0 ? a[i] : b[i];
    blend(d, t, w.exec);
  }
}

template <typename S>
struct SelectBySign {
  static S apply(S a, S b, std::int32_t c) { return c >= 0 ? a : b; }
};
template <typename S, bool Ftz>
struct SelectByFloat {
  static S apply(S a, S b, float c) { return maybe_flush<Ftz>(c) >= 0.0f ? a : b; }
};

template <typename S>
Choice select_by(const Form& f, Type t) {
  const Type by = f.types[1];
  const Shape shape{t, t, t, by, Type::none};
  if (by == Type::s32) return {.fn = lanewise3<SelectBySign<S>, S, S, S, std::int32_t>, .shape = shape};
  if (by != Type::f32) return {};
  if (f.ftz) return {.fn = lanewise3<SelectByFloat<S, true>, S, S, S, float>, .shape = shape};
  return {.fn = lanewise3<SelectByFloat<S, false>, S, S, S, float>, .shape = shape};
}

}  // namespace

Choice compare_class(const Form& f) {
  const Type t = f.types[0];
  const bool wide = ptx::bytes_of(t) == 8;
  switch (f.opcode) {
    case Opcode::setp:
      return set_predicate_of(f);
    case Opcode::set:
      return set_value(f);
    case Opcode::selp:
      if (t == Type::b128) return {};
      return {.fn = wide ? selp<std::uint64_t> : selp<std::uint32_t>, .shape = {t, t, t, Type::pred, Type::none}};
    case Opcode::slct:
      return wide ? select_by<std::uint64_t>(f, t) : select_by<std::uint32_t>(f, t);
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
