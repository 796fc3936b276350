// Moving matrix fragments: ldmatrix, stmatrix, movmatrix. Where an element lies is a formula: PTX ISA, "Matrix Fragments for mma".
#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;
using U32 = std::uint32_t;

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
      return mma_class(f);
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
