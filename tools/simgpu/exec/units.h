// Which unit of the GPU an instruction occupies.
// Threads: pure function.
#pragma once

#include "tools/simgpu/exec/code.h"
#include "tools/simgpu/exec/form.h"

namespace tessera::simgpu {

// Adds what one execution costs a lane (tensor operations: the whole warp).
void add_cost(const Form& form, BlockCost& cost);

}  // namespace tessera::simgpu
