// Launches.
#include <deque>

#include "interpose/hooks/hook.h"
#include "interpose/launch/run.h"

using namespace tessera;
using namespace tessera::interpose;

namespace {

// `make` is the program's own call.
template <typename Make>
CUresult launch(const LaunchCall& asked, Make make) noexcept {
  const Inside inside;
  if (!inside.outermost()) return make();
  start::first_contact();
  if (Engine* engine = Engine::moving()) {
    return hooks::guarded([&] {
      LaunchRun run(*engine, asked);
      if (const auto answer = run.redirected()) return *answer;
      const CUresult result = make();
      if (result == CUDA_SUCCESS) run.at_home();
      return result;
    });
  }
  const CUresult result = make();
  if (Engine* engine = Engine::counting(); engine != nullptr && result == CUDA_SUCCESS) count_at_home(*engine, asked.function);
  return result;
}

LaunchShape shape_of(const CUlaunchConfig& config) {
  return {
      {config.gridDimX, config.gridDimY, config.gridDimZ}, {config.blockDimX, config.blockDimY, config.blockDimZ}, config.sharedMemBytes};
}

template <Entry E>
CUresult launch_config(const CUlaunchConfig* config, CUfunction f, void** params, void** extra, bool per_thread) noexcept {
  if (config == nullptr) return call<E>(config, f, params, extra);
  const Reason kind = config->numAttrs == 0 ? Reason::none : Reason::launch_attributes;
  return launch({f, shape_of(*config), {config->hStream, per_thread}, params, extra, kind},
                [&] { return call<E>(config, f, params, extra); });
}

}  // namespace

#define TESSERA_LAUNCH_KERNEL(name, per_thread)                                                                                    \
  TESSERA_EXPORT CUresult CUDAAPI name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                                       unsigned shared, CUstream stream, void** params, void** extra) {                            \
    return launch({f, {{gx, gy, gz}, {bx, by, bz}, shared}, {stream, per_thread}, params, extra, Reason::none},                    \
                  [&] { return call<Entry::name>(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra); });                    \
  }
TESSERA_LAUNCH_KERNEL(cuLaunchKernel, false)
TESSERA_LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)
#undef TESSERA_LAUNCH_KERNEL

#define TESSERA_LAUNCH_COOPERATIVE(name, per_thread)                                                                               \
  TESSERA_EXPORT CUresult CUDAAPI name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                                       unsigned shared, CUstream stream, void** params) {                                          \
    return launch({f, {{gx, gy, gz}, {bx, by, bz}, shared}, {stream, per_thread}, params, nullptr, Reason::launch_kind},           \
                  [&] { return call<Entry::name>(f, gx, gy, gz, bx, by, bz, shared, stream, params); });                           \
  }
TESSERA_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
TESSERA_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)
#undef TESSERA_LAUNCH_COOPERATIVE

TESSERA_EXPORT CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  return launch_config<Entry::cuLaunchKernelEx>(config, f, params, extra, false);
}
TESSERA_EXPORT CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  return launch_config<Entry::cuLaunchKernelEx_ptsz>(config, f, params, extra, true);
}

// The multi-device form and those of CUDA 3: what they touch isn't looked at.
TESSERA_EXPORT CUresult CUDAAPI cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned flags) {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr || list == nullptr) return call<Entry::cuLaunchCooperativeKernelMultiDevice>(list, count, flags);
  return hooks::guarded([&] {
    std::deque<HomeCall> scopes;
    for (unsigned i = 0; i < count; ++i) {
      HomeCall& scope = scopes.emplace_back(*engine, StreamArgument{list[i].hStream, false});
      scope.leaves_blocker(order::Blocker::waiting);
      if (scope.status() != CUDA_SUCCESS) return scope.status();
    }
    return call<Entry::cuLaunchCooperativeKernelMultiDevice>(list, count, flags);
  });
}
TESSERA_EXPORT CUresult CUDAAPI cuLaunch(CUfunction f) { return hooks::touching_everything<Entry::cuLaunch>({}, f); }
TESSERA_EXPORT CUresult CUDAAPI cuLaunchGrid(CUfunction f, int width, int height) {
  return hooks::touching_everything<Entry::cuLaunchGrid>({}, f, width, height);
}
TESSERA_EXPORT CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
  return hooks::touching_everything<Entry::cuLaunchGridAsync>({stream, false}, f, width, height, stream);
}

TESSERA_EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return hooks::touching_everything<Entry::cuGraphLaunch>({stream, false}, graph, stream);
}
TESSERA_EXPORT CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return hooks::touching_everything<Entry::cuGraphLaunch_ptsz>({stream, true}, graph, stream);
}
