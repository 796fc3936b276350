// The table of one instruction set.
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/semantics.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {

#define TESSERA_TEXT2(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT2(x)
extern const Semantics table;
const Semantics table = {
    .name = TESSERA_TEXT(TESSERA_SIMEXEC_ISA),
    .integer = integer_class,
    .bits = bits_class,
    .compare = compare_class,
    .floating = floating_class,
    .half = half_class,
    .approximate = approximate_class,
    .convert = convert_class,
    .move = move_class,
    .memory = memory_class,
    .atomic = atomic_class,
    .warp_ops = warp_class,
    .matrix = matrix_class,
    .mbarrier = mbarrier_class,
    .wmma = wmma_class,
    .move_kind = move_kind,
};

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
