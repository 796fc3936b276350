#include "tools/simgpu/exec/semantics.h"

#include <array>

namespace tessera::simgpu {

#define TESSERA_DECLARE_SEMANTICS(isa) \
  namespace isa {                      \
  extern const Semantics table;        \
  }
TESSERA_DECLARE_SEMANTICS(isa_baseline)
#if defined(TESSERA_SIMEXEC_X86)
TESSERA_DECLARE_SEMANTICS(isa_avx2)
TESSERA_DECLARE_SEMANTICS(isa_avx512)
#endif
#undef TESSERA_DECLARE_SEMANTICS

namespace {

struct Runnable {
  std::array<const Semantics*, 3> list{};
  unsigned count = 0;
};

Runnable detect() {
  Runnable r;
  r.list[r.count++] = &isa_baseline::table;
#if defined(TESSERA_SIMEXEC_X86)
  if (__builtin_cpu_supports("x86-64-v3")) r.list[r.count++] = &isa_avx2::table;
  if (__builtin_cpu_supports("x86-64-v4")) r.list[r.count++] = &isa_avx512::table;
#endif
  return r;
}

const Runnable& runnable() {
  static const Runnable r = detect();
  return r;
}

}  // namespace

Choice Semantics::choose(const Form& form) const {
  for (const auto look_up :
       {integer, bits, compare, floating, half, approximate, convert, move, memory, atomic, warp_ops, matrix, mbarrier, wmma}) {
    if (Choice choice = look_up(form)) return choice;
  }
  return {};
}

const Semantics& best_semantics() { return *runnable().list[runnable().count - 1]; }

const Semantics* const* runnable_semantics(unsigned& count) {
  count = runnable().count;
  return runnable().list.data();
}

}  // namespace tessera::simgpu
