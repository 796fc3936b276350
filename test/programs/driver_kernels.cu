// The kernels of the programs that use the driver API; compiled to PTX and to a fat binary.

extern "C" __global__ void saxpy(float factor, const float* x, const float* y, float* out, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = __fmaf_rn(factor, x[i], y[i]);
}

// Swaps neighbours within a block through dynamic shared memory.
extern "C" __global__ void swap_neighbours(float* values, unsigned count) {
  extern __shared__ float shared[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) shared[threadIdx.x] = values[i];
  __syncthreads();
  const unsigned other = threadIdx.x ^ 1U;
  if (i < count && (i ^ 1U) < count) values[i] = shared[other];
}

__device__ unsigned launches;

extern "C" __global__ void count_launch(unsigned step) { launches += step; }
