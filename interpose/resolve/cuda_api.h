// cuda.h and cudaTypedefs.h with every version of every entry point declared under its exported name.
//
// Under __CUDA_API_VERSION_INTERNAL the header takes its renaming macros back at its end, so that ::cuMemAlloc_v2 and
// ::cuMemcpyHtoD_v2_ptds can be named. Include this instead of cuda.h anywhere in interpose/.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaTypedefs.h>
