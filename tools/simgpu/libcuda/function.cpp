// What kernels say of themselves: names, parameters, attributes, occupancy.
#include "tools/simgpu/libcuda/function.h"

#include <algorithm>

#include "profiles/occupancy.h"

using namespace tessera;
using namespace tessera::simgpu;

namespace {

Function* find(const Entry& entry, const void* handle, CUresult& error) {
  Context* c = entry.context(error);
  return c == nullptr ? nullptr : function_of(handle, *c, error);
}

CUresult attribute_of(const Function& f, CUfunction_attribute attribute, int* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const KernelAttributes& a = f.kernel->attributes();
  const auto give = [&](std::uint64_t v) {
    *value = static_cast<int>(v);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return give(a.max_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return give(a.static_shared);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return give(a.const_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return give(a.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return give(a.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return give(a.ptx_version);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return give(f.module->context->device->model->sm());
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return give(0);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const auto room = f.module->context->device->model->shared_per_block;
      return give(f.max_dynamic_shared != 0 ? static_cast<unsigned>(f.max_dynamic_shared) : room - std::min(room, a.static_shared));
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = f.preferred_carveout;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return give(0);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return give(a.cluster[0]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return give(a.cluster[1]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return give(a.cluster[2]);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return give(0);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return give(0);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_max_dynamic(const DeviceModel& model, const KernelAttributes& a, int value) {
  return value < 0 || static_cast<unsigned>(value) + a.static_shared > model.shared_per_block_optin ? CUDA_ERROR_INVALID_VALUE
                                                                                                    : CUDA_SUCCESS;
}

CUresult param_of(const Function& f, std::size_t index, std::size_t* offset, std::size_t* size) {
  const auto& params = f.kernel->attributes().params;
  if (offset == nullptr || index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (size != nullptr) *size = params[index].size;
  return CUDA_SUCCESS;
}

int resident_blocks(const Function& f, int threads, std::size_t dynamic_shared) {
  const KernelAttributes& a = f.kernel->attributes();
  if (threads <= 0 || static_cast<unsigned>(threads) > a.max_threads) return 0;
  const BlockNeeds block{static_cast<unsigned>(threads), a.registers, a.static_shared + dynamic_shared};
  return static_cast<int>(blocks_per_sm(block, *f.module->context->device->model));
}

}  // namespace

SIM_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  return f == nullptr ? error : attribute_of(*f, attribute, value);
}

SIM_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const CUresult ok = check_max_dynamic(*f->module->context->device->model, f->kernel->attributes(), value);
      if (ok == CUDA_SUCCESS) f->max_dynamic_shared = value;
      return ok;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      f->preferred_carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
  return find(entry, handle, error) == nullptr ? error : CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(f->module);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuFuncGetName(const char** name, CUfunction handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = f->name.c_str();
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  return f == nullptr ? error : param_of(*f, index, offset, size);
}
SIM_EXPORT CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (find(entry, handle, error) == nullptr) return error;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuFuncLoad(CUfunction handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  return find(entry, handle, error) == nullptr ? error : CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (world().kernels.count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
  Function* f = function_of(handle, *c, error);
  if (f == nullptr) return error;
  *function = reinterpret_cast<CUfunction>(f);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) SIM_NOEXCEPT {
  const Entry entry;
  if (world().kernels.count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *library = reinterpret_cast<CUlibrary>(reinterpret_cast<Kernel*>(handle)->library);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuKernelGetName(const char** name, CUkernel handle) SIM_NOEXCEPT {
  const Entry entry;
  if (world().kernels.count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = reinterpret_cast<Kernel*>(handle)->name.c_str();
  return CUDA_SUCCESS;
}

namespace {

// The kernel on one device: through that device's primary context, made for the asking where there is none.
Function* on_device(CUkernel handle, CUdevice ordinal, CUresult& error) {
  World& w = world();
  error = CUDA_ERROR_INVALID_HANDLE;
  if (w.kernels.count(handle) == 0) return nullptr;
  error = CUDA_ERROR_INVALID_DEVICE;
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= w.devices.size()) return nullptr;
  const auto& stack = context_stack();
  Context* c = stack.empty() ? nullptr : w.contexts.find(stack.back());
  SimDevice& d = *w.devices[static_cast<std::size_t>(ordinal)];
  if (c == nullptr || c->device != &d) {
    if (d.primary == nullptr) d.primary = make_context(d, d.primary_flags, true);
    c = d.primary;
  }
  return function_of(handle, *c, error);
}

}  // namespace

SIM_EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = on_device(handle, device, error);
  return f == nullptr ? error : attribute_of(*f, attribute, value);
}
SIM_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Function* f = on_device(handle, device, error);
  if (f == nullptr) return error;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const CUresult ok = check_max_dynamic(*f->module->context->device->model, f->kernel->attributes(), value);
    if (ok != CUDA_SUCCESS) return ok;
    Kernel& k = *reinterpret_cast<Kernel*>(handle);
    k.library->max_dynamic_shared[{k.name, device}] = value;
    f->max_dynamic_shared = value;
    return CUDA_SUCCESS;
  }
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(f), attribute, value);
}
SIM_EXPORT CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
  return on_device(handle, device, error) == nullptr ? error : CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = on_device(handle, 0, error);
  return f == nullptr ? error : param_of(*f, index, offset, size);
}

SIM_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, size_t shared) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = resident_blocks(*f, threads, shared);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction f, int threads, size_t shared,
                                                                         unsigned int) SIM_NOEXCEPT {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}
SIM_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* min_grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                                     size_t shared, int limit) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  if (min_grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int best = 0, best_threads = 0;
  const int most = limit > 0 ? std::min(limit, 1024) : 1024;
  for (int threads = 32; threads <= most; threads += 32) {
    const int blocks = resident_blocks(*f, threads, shared_of != nullptr ? shared_of(threads) : shared);
    if (blocks * threads >= best_threads && blocks > 0) {
      best = threads;
      best_threads = blocks * threads;
    }
  }
  *block = best;
  *min_grid = best == 0 ? 0 : best_threads / best * static_cast<int>(f->module->context->device->model->sm_count);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* block, CUfunction f, CUoccupancyB2DSize shared_of,
                                                              size_t shared, int limit, unsigned int) SIM_NOEXCEPT {
  return cuOccupancyMaxPotentialBlockSize(min_grid, block, f, shared_of, shared, limit);
}
SIM_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Function* f = find(entry, handle, error);
  if (f == nullptr) return error;
  if (bytes == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  const DeviceModel& m = *f->module->context->device->model;
  const std::uint64_t each = m.shared_per_sm / static_cast<unsigned>(blocks), fixed = f->kernel->attributes().static_shared + 1024;
  *bytes = each > fixed ? std::min<std::uint64_t>(each - fixed, m.shared_per_block_optin) : 0;
  return CUDA_SUCCESS;
}
