// Loads and stores: ld, ldu, st in every space and cache form, vectors; cp.async; prefetches and other hints.
#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;

// A value in memory, extended to a register's storage as its type says.
template <typename M, typename S>
inline S extend(M m) {
  if constexpr (M(-1) < M(0)) return static_cast<S>(static_cast<std::int64_t>(m));
  return static_cast<S>(m);
}

// d[i] = the word at base + at[i].
inline void gather(const std::byte* base, const std::uint32_t* at, std::uint32_t* d) {
#if defined(__AVX512F__)
  for (unsigned k = 0; k < warp_size; k += 16) {
    const __m512i where = _mm512_loadu_si512(at + k);
    _mm512_storeu_si512(d + k, _mm512_mask_i32gather_epi32(where, 0xffff, where, base, 1));
  }
#elif defined(__AVX2__)
  const auto* words = reinterpret_cast<const int*>(base);
  for (unsigned k = 0; k < warp_size; k += 8) {
    const __m256i where = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + k));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + k), _mm256_i32gather_epi32(words, where, 1));
  }
#else
  TESSERA_EACH_LANE(i) d[i] = *reinterpret_cast<const std::uint32_t*>(base + at[i]);
#endif
}

// Shared memory by 32-bit addresses with all lanes on, which is nearly always: no detour over 64-bit host addresses.
// False: nothing was done, the general way must be taken.
template <typename M, typename S>
inline bool load_shared_quickly(Warp& w, const Op& op) {
  if (w.exec != full_mask || op.count != 1 || !op.a.valid() || (op.y & 1u) != 0) return false;
  const auto* a = w.at<const std::uint32_t>(op.a);
  const auto offset = static_cast<std::uint32_t>(op.imm);
  alignas(64) std::uint32_t at[warp_size];
  std::uint32_t highest = 0, bits = 0, difference = 0;
  TESSERA_EACH_LANE(i) at[i] = a[i] + offset;
  for (unsigned i = 0; i < warp_size; ++i) {
    highest = at[i] > highest ? at[i] : highest;
    bits |= at[i];
    difference |= at[i] ^ (at[0] + i * static_cast<std::uint32_t>(sizeof(M)));
  }
  Cta& cta = *w.cta;
  if (std::uint64_t{highest} + sizeof(M) > cta.shared_bytes || (bits & (sizeof(M) - 1)) != 0) return false;
  count_shared(cta, Access::read, sizeof(M) * warp_size);
  auto* d = w.at<S>(op.d);
  const std::byte* base = cta.shared;
  if (difference == 0) {
    const auto* from = reinterpret_cast<const M*>(base + at[0]);
    TESSERA_EACH_LANE(i) d[i] = extend<M, S>(from[i]);
  } else if constexpr (sizeof(M) == 4 && sizeof(S) == 4) {
    gather(base, at, d);
  } else {
    TESSERA_EACH_LANE(i) d[i] = extend<M, S>(*reinterpret_cast<const M*>(base + at[i]));
  }
  return true;
}

// d = destination (or e.bits = first of `count` in the lists), width = bytes of the whole access.
template <typename SpacePolicy, typename M, typename S>
void load(Warp& w, const Op& op) {
  if constexpr (__is_same(SpacePolicy, SharedSpace)) {
    if (load_shared_quickly<M, S>(w, op)) return;
  }
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  if (!SpacePolicy::resolve(w, op, p, op.width, Access::read, pattern)) return;
  if (op.count == 1 && pattern == Pattern::contiguous) {
    const auto* from = reinterpret_cast<const M*>(p.at[0]);
    auto* d = w.at<S>(op.d);
    TESSERA_EACH_LANE(i) d[i] = extend<M, S>(from[i]);
    return;
  }
  if (op.count == 1 && w.exec == full_mask) {
    auto* d = w.at<S>(op.d);
    for (unsigned i = 0; i < warp_size; ++i) d[i] = extend<M, S>(*reinterpret_cast<const M*>(p.at[i]));
    return;
  }
  for (unsigned k = 0; k < op.count; ++k) {
    const Slot to = op.count == 1 ? op.d : w.lists[op.e.bits + k];
    if (!to.valid()) continue;
    auto* d = w.at<S>(to);
    each_lane_of(w.exec, [&](unsigned i) { d[i] = extend<M, S>(reinterpret_cast<const M*>(p.at[i])[k]); });
  }
}

template <typename SpacePolicy, typename M, typename S>
void store(Warp& w, const Op& op) {
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  if (!SpacePolicy::resolve(w, op, p, op.width, Access::write, pattern)) return;
  if (op.count == 1) {
    const auto* s = w.at<const S>(op.b);
    if (pattern == Pattern::contiguous) {
      auto* to = reinterpret_cast<M*>(p.at[0]);
      TESSERA_EACH_LANE(i) to[i] = static_cast<M>(s[i]);
    } else {
      each_lane_of(w.exec, [&](unsigned i) { *reinterpret_cast<M*>(p.at[i]) = static_cast<M>(s[i]); });
    }
    return;
  }
  // Lane by lane, so that of two lanes that write to one place the higher one wins with its whole vector.
  each_lane_of(w.exec, [&](unsigned i) {
    for (unsigned k = 0; k < op.count; ++k) reinterpret_cast<M*>(p.at[i])[k] = static_cast<M>(w.at<const S>(w.lists[op.e.bits + k])[i]);
  });
}

// Parameters of a kernel at a fixed place: the same for all lanes.
template <typename M, typename S>
void load_parameter(Warp& w, const Op& op) {
  const std::byte* from = w.cta->launch.config->params.data() + op.imm;
  for (unsigned k = 0; k < op.count; ++k) {
    const Slot to = op.count == 1 ? op.d : w.lists[op.e.bits + k];
    if (!to.valid()) continue;
    M m;
    __builtin_memcpy(&m, from + k * sizeof(M), sizeof(M));
    const S value = extend<M, S>(m);
    auto* d = w.at<S>(to);
    if (w.exec == full_mask) {
      TESSERA_EACH_LANE(i) d[i] = value;
    } else {
      each_lane_of(w.exec, [&](unsigned i) { d[i] = value; });
    }
  }
}

// Variables of the running activation in local memory: the offset counts from its base.
struct FrameSpace {
  static bool resolve(Warp& w, const Op& op, Addresses& p, unsigned width, Access access, Pattern& pattern) {
    TESSERA_EACH_LANE(i) p.at[i] += w.local_base;
    return LocalSpace::resolve(w, op, p, width, access, pattern);
  }
};

// Calls f with Tag of the type in memory.
template <typename F>
Choice with_memory_type(Type t, F&& f) {
  switch (ptx::bytes_of(t)) {
    case 1:
      return t == Type::s8 ? f(Tag<std::int8_t>{}) : f(Tag<std::uint8_t>{});
    case 2:
      return t == Type::s16 ? f(Tag<std::int16_t>{}) : f(Tag<std::uint16_t>{});
    case 4:
      return t == Type::s32 ? f(Tag<std::int32_t>{}) : f(Tag<std::uint32_t>{});
    case 8:
      return f(Tag<std::uint64_t>{});
    default:
      return {};
  }
}

template <typename SpacePolicy>
Choice access_in(const Form& f) {
  const bool is_store = f.opcode == Opcode::st;
  const unsigned storage = is_store ? f.src_bytes : f.dst_bytes;
  return with_memory_type(f.types[0], [&]<typename G>(G) -> Choice {
    using M = typename G::type;
    if (storage == 8) {
      using S = std::uint64_t;
      return {.fn = is_store ? Handler{store<SpacePolicy, M, S>} : Handler{load<SpacePolicy, M, S>}};
    }
    if constexpr (sizeof(M) <= 4) {
      using S = std::uint32_t;
      return {.fn = is_store ? Handler{store<SpacePolicy, M, S>} : Handler{load<SpacePolicy, M, S>}};
    }
    return {};
  });
}

Choice parameter_load(const Form& f) {
  return with_memory_type(f.types[0], [&]<typename G>(G) -> Choice {
    using M = typename G::type;
    if (f.dst_bytes == 8) return {.fn = load_parameter<M, std::uint64_t>};
    if constexpr (sizeof(M) <= 4) return {.fn = load_parameter<M, std::uint32_t>};
    return {};
  });
}

// ---- cp.async: done at once; commit and wait have nothing left to do

// d = destination in shared memory, a = source in global memory, b = bytes to read (if any); imm = both offsets; c = ignore-src predicate.
void copy_async(Warp& w, const Op& op) {
  Addresses from, to;
  const auto to_offset = static_cast<std::uint32_t>(op.imm), from_offset = static_cast<std::uint32_t>(op.imm >> 32);
  const auto sign = [](std::uint32_t v) { return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(v)}); };
  const auto addresses = [&](Slot s, bool wide, std::uint64_t offset, Addresses& p) {
    for (unsigned i = 0; i < warp_size; ++i) {
      p.at[i] = (wide ? w.at<const std::uint64_t>(s)[i] : std::uint64_t{w.at<const std::uint32_t>(s)[i]}) + offset;
    }
  };
  addresses(op.d, (op.y & 2u) != 0, sign(to_offset), to);
  addresses(op.a, (op.y & 1u) != 0, sign(from_offset), from);
  const std::uint32_t exec = w.exec;
  const std::uint32_t ignored = op.c.valid() ? w.predicate(op.c) : 0u;
  std::uint32_t reading = exec & ~ignored;
  std::uint32_t sizes[warp_size];
  each_lane_of(exec, [&](unsigned i) {
    sizes[i] = op.b.valid() ? w.at<const std::uint32_t>(op.b)[i] : op.width;
    if (sizes[i] > op.width) sizes[i] = op.width;
    if (sizes[i] == 0) reading &= ~(1u << i);
  });
  Pattern pattern = Pattern::scattered;
  if (!SharedSpace::resolve(w, op, to, op.width, Access::write, pattern)) return;
  if (reading != 0) {
    w.exec = reading;
    const bool fine = GenericSpace::resolve(w, op, from, op.width, Access::read, pattern);
    w.exec = exec;
    if (!fine) return;
  }
  each_lane_of(exec, [&](unsigned i) {
    auto* target = reinterpret_cast<std::byte*>(to.at[i]);
    const unsigned size = ((reading >> i) & 1u) != 0 ? sizes[i] : 0u;
    __builtin_memcpy(target, reinterpret_cast<const void*>(from.at[i]), size);
    __builtin_memset(target + size, 0, op.width - size);
  });
}

void nothing(Warp&, const Op&) {}

Choice copy_form(const Form& f) {
  if (!f.has(Modifier::async) || f.has(Modifier::bulk) || f.has(Modifier::mbarrier)) return {};
  return {.fn = copy_async};
}

}  // namespace

// How the decoder tells frame-relative and fixed parameter accesses apart from others: see decode_memory.cpp.
Choice memory_class(const Form& f) {
  switch (f.opcode) {
    case Opcode::ld:
    case Opcode::ldu:
    case Opcode::st:
      switch (f.space) {
        case Space::generic:
          return access_in<GenericSpace>(f);
        case Space::global:
        case Space::const_:
          return access_in<GlobalSpace>(f);
        case Space::shared:
        case Space::shared_cta:
        case Space::shared_cluster:
          return access_in<SharedSpace>(f);
        case Space::local:
          return access_in<LocalSpace>(f);
        case Space::param:
          return access_in<ParamSpace>(f);
        case Space::param_func:
          return access_in<FrameSpace>(f);
        case Space::param_entry:
          return f.opcode == Opcode::st ? Choice{} : parameter_load(f);
        default:
          return {};
      }
    case Opcode::cp:
      return copy_form(f);
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::applypriority:
    case Opcode::discard:
      return {.fn = nothing};
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
