// Kernel launches: gather the parameters, run, place on the timeline, and make a fault the context's error.
#include "tools/simgpu/exec/launch.h"

#include <cstring>

#include "profiles/base/log.h"
#include "tools/simgpu/libcuda/function.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/peer.h"

using namespace tessera;
using namespace tessera::simgpu;

namespace {

using Dim = std::array<unsigned, 3>;

// One block of bytes from either form of arguments.
CUresult gather(const KernelAttributes& a, void** params, void** extra, std::vector<std::byte>& block) {
  block.assign(a.param_bytes, std::byte{0});
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = at[1];
      else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<std::size_t*>(at[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size < a.param_bytes || (buffer == nullptr && size != 0)) return CUDA_ERROR_INVALID_VALUE;
    if (a.param_bytes != 0) std::memcpy(block.data(), buffer, a.param_bytes);
    return CUDA_SUCCESS;
  }
  if (params == nullptr) return a.params.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < a.params.size(); ++i) {
    if (params[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(block.data() + a.params[i].offset, params[i], a.params[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult check_shape(const KernelWork& s) {
  const Function& f = *s.function;
  const DeviceModel& m = *f.module->context->device->model;
  const KernelAttributes& a = f.kernel->attributes();
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (s.grid[i] == 0 || s.block[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    threads *= s.block[i];
  }
  if (s.grid[0] > 2147483647u || s.grid[1] > 65535 || s.grid[2] > 65535 || s.block[2] > 64 || threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > a.max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const std::uint64_t allowed = f.max_dynamic_shared != 0 ? static_cast<unsigned>(f.max_dynamic_shared)
                                                          : m.shared_per_block - std::min(m.shared_per_block, a.static_shared);
  return s.dynamic_shared > allowed ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult code_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::illegal_address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::misaligned_address:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::assertion:
      return CUDA_ERROR_ASSERT;
    case FaultKind::stack_overflow:
      return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case FaultKind::illegal_instruction:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::barrier_deadlock:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::trap:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

std::uint64_t volume(const Dim& d) { return std::uint64_t{d[0]} * d[1] * d[2]; }

LaunchConfig config_of(const KernelWork& work) {
  LaunchConfig config;
  config.grid = work.grid;
  config.block = work.block;
  config.cluster = work.cluster;
  config.dynamic_shared = work.dynamic_shared;
  config.params = work.params;
  config.cooperative = work.cooperative;
  return config;
}

}  // namespace

CUresult tessera::simgpu::complete(KernelWork& work, CUfunction handle, Context& context, void** params, void** extra) {
  CUresult error = CUDA_SUCCESS;
  work.function = function_of(handle, context, error);
  if (work.function == nullptr) return error;
  if (world().kernels.count(handle) != 0) work.kernel = reinterpret_cast<CUkernel>(handle);
  if (work.function->module->context != &context) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult bad = check_shape(work); bad != CUDA_SUCCESS) return bad;
  if (const CUresult bad = gather(work.function->kernel->attributes(), params, extra, work.params); bad != CUDA_SUCCESS) return bad;
  if (const auto refused = refusal(*work.function->kernel, config_of(work))) {
    log::notice("simulated driver: " + refused->message());
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

namespace {

CUresult launch(CUfunction handle, KernelWork work, CUstream stream_handle, void** params, void** extra) {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, stream_handle, error);
  if (stream == nullptr) return error;
  if (const CUresult bad = complete(work, handle, *stream->context, params, extra); bad != CUDA_SUCCESS) return bad;
  return enqueue(*stream, std::move(work));  // faults are asynchronous: a later call on the context reports them
}

// Attributes that change nothing for a machine that runs launches one after the other.
bool is_harmless(CUlaunchAttributeID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return true;
    default:
      return false;
  }
}

KernelWork shaped(Dim grid, Dim block, unsigned shared, bool cooperative = false) {
  KernelWork work;
  work.grid = grid;
  work.block = block;
  work.dynamic_shared = shared;
  work.cooperative = cooperative;
  return work;
}

// A kernel on its way: what it needs stays here while it runs in parts.
class KernelRun {
 public:
  KernelRun(const KernelWork& work, Context& context) : work_(work), context_(context) {}
  Step step(Operation& operation, Random* random) {
    if (launch_ == nullptr) {
      LaunchConfig config = config_of(work_);
      config.memory = visible_memory(context_);
      if (recording()) config.touched = &touched_;
      launch_ = std::make_unique<Launch>(*work_.function->kernel, config);
    }
    if (random == nullptr) {
      launch_->run_all();
    } else if (!launch_->run_some(*random)) {
      return Step::again;
    }
    end(launch_->finish(), operation);
    return Step::ended;
  }

 private:
  void end(const LaunchOutcome& outcome, Operation& operation) {
    SimDevice& device = *context_.device;
    const KernelAttributes& attributes = work_.function->kernel->attributes();
    const KernelShape shape{volume(work_.grid),
                            {volume(work_.block), attributes.registers, std::uint64_t{attributes.static_shared} + work_.dynamic_shared}};
    const double slowdown = world().faults.clock_slowdown(device.ordinal, earliest_begin(operation));
    operation.duration = static_cast<Nanoseconds>(static_cast<double>(kernel_time(outcome.counters, shape, *device.model)) * slowdown);
    ++device.kernels;
    ++world().launches;
    if (recording()) {
      operation.touched = touched_.ranges();
      write_touched(work_, operation);
    }
    if (!outcome.fault) return;
    log::notice("simulated GPU " + std::to_string(device.ordinal) + " (" + device.model->name + "): " + outcome.fault->text());
    context_.sticky = code_of(outcome.fault->kind);
  }

  const KernelWork work_;
  Context& context_;
  Touched touched_;
  std::unique_ptr<Launch> launch_;
};

}  // namespace

void tessera::simgpu::describe(const KernelWork& work, Context& context, Operation& operation) {
  operation.kind = OperationKind::kernel;
  operation.name = work.function->name;
  operation.engines = {{&context.device->clock, Engine::compute}};
  operation.work = [run = std::make_shared<KernelRun>(work, context)](Operation& o, Random* random) { return run->step(o, random); };
}

SIM_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                   unsigned shared, CUstream stream, void** params, void** extra) SIM_NOEXCEPT {
  return launch(f, shaped({gx, gy, gz}, {bx, by, bz}, shared), stream, params, extra);
}
SIM_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                              unsigned shared, CUstream stream, void** params) SIM_NOEXCEPT {
  return launch(f, shaped({gx, gy, gz}, {bx, by, bz}, shared, true), stream, params, nullptr);
}
SIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) SIM_NOEXCEPT {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  KernelWork shape = shaped({config->gridDimX, config->gridDimY, config->gridDimZ},
                            {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& a = config->attrs[i];
    const bool unit_cluster =
        a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && a.value.clusterDim.x * a.value.clusterDim.y * a.value.clusterDim.z == 1;
    if (!is_harmless(a.id) && !unit_cluster) {
      log::notice("simulated driver: launch attribute " + std::to_string(static_cast<int>(a.id)) + " is not offered");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) shape.cooperative = a.value.cooperative != 0;
  }
  return launch(f, std::move(shape), config->hStream, params, extra);
}
