// Matrix fragments: mma.sync of the dense shapes with f16, bf16, tf32, f64 and 8-bit integer inputs; ldmatrix, stmatrix, movmatrix.
//
// Where an element of a matrix lies (lane, register, part) is a formula a shape: PTX ISA, "Matrix Fragments for mma". Sums: products are
// exact, added in double from k = 0 upwards to the accumulator, and rounded once at the end; the hardware's order isn't documented.
#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;
using U32 = std::uint32_t;

// Elements of the inputs: `a_part` of them in a 32-bit register.
struct F16Input {
  static constexpr unsigned a_part = 2;
  static double value(U32 r, unsigned part) { return static_cast<double>(F16::widen((r >> (16 * part)) & 0xffffu)); }
};
struct Bf16Input {
  static constexpr unsigned a_part = 2;
  static double value(U32 r, unsigned part) { return static_cast<double>(Bf16::widen((r >> (16 * part)) & 0xffffu)); }
};
struct Tf32Input {
  static constexpr unsigned a_part = 1;
  static double value(U32 r, unsigned) { return static_cast<double>(float_of(r & 0xffffe000u)); }
};

struct FloatSum {
  static constexpr unsigned registers = 4;
  static double get(const U32* const* c, unsigned lane, unsigned e) { return static_cast<double>(float_of(c[e][lane])); }
  static void put(U32* const* d, unsigned lane, unsigned e, double v) { d[e][lane] = bits_of(canonical(static_cast<float>(v))); }
};
struct HalfSum {
  static constexpr unsigned registers = 2;
  static double get(const U32* const* c, unsigned lane, unsigned e) {
    return static_cast<double>(F16::widen((c[e / 2][lane] >> (16 * (e % 2))) & 0xffffu));
  }
  static void put(U32* const* d, unsigned lane, unsigned e, double v) {
    const unsigned shift = 16 * (e % 2);
    d[e / 2][lane] = (d[e / 2][lane] & ~(0xffffu << shift)) | U32{F16::narrow(odd_float(v))} << shift;
  }
};

constexpr unsigned rows = 16, columns = 8;

// m16n8kK. A register r of a lane: row = lane/4 (+8 for odd r), k = (lane % 4) · parts + part (+ 4·parts for r ≥ 2). B likewise by column.
template <typename In, typename Sum, unsigned K>
void mma(Warp& w, const Op& op) {
  constexpr unsigned parts = In::a_part, a_registers = K * rows / (warp_size * parts), b_registers = a_registers / 2;
  static_assert(a_registers >= 2);
  const Slot* list = w.lists + op.e.bits;
  U32* d[4];
  const U32* c[4];
  double a_matrix[rows][K], b_matrix[columns][K];
  for (unsigned r = 0; r < Sum::registers; ++r) {
    d[r] = w.at<U32>(list[r]);
    c[r] = w.at<const U32>(list[Sum::registers + a_registers + b_registers + r]);
  }
  for (unsigned r = 0; r < a_registers; ++r) {
    const auto* a = w.at<const U32>(list[Sum::registers + r]);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned p = 0; p < parts; ++p) {
        a_matrix[lane / 4 + 8 * (r % 2)][lane % 4 * parts + p + 4 * parts * (r / 2)] = In::value(a[lane], p);
      }
    }
  }
  for (unsigned r = 0; r < b_registers; ++r) {
    const auto* b = w.at<const U32>(list[Sum::registers + a_registers + r]);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned p = 0; p < parts; ++p) b_matrix[lane / 4][lane % 4 * parts + p + 4 * parts * r] = In::value(b[lane], p);
    }
  }
  double result[warp_size][4];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      double sum = Sum::get(c, lane, e);
      for (unsigned k = 0; k < K; ++k) sum += a_matrix[row][k] * b_matrix[column][k];
      result[lane][e] = sum;
    }
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < 4; ++e) Sum::put(d, lane, e, result[lane][e]);
  }
}

// The same with 8-bit integers; sums wrap, or saturate with .satfinite (op.x).
template <bool ASigned, bool BSigned, unsigned K>
void mma_bytes(Warp& w, const Op& op) {
  constexpr unsigned a_registers = K * rows / (warp_size * 4), b_registers = a_registers / 2;
  const Slot* list = w.lists + op.e.bits;
  std::int32_t a_matrix[rows][K], b_matrix[columns][K];
  const auto element = [](U32 r, unsigned p, bool sign) {
    const U32 byte = (r >> (8 * p)) & 0xffu;
    return sign ? std::int32_t{static_cast<std::int8_t>(byte)} : static_cast<std::int32_t>(byte);
  };
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned p = 0; p < 4; ++p) {
      const unsigned k = lane % 4 * 4 + p;
      for (unsigned r = 0; r < a_registers; ++r)
        a_matrix[lane / 4 + 8 * (r % 2)][k + 16 * (r / 2)] = element(w.at<const U32>(list[4 + r])[lane], p, ASigned);
      for (unsigned r = 0; r < b_registers; ++r)
        b_matrix[lane / 4][k + 16 * r] = element(w.at<const U32>(list[4 + a_registers + r])[lane], p, BSigned);
    }
  }
  U32 result[4][warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      std::int64_t sum = static_cast<std::int32_t>(w.at<const U32>(list[4 + a_registers + b_registers + e])[lane]);
      for (unsigned k = 0; k < K; ++k) sum += std::int64_t{a_matrix[row][k]} * b_matrix[column][k];
      if (op.x != 0) sum = sum > 0x7fffffff ? 0x7fffffff : sum < -0x80000000ll ? -0x80000000ll : sum;
      result[e][lane] = static_cast<U32>(sum);
    }
  }
  for (unsigned e = 0; e < 4; ++e) __builtin_memcpy(w.at<U32>(list[e]), result[e], sizeof result[e]);
}

// m8n8k4 of f64: fused multiply-adds in the order of k.
void mma_double(Warp& w, const Op& op) {
  const Slot* list = w.lists + op.e.bits;
  const auto* a = w.at<const double>(list[2]);
  const auto* b = w.at<const double>(list[3]);
  double result[2][warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < 2; ++e) {
      double sum = w.at<const double>(list[4 + e])[lane];
      const unsigned row = lane / 4, column = lane % 4 * 2 + e;
      for (unsigned k = 0; k < 4; ++k) sum = __builtin_fma(a[row * 4 + k], b[column * 4 + k], sum);
      result[e][lane] = sum;
    }
  }
  for (unsigned e = 0; e < 2; ++e) __builtin_memcpy(w.at<double>(list[e]), result[e], sizeof result[e]);
}

template <typename In, unsigned K>
Choice float_mma(Type sum) {
  constexpr unsigned inputs = K * rows / (warp_size * In::a_part) * 3 / 2;
  if (sum == Type::f32) return {.fn = mma<In, FloatSum, K>, .imm = inputs + 8};
  if (sum == Type::f16 && __is_same(In, F16Input)) return {.fn = mma<In, HalfSum, K>, .imm = inputs + 4};
  return {};
}

template <unsigned K>
Choice byte_mma(const Form& f) {
  const bool a = f.types[1] == Type::s8, b = f.types[2] == Type::s8;
  Choice choice{.imm = K * rows / (warp_size * 4) * 3 / 2 + 8, .x = f.has(Modifier::satfinite) ? std::uint16_t{1} : std::uint16_t{0}};
  choice.fn = a ? (b ? mma_bytes<true, true, K> : mma_bytes<true, false, K>) : (b ? mma_bytes<false, true, K> : mma_bytes<false, false, K>);
  return choice;
}

Choice multiply(const Form& f) {
  if (f.has(Modifier::sp) || f.has(Modifier::block_scale) || f.type_count != 4 || f.types[0] != f.types[3]) return {};
  const Type in = f.types[1], sum = f.types[0];
  const bool k16 = f.has(Modifier::m16n8k16), k8 = f.has(Modifier::m16n8k8), k4 = f.has(Modifier::m16n8k4), k32 = f.has(Modifier::m16n8k32);
  switch (in) {
    case Type::f16:
      return k16 ? float_mma<F16Input, 16>(sum) : k8 ? float_mma<F16Input, 8>(sum) : Choice{};
    case Type::bf16:
      return k16 ? float_mma<Bf16Input, 16>(sum) : k8 ? float_mma<Bf16Input, 8>(sum) : Choice{};
    case Type::tf32:
      return k8 ? float_mma<Tf32Input, 8>(sum) : k4 ? float_mma<Tf32Input, 4>(sum) : Choice{};
    case Type::f64:
      return f.has(Modifier::m8n8k4) ? Choice{.fn = mma_double, .imm = 6} : Choice{};
    case Type::s8:
    case Type::u8:
      return sum != Type::s32 ? Choice{} : k32 ? byte_mma<32>(f) : k16 ? byte_mma<16>(f) : Choice{};
    default:
      return {};
  }
}

// ---- ldmatrix, stmatrix: lane i of each group of eight gives the address of row i of its matrix

template <typename SpacePolicy, bool Store, bool Trans>
void move_matrix(Warp& w, const Op& op) {
  Addresses p;
  Pattern pattern = Pattern::scattered;
  lane_addresses(w, op, p);
  const U32 exec = w.exec;
  w.exec = op.count == 4 ? full_mask : (1u << (8u * op.count)) - 1;
  const bool fine = SpacePolicy::resolve(w, op, p, 16, Store ? Access::write : Access::read, pattern);
  w.exec = exec;
  if (!fine) return;
  for (unsigned m = 0; m < op.count; ++m) {
    auto* r = w.at<U32>(w.lists[op.e.bits + m]);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned major = Trans ? lane % 4 * 2 + half : lane / 4, minor = Trans ? lane / 4 : lane % 4 * 2 + half;
        auto* place = reinterpret_cast<std::uint16_t*>(p.at[8 * m + major]) + minor;
        if constexpr (Store) {
          *place = static_cast<std::uint16_t>(r[lane] >> (16 * half));
        } else {
          r[lane] = (r[lane] & ~(0xffffu << (16 * half))) | U32{*place} << (16 * half);
        }
      }
    }
  }
}

void transpose(Warp& w, const Op& op) {
  U32 a[warp_size], t[warp_size];
  __builtin_memcpy(a, w.at<const U32>(op.a), sizeof a);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    t[lane] = 0;
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = lane % 4 * 2 + half, column = lane / 4;  // of the source
      t[lane] |= ((a[row * 4 + column / 2] >> (16 * (column % 2))) & 0xffffu) << (16 * half);
    }
  }
  blend(w.at<U32>(op.d), t, w.exec);
}

template <typename SpacePolicy, bool Store>
Choice matrix_in(const Form& f) {
  return {.fn = f.has(Modifier::trans) ? move_matrix<SpacePolicy, Store, true> : move_matrix<SpacePolicy, Store, false>};
}
template <bool Store>
Choice matrix_access(const Form& f) {
  if (!f.has(Modifier::m8n8) || f.types[0] != Type::b16) return {};
  if (f.space == Space::shared || f.space == Space::shared_cta) return matrix_in<SharedSpace, Store>(f);
  return f.space == Space::generic ? matrix_in<GenericSpace, Store>(f) : Choice{};
}

}  // namespace

Choice matrix_class(const Form& f) {
  switch (f.opcode) {
    case Opcode::mma:
      return multiply(f);
    case Opcode::ldmatrix:
      return matrix_access<false>(f);
    case Opcode::stmatrix:
      return matrix_access<true>(f);
    case Opcode::movmatrix:
      return f.has(Modifier::trans) && f.types[0] == Type::b16 ? Choice{.fn = transpose, .shape = {Type::b32, Type::b32, Type::none}}
                                                               : Choice{};
    default:
      return {};
  }
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
