// A context with the kernels and the buffers that the tests of graphs use. One process, three GPUs (see CMakeLists.txt).
#pragma once

#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

namespace tessera::test {

// mix: out[i] = 3 × out[i] + in[i], so that every swapped pair shows. set_condition(handle, *values): the value for a conditional node,
// then counts *values down.
inline const char* const graph_ptx = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry mix(.param .u64 out, .param .u64 in)
{
  .reg .b64 %rd<6>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.global.u32 %r7, [%rd5];
  mad.lo.u32 %r6, %r7, 3, %r6;
  st.global.u32 [%rd5], %r6;
  ret;
}
.visible .entry set_condition(.param .u64 handle, .param .u64 value)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  .reg .pred %p;
  ld.param.u64 %rd1, [handle];
  ld.param.u64 %rd2, [value];
  ld.global.u32 %r1, [%rd2];
  { .param .b64 h; .param .b32 v;
    st.param.b64 [h], %rd1; st.param.b32 [v], %r1;
    call.uni cudaGraphSetConditional, (h, v); }
  setp.ne.u32 %p, %r1, 0;
  @%p add.u32 %r1, %r1, -1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

inline void ok(CUresult code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  INFO((name == nullptr ? "?" : name));
  REQUIRE(code == CUDA_SUCCESS);
}

class GraphMachine {
 public:
  static constexpr unsigned threads = 32, ctas = 2, count = threads * ctas;

  GraphMachine() {
    ok(cuInit(0));
    ok(cuCtxCreate(&context, nullptr, 0, 0));
    ok(cuModuleLoadData(&module, graph_ptx));
    ok(cuModuleGetFunction(&mix, module, "mix"));
    ok(cuModuleGetFunction(&set_condition, module, "set_condition"));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  GraphMachine(const GraphMachine&) = delete;
  GraphMachine& operator=(const GraphMachine&) = delete;
  ~GraphMachine() { cuCtxDestroy(context); }

  [[nodiscard]] static CUdeviceptr buffer(unsigned value) {
    CUdeviceptr p = 0;
    ok(cuMemAlloc(&p, count * 4));
    ok(cuMemsetD32(p, value, count));
    return p;
  }
  [[nodiscard]] static std::vector<unsigned> read(CUdeviceptr p, std::size_t n = count) {
    std::vector<unsigned> values(n);
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(values.data(), p, n * 4));
    return values;
  }
  // Every element, when all are the same.
  [[nodiscard]] static unsigned one(CUdeviceptr p) {
    const std::vector<unsigned> values = read(p);
    for (const unsigned v : values) REQUIRE(v == values.front());
    return values.front();
  }

  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS mix_params(void** params) const {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = mix;
    p.gridDimX = ctas;
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.blockDimX = threads;
    p.kernelParams = params;
    return p;
  }
  CUgraphNode add_mix(CUgraph graph, CUdeviceptr out, CUdeviceptr in, const std::vector<CUgraphNode>& after = {}) const {
    void* params[] = {&out, &in};
    const CUDA_KERNEL_NODE_PARAMS p = mix_params(params);
    CUgraphNode node = nullptr;
    ok(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &p));
    return node;
  }
  CUgraphNode add_set_condition(CUgraph graph, CUgraphConditionalHandle handle, CUdeviceptr value,
                                const std::vector<CUgraphNode>& after = {}) const {
    void* params[] = {&handle, &value};
    CUDA_KERNEL_NODE_PARAMS p = mix_params(params);
    p.func = set_condition;
    p.gridDimX = p.blockDimX = 1;
    CUgraphNode node = nullptr;
    ok(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &p));
    return node;
  }
  void launch_mix(CUdeviceptr out, CUdeviceptr in, CUstream on) const {
    void* params[] = {&out, &in};
    ok(cuLaunchKernel(mix, ctas, 1, 1, threads, 1, 1, 0, on, params, nullptr));
  }
  [[nodiscard]] static CUgraph graph() {
    CUgraph made = nullptr;
    ok(cuGraphCreate(&made, 0));
    return made;
  }
  [[nodiscard]] static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    ok(cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  void run(CUgraph graph, int times = 1) const {
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < times; ++i) ok(cuGraphLaunch(exec, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuGraphExecDestroy(exec));
  }

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction mix = nullptr, set_condition = nullptr;
  CUstream stream = nullptr;
};

}  // namespace tessera::test
