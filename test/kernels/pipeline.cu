// Copies that overlap with the work on them: cuda::barrier, cuda::pipeline, memcpy_async, and an arrival with a token.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "test/kernels/kernels.h"

// Barriers in shared memory are initialised by their init(), not where they are declared.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

namespace kernels {
namespace {

constexpr int block_size = 128;
constexpr int batches = 6;
using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

// What every kernel here makes: from each batch another thread's element, weighed by the batch.
std::vector<unsigned> reference(const std::vector<unsigned>& in) {
  std::vector<unsigned> sums(block_size, 0);
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < block_size; ++i) sums[i] = sums[i] * 5 + in[batch * block_size + (i * 7) % block_size];
  }
  return sums;
}
template <class Launch>
void check(Run& run, Launch launch) {
  const auto in = numbers_below<unsigned>(5, std::size_t{batches} * block_size, 1ULL << 32);
  const DeviceArray<unsigned> device(in), out(block_size);
  launch(device.get(), out.get());
  CHECK_LAUNCH();
  run.expect_equal("sums", out.download(), reference(in));
}

__global__ void with_barrier(const unsigned* in, unsigned* out) {
  __shared__ BlockBarrier ready;
  __shared__ alignas(16) unsigned batch[block_size];
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  block.sync();
  unsigned sum = 0;
  for (int i = 0; i < batches; ++i) {
    cuda::memcpy_async(block, batch, in + i * block_size, cuda::aligned_size_t<16>(sizeof batch), ready);
    ready.arrive_and_wait();
    sum = sum * 5 + batch[threadIdx.x * 7 % block_size];
    ready.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}
KERNEL_CASE(pipeline_barrier) {
  check(run, [](const unsigned* in, unsigned* out) { with_barrier<<<1, block_size>>>(in, out); });
}

// Threads copy by themselves, arrive, do something else, and wait with their token.
__global__ void with_token(const unsigned* in, unsigned* out) {
  __shared__ BlockBarrier ready, used;
  __shared__ unsigned batch[block_size];
  if (threadIdx.x == 0) {
    init(&ready, blockDim.x);
    init(&used, blockDim.x);
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < batches; ++i) {
    batch[threadIdx.x] = in[i * block_size + static_cast<int>(threadIdx.x)];
    BlockBarrier::arrival_token token = ready.arrive();
    sum *= 5;
    ready.wait(std::move(token));
    sum += batch[threadIdx.x * 7 % block_size];
    used.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}
KERNEL_CASE(pipeline_token) {
  check(run, [](const unsigned* in, unsigned* out) { with_token<<<1, block_size>>>(in, out); });
}

template <int Stages>
__global__ void with_pipeline(const unsigned* in, unsigned* out) {
  __shared__ unsigned stage[Stages][block_size];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  unsigned sum = 0;
  for (int done = 0, begun = 0; done < batches; ++done) {
    for (; begun < batches && begun < done + Stages; ++begun) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[begun % Stages], in + begun * block_size, sizeof stage[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum = sum * 5 + stage[done % Stages][threadIdx.x * 7 % block_size];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
KERNEL_CASE(pipeline_two_stages) {
  check(run, [](const unsigned* in, unsigned* out) { with_pipeline<2><<<1, block_size>>>(in, out); });
}
KERNEL_CASE(pipeline_four_stages) {
  check(run, [](const unsigned* in, unsigned* out) { with_pipeline<4><<<1, block_size>>>(in, out); });
}

// The first warp copies, the others work.
__global__ void with_roles(const unsigned* in, unsigned* out) {
  __shared__ unsigned stage[2][block_size];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < 32;
  auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (produces) {
    for (int i = 0; i < batches; ++i) {
      pipe.producer_acquire();
      for (int k = static_cast<int>(threadIdx.x); k < block_size; k += 32)
        cuda::memcpy_async(&stage[i % 2][k], in + i * block_size + k, sizeof(unsigned), pipe);
      pipe.producer_commit();
    }
    return;
  }
  const unsigned lane = threadIdx.x - 32;
  unsigned sum = 0;
  for (int i = 0; i < batches; ++i) {
    pipe.consumer_wait();
    sum = sum * 5 + stage[i % 2][lane * 7 % block_size];
    pipe.consumer_release();
  }
  out[lane] = sum;
}
KERNEL_CASE(pipeline_roles) {
  check(run, [](const unsigned* in, unsigned* out) { with_roles<<<1, 32 + block_size>>>(in, out); });
}

__global__ void with_group_copy(const unsigned* in, unsigned* out) {
  __shared__ unsigned batch[2][block_size];
  const auto block = cg::this_thread_block();
  unsigned sum = 0;
  cg::memcpy_async(block, batch[0], in, sizeof batch[0]);
  for (int i = 0; i < batches; ++i) {
    if (i + 1 < batches) {
      cg::memcpy_async(block, batch[(i + 1) % 2], in + (i + 1) * block_size, sizeof batch[0]);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    sum = sum * 5 + batch[i % 2][threadIdx.x * 7 % block_size];
    block.sync();
  }
  out[threadIdx.x] = sum;
}
KERNEL_CASE(pipeline_group_copy) {
  check(run, [](const unsigned* in, unsigned* out) { with_group_copy<<<1, block_size>>>(in, out); });
}

}  // namespace
}  // namespace kernels
