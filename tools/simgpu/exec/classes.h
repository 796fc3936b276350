// The classes of instructions of one instruction set; see semantics.h.
#pragma once

#include "tools/simgpu/exec/form.h"
#include "tools/simgpu/exec/move_kinds.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

Choice integer_class(const Form& form);
Choice bits_class(const Form& form);
Choice compare_class(const Form& form);
Choice floating_class(const Form& form);
Choice half_class(const Form& form);
Choice approximate_class(const Form& form);
Choice convert_class(const Form& form);
Choice move_class(const Form& form);
Choice memory_class(const Form& form);
Choice atomic_class(const Form& form);
Choice warp_class(const Form& form);
Choice matrix_class(const Form& form);  // mma too
Choice mma_class(const Form& form);
Choice mbarrier_class(const Form& form);
Choice wmma_class(const Form& form);
Handler move_kind(MoveKind kind, bool wide);

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
