// mma.sync of the dense shapes, with f16, bf16, tf32, fp8, f64 and integer inputs of 8, 4 and 1 bits.
//
// Where an element of a matrix lies (lane, register, part) is a formula a shape: PTX ISA, "Matrix Fragments for mma". Sums: products are
// exact, added in double from k = 0 upwards to the accumulator, and rounded once at the end; the hardware's order isn't documented.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/lanes.h"
#include "tools/simgpu/exec/narrow.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
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

template <const Format& F>
struct Fp8Input {
  static constexpr unsigned a_part = 4;
  static double value(U32 r, unsigned part) { return widen(F, (r >> (8 * part)) & 0xffu); }
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
template <typename In, typename BIn, typename Sum, unsigned K>
void mma(Warp& w, const Op& op) {
  static_assert(In::a_part == BIn::a_part);
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
      for (unsigned p = 0; p < parts; ++p) b_matrix[lane / 4][lane % 4 * parts + p + 4 * parts * r] = BIn::value(b[lane], p);
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

// How the elements of two integer registers are multiplied; `bits` of each.
template <unsigned Bits, bool ASigned, bool BSigned>
struct IntegerProduct {
  static constexpr unsigned bits = Bits;
  static std::int32_t element(U32 r, unsigned p, bool sign) {
    const U32 raw = r << (32 - Bits * (p + 1));
    return sign ? static_cast<std::int32_t>(raw) >> (32 - Bits) : static_cast<std::int32_t>(raw >> (32 - Bits));
  }
  static std::int32_t a(U32 r, unsigned p) { return element(r, p, ASigned); }
  static std::int32_t b(U32 r, unsigned p) { return element(r, p, BSigned); }
  static std::int32_t product(std::int32_t x, std::int32_t y) { return x * y; }
};
template <bool Xor>
struct BitProduct {
  static constexpr unsigned bits = 1;
  static std::int32_t a(U32 r, unsigned p) { return static_cast<std::int32_t>(r >> p & 1u); }
  static std::int32_t b(U32 r, unsigned p) { return a(r, p); }
  static std::int32_t product(std::int32_t x, std::int32_t y) { return Xor ? x ^ y : x & y; }
};

// mRn8kK with integers; sums wrap, or saturate with .satfinite (op.x).
template <typename Product, unsigned Rows, unsigned K>
void mma_integers(Warp& w, const Op& op) {
  constexpr unsigned parts = 32 / Product::bits, bands = Rows / 8;
  constexpr unsigned a_registers = K * Rows / (warp_size * parts), b_registers = a_registers / bands, sums = 2 * bands;
  const Slot* list = w.lists + op.e.bits;
  std::int32_t a_matrix[Rows][K], b_matrix[columns][K];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned p = 0; p < parts; ++p) {
      const unsigned k = lane % 4 * parts + p;
      for (unsigned r = 0; r < a_registers; ++r)
        a_matrix[lane / 4 + 8 * (r % bands)][k + 4 * parts * (r / bands)] = Product::a(w.at<const U32>(list[sums + r])[lane], p);
      for (unsigned r = 0; r < b_registers; ++r)
        b_matrix[lane / 4][k + 4 * parts * r] = Product::b(w.at<const U32>(list[sums + a_registers + r])[lane], p);
    }
  }
  U32 result[sums][warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < sums; ++e) {
      const unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      std::int64_t sum = static_cast<std::int32_t>(w.at<const U32>(list[sums + a_registers + b_registers + e])[lane]);
      for (unsigned k = 0; k < K; ++k) sum += Product::product(a_matrix[row][k], b_matrix[column][k]);
      if (op.x != 0) sum = sum > 0x7fffffff ? 0x7fffffff : sum < -0x80000000ll ? -0x80000000ll : sum;
      result[e][lane] = static_cast<U32>(sum);
    }
  }
  for (unsigned e = 0; e < sums; ++e) __builtin_memcpy(w.at<U32>(list[e]), result[e], sizeof result[e]);
}

// mRn8kK of f64: fused multiply-adds in the order of k. A register holds one element, of every fourth k.
template <unsigned Rows, unsigned K>
void mma_double(Warp& w, const Op& op) {
  constexpr unsigned bands = Rows / 8, a_registers = K / 4 * bands, b_registers = K / 4, sums = 2 * bands;
  const Slot* list = w.lists + op.e.bits;
  double a_matrix[Rows][K], b_matrix[columns][K], result[sums][warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned r = 0; r < a_registers; ++r)
      a_matrix[lane / 4 + 8 * (r % bands)][lane % 4 + 4 * (r / bands)] = w.at<const double>(list[sums + r])[lane];
    for (unsigned r = 0; r < b_registers; ++r)
      b_matrix[lane / 4][lane % 4 + 4 * r] = w.at<const double>(list[sums + a_registers + r])[lane];
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned e = 0; e < sums; ++e) {
      double sum = w.at<const double>(list[sums + a_registers + b_registers + e])[lane];
      const unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      for (unsigned k = 0; k < K; ++k) sum = __builtin_fma(a_matrix[row][k], b_matrix[column][k], sum);
      result[e][lane] = sum;
    }
  }
  for (unsigned e = 0; e < sums; ++e) __builtin_memcpy(w.at<double>(list[e]), result[e], sizeof result[e]);
}

template <typename In, unsigned K, typename BIn = In>
Choice float_mma(Type sum) {
  constexpr unsigned inputs = K * rows / (warp_size * In::a_part) * 3 / 2;
  if (sum == Type::f32) return {.fn = mma<In, BIn, FloatSum, K>, .imm = inputs + 8};
  if (sum == Type::f16 && (__is_same(In, F16Input) || In::a_part == 4)) return {.fn = mma<In, BIn, HalfSum, K>, .imm = inputs + 4};
  return {};
}
template <unsigned K>
Choice fp8_mma(const Form& f) {
  const Type a = f.types[1], b = f.types[2], sum = f.types[0];
  if (b != Type::e4m3 && b != Type::e5m2) return {};
  using E4m3 = Fp8Input<format_e4m3>;
  using E5m2 = Fp8Input<format_e5m2>;
  if (a == Type::e4m3) return b == Type::e4m3 ? float_mma<E4m3, K>(sum) : float_mma<E4m3, K, E5m2>(sum);
  return b == Type::e4m3 ? float_mma<E5m2, K, E4m3>(sum) : float_mma<E5m2, K>(sum);
}

template <unsigned Rows, unsigned K>
Choice double_mma() {
  return {.fn = mma_double<Rows, K>, .imm = K / 4 * (Rows / 8) + K / 4 + 4 * (Rows / 8)};
}

template <typename Product, unsigned Rows, unsigned K>
Choice integer_mma(const Form& f) {
  constexpr unsigned a_registers = K * Rows * Product::bits / (warp_size * 32);
  return {.fn = mma_integers<Product, Rows, K>,
          .imm = a_registers + a_registers / (Rows / 8) + 4 * (Rows / 8),
          .x = f.has(Modifier::satfinite) ? std::uint16_t{1} : std::uint16_t{0}};
}
template <unsigned Bits, unsigned Rows, unsigned K>
Choice signed_mma(const Form& f) {
  const bool a = f.types[1] == Type::s8 || f.types[1] == Type::s4, b = f.types[2] == Type::s8 || f.types[2] == Type::s4;
  if (a) return b ? integer_mma<IntegerProduct<Bits, true, true>, Rows, K>(f) : integer_mma<IntegerProduct<Bits, true, false>, Rows, K>(f);
  return b ? integer_mma<IntegerProduct<Bits, false, true>, Rows, K>(f) : integer_mma<IntegerProduct<Bits, false, false>, Rows, K>(f);
}
template <unsigned Rows, unsigned K>
Choice bit_mma(const Form& f) {
  if (!f.has(Modifier::popc)) return {};
  if (f.has(Modifier::xor_)) return integer_mma<BitProduct<true>, Rows, K>(f);
  return f.has(Modifier::and_) ? integer_mma<BitProduct<false>, Rows, K>(f) : Choice{};
}

Choice multiply_integers(const Form& f) {
  if (f.types[0] != Type::s32) return {};
  using M = Modifier;
  const M shape = f.first_of({M::m16n8k16, M::m16n8k32, M::m16n8k64, M::m16n8k128, M::m16n8k256, M::m8n8k16, M::m8n8k32, M::m8n8k128});
  switch (f.types[1]) {
    case Type::s8:
    case Type::u8:
      if (shape == M::m16n8k32) return signed_mma<8, 16, 32>(f);
      if (shape == M::m16n8k16) return signed_mma<8, 16, 16>(f);
      return shape == M::m8n8k16 ? signed_mma<8, 8, 16>(f) : Choice{};
    case Type::s4:
    case Type::u4:
      if (shape == M::m16n8k64) return signed_mma<4, 16, 64>(f);
      if (shape == M::m16n8k32) return signed_mma<4, 16, 32>(f);
      return shape == M::m8n8k32 ? signed_mma<4, 8, 32>(f) : Choice{};
    case Type::b1:
      if (shape == M::m16n8k256) return bit_mma<16, 256>(f);
      if (shape == M::m16n8k128) return bit_mma<16, 128>(f);
      return shape == M::m8n8k128 ? bit_mma<8, 128>(f) : Choice{};
    default:
      return {};
  }
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
    case Type::e4m3:
    case Type::e5m2:
      return k32 ? fp8_mma<32>(f) : k16 ? fp8_mma<16>(f) : Choice{};
    case Type::f64:
      if (f.has(Modifier::m8n8k4)) return double_mma<8, 4>();
      return k4 ? double_mma<16, 4>() : k8 ? double_mma<16, 8>() : k16 ? double_mma<16, 16>() : Choice{};
    default:
      return multiply_integers(f);
  }
}

}  // namespace

Choice mma_class(const Form& f) { return f.opcode == Opcode::mma ? multiply(f) : Choice{}; }

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
