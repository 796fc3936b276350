// The semantics of all instruction classes, once for each instruction set that they are compiled for.
//
// best_semantics() chooses by what this machine's processor has. All variants give the same bits. Threads: constant data.
#pragma once

#include "tools/simgpu/exec/form.h"
#include "tools/simgpu/exec/move_kinds.h"

namespace tessera::simgpu {

struct Semantics {
  const char* name;
  // Register-to-register classes: asked in this order by choose().
  Choice (*integer)(const Form&);
  Choice (*bits)(const Form&);
  Choice (*compare)(const Form&);
  Choice (*floating)(const Form&);
  Choice (*half)(const Form&);
  Choice (*approximate)(const Form&);
  Choice (*convert)(const Form&);
  Choice (*move)(const Form&);
  Choice (*memory)(const Form&);  // ld, st, ldu, cp.async, ldmatrix, …
  Choice (*atomic)(const Form&);
  Choice (*warp_ops)(const Form&);
  Choice (*matrix)(const Form&);
  Choice (*mbarrier)(const Form&);  // and bulk copies
  Choice (*wmma)(const Form&);
  Handler (*move_kind)(MoveKind kind, bool wide);  // wide: the packed side has 64 bits
  // The first class that offers the instruction.
  [[nodiscard]] Choice choose(const Form& form) const;
};

[[nodiscard]] const Semantics& best_semantics();
// All that this machine can run, slowest first; for tests that compare them.
[[nodiscard]] const Semantics* const* runnable_semantics(unsigned& count);

}  // namespace tessera::simgpu
