// Loops over the 32 lanes of a warp, written so that the compiler turns them into vector code.
//
// Included by the semantics only, which are compiled once for each instruction set (TESSERA_SIMEXEC_ISA is the namespace, see
// CMakeLists.txt). Nothing here may be an entity of another namespace: the linker would merge the copies, and one built for AVX-512
// could be the one that runs on a machine without it.
// A functor F has a static apply(); it is evaluated for all lanes, also those that are switched off, so it must not trap.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "placement/ptx/tables.h"
#include "tools/simgpu/exec/form.h"
#include "tools/simgpu/exec/warp.h"

#define TESSERA_EACH_LANE(i) _Pragma("GCC ivdep") for (unsigned i = 0; i < warp_size; ++i)

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

template <unsigned Bytes>
struct StorageOf {
  using type = std::uint32_t;
};
template <>
struct StorageOf<8> {
  using type = std::uint64_t;
};
template <typename T>
using Storage = typename StorageOf<sizeof(T)>::type;

template <unsigned Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = std::uint64_t;
};
template <typename T>
using Unsigned = typename UnsignedOf<sizeof(T)>::type;

// The value of type T in a storage word, and back (integers are extended as their type says).
template <typename T>
inline T take(Storage<T> s) {
  const auto bits = static_cast<Unsigned<T>>(s);
  return __builtin_bit_cast(T, bits);
}
template <typename T>
inline Storage<T> give(T value) {
  if constexpr (sizeof(T) == sizeof(Storage<T>)) {
    return __builtin_bit_cast(Storage<T>, value);
  } else if constexpr (T(-1) < T(0)) {
    return static_cast<Storage<T>>(static_cast<std::int32_t>(value));
  } else {
    return static_cast<Storage<T>>(value);
  }
}

template <typename S>
inline void blend(S* to, const S* from, std::uint32_t mask) {
  TESSERA_EACH_LANE(i) to[i] = ((mask >> i) & 1u) != 0 ? from[i] : to[i];
}

template <typename F, typename D, typename A>
void lanewise1(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  auto* d = w.at<Storage<D>>(op.d);
  if (w.exec == full_mask) {
    TESSERA_EACH_LANE(i) d[i] = give<D>(F::apply(take<A>(a[i])));
  } else {
    alignas(64) Storage<D> t[warp_size];
    TESSERA_EACH_LANE(i) t[i] = give<D>(F::apply(take<A>(a[i])));
    blend(d, t, w.exec);
  }
}

template <typename F, typename D, typename A, typename B>
void lanewise2(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  const auto* b = w.at<const Storage<B>>(op.b);
  auto* d = w.at<Storage<D>>(op.d);
  if (w.exec == full_mask) {
    TESSERA_EACH_LANE(i) d[i] = give<D>(F::apply(take<A>(a[i]), take<B>(b[i])));
  } else {
    alignas(64) Storage<D> t[warp_size];
    TESSERA_EACH_LANE(i) t[i] = give<D>(F::apply(take<A>(a[i]), take<B>(b[i])));
    blend(d, t, w.exec);
  }
}

template <typename F, typename D, typename A, typename B, typename C>
void lanewise3(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  const auto* b = w.at<const Storage<B>>(op.b);
  const auto* c = w.at<const Storage<C>>(op.c);
  auto* d = w.at<Storage<D>>(op.d);
  if (w.exec == full_mask) {
    TESSERA_EACH_LANE(i) d[i] = give<D>(F::apply(take<A>(a[i]), take<B>(b[i]), take<C>(c[i])));
  } else {
    alignas(64) Storage<D> t[warp_size];
    TESSERA_EACH_LANE(i) t[i] = give<D>(F::apply(take<A>(a[i]), take<B>(b[i]), take<C>(c[i])));
    blend(d, t, w.exec);
  }
}

template <typename F, typename D, typename A, typename B, typename C, typename E>
void lanewise4(Warp& w, const Op& op) {
  const auto* a = w.at<const Storage<A>>(op.a);
  const auto* b = w.at<const Storage<B>>(op.b);
  const auto* c = w.at<const Storage<C>>(op.c);
  const auto* e = w.at<const Storage<E>>(op.e);
  auto* d = w.at<Storage<D>>(op.d);
  alignas(64) Storage<D> t[warp_size];
  TESSERA_EACH_LANE(i) t[i] = give<D>(F::apply(take<A>(a[i]), take<B>(b[i]), take<C>(c[i]), take<E>(e[i])));
  blend(d, t, w.exec);
}

// Bit i = whether word i is nonzero; the words are 0 or ~0.
inline std::uint32_t mask_of(const std::uint32_t* words) {
#if defined(__AVX2__)
  std::uint32_t mask = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(words + 8 * k));
    mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v))) << (8 * k);
  }
  return mask;
#elif defined(__SSE2__)
  std::uint32_t mask = 0;
  for (unsigned k = 0; k < 8; ++k) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(words + 4 * k));
    mask |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(v))) << (4 * k);
  }
  return mask;
#else
  std::uint32_t mask = 0;
  for (unsigned i = 0; i < warp_size; ++i) mask |= (words[i] & 1u) << i;
  return mask;
#endif
}

// Lanes for which F holds, all 32 evaluated.
template <typename F, typename A, typename B>
inline std::uint32_t lanes_where(const Storage<A>* a, const Storage<B>* b) {
  alignas(64) std::uint32_t words[warp_size];
  TESSERA_EACH_LANE(i) words[i] = F::apply(take<A>(a[i]), take<B>(b[i])) ? ~0u : 0u;
  return mask_of(words);
}

// Calls f with each lane of mask, lowest first.
template <typename F>
inline void each_lane_of(std::uint32_t mask, F&& f) {
  while (mask != 0) {
    f(static_cast<unsigned>(__builtin_ctz(mask)));
    mask &= mask - 1;
  }
}

template <typename T>
struct Tag {
  using type = T;
};

// Calls f with Tag<T> for an integer type of that name (bits count as unsigned); returns an empty Choice for others.
template <typename F>
inline Choice with_int(ptx::Type type, F&& f) {
  switch (type) {
    case ptx::Type::u16:
    case ptx::Type::b16:
      return f(Tag<std::uint16_t>{});
    case ptx::Type::s16:
      return f(Tag<std::int16_t>{});
    case ptx::Type::u32:
    case ptx::Type::b32:
      return f(Tag<std::uint32_t>{});
    case ptx::Type::s32:
      return f(Tag<std::int32_t>{});
    case ptx::Type::u64:
    case ptx::Type::b64:
      return f(Tag<std::uint64_t>{});
    case ptx::Type::s64:
      return f(Tag<std::int64_t>{});
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
