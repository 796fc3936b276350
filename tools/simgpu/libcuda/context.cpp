// Primary and user contexts, the per-thread stack, limits and flags.
#include <algorithm>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/pool.h"
#include "tools/simgpu/libcuda/work.h"

namespace tessera::simgpu {

Context* make_context(SimDevice& device, unsigned flags, bool primary) {
  World& w = world();
  Context* c = w.contexts.make();
  c->device = &device;
  c->flags = flags;
  c->primary = primary;
  c->id = w.next_id++;
  for (Stream* s : {&c->legacy, &c->per_thread}) {
    s->context = c;
    s->id = w.next_id++;
  }
  c->legacy.is_legacy = true;
  c->limits[CU_LIMIT_STACK_SIZE] = 1024;
  c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = std::size_t{1} << 20;
  c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = std::size_t{8} << 20;
  c->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  return c;
}

void destroy_context(Context* context) {
  World& w = world();
  (void)finish_context(*context);
  if (w.contexts.find(context) == nullptr) return;
  std::vector<Stream*> streams;
  for (const auto& [s, owned] : w.streams) {
    if (s->context == context) streams.push_back(s);
  }
  for (Stream* s : streams) {
    forget_capture(*s);
    w.streams.erase(s);
  }
  forget_capture(context->per_thread);
  std::vector<Event*> events;
  for (const auto& [e, owned] : w.events) {
    if (e->context == context) events.push_back(e);
  }
  for (Event* e : events) w.events.erase(e);
  std::vector<Module*> modules;
  for (const auto& [m, owned] : w.modules) {
    if (m->context == context) modules.push_back(m);
  }
  for (Module* m : modules) {
    for (const auto& [name, f] : m->functions) w.functions.erase(f.get());
    if (m->library != nullptr) m->library->instances.erase(context);
    free_managed_variables(m->managed);
    w.modules.erase(m);
  }
  free_memory_of(*context);
  for (const auto& [other, owned] : w.contexts) other->peers.erase(context);
  w.contexts.erase(context);
}

}  // namespace tessera::simgpu

using namespace tessera::simgpu;

namespace {

SimDevice* device_at(CUdevice ordinal) {
  auto& devices = world().devices;
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size() ? devices[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

CUresult create(CUcontext* result, unsigned flags, CUdevice device, unsigned api_version) {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (result == nullptr || (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* c = make_context(*d, flags, false);
  c->api_version = api_version;
  context_stack().push_back(c);
  *result = reinterpret_cast<CUcontext>(c);
  return CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* result, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (d->primary == nullptr) d->primary = make_context(*d, d->primary_flags, true);
  ++d->primary_count;
  *result = reinterpret_cast<CUcontext>(d->primary);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (d->primary_count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--d->primary_count == 0) {
    destroy_context(d->primary);
    d->primary = nullptr;
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (d->primary != nullptr) destroy_context(d->primary);
  d->primary = nullptr;
  d->primary_count = 0;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  d->primary_flags = flags;
  if (d->primary != nullptr) d->primary->flags = flags;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags != nullptr) *flags = d->primary_flags;
  if (active != nullptr) *active = d->primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxCreate_v2(CUcontext* c, unsigned int flags, CUdevice device) SIM_NOEXCEPT {
  return create(c, flags, device, 3020);
}
SIM_EXPORT CUresult cuCtxCreate_v3(CUcontext* c, CUexecAffinityParam* affinity, int count, unsigned int flags,
                                   CUdevice device) SIM_NOEXCEPT {
  if (affinity != nullptr && count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(c, flags, device, 11040);
}
SIM_EXPORT CUresult cuCtxCreate_v4(CUcontext* c, CUctxCreateParams* params, unsigned int flags, CUdevice device) SIM_NOEXCEPT {
  if (params != nullptr && params->numExecAffinityParams != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(c, flags, device, 12050);
}

SIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Context* c = world().contexts.find(handle);
  if (c == nullptr || c->primary) return CUDA_ERROR_INVALID_CONTEXT;
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == c) stack.pop_back();
  destroy_context(c);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Context* c = world().contexts.find(handle);
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack().push_back(c);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* result) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (result != nullptr) *result = reinterpret_cast<CUcontext>(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  auto& stack = context_stack();
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  Context* c = world().contexts.find(handle);
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty())
    stack.push_back(c);
  else
    stack.back() = c;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetCurrent(CUcontext* result) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = context_stack();
  *result = stack.empty() ? nullptr : reinterpret_cast<CUcontext>(stack.back());
  return CUDA_SUCCESS;
}

// The given context, or the current one for null.
static CUresult pick(const Entry& entry, CUcontext handle, Context*& c) {
  CUresult error = CUDA_SUCCESS;
  if (handle == nullptr) {
    c = entry.context(error);
    return error;
  }
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  c = world().contexts.find(handle);
  return c == nullptr ? CUDA_ERROR_INVALID_CONTEXT : c->sticky;
}

SIM_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, handle, c); error != CUDA_SUCCESS) return error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = c->device->ordinal;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetDevice(CUdevice* device) SIM_NOEXCEPT { return cuCtxGetDevice_v2(device, nullptr); }

SIM_EXPORT CUresult cuCtxSynchronize_v2(CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, handle, c); error != CUDA_SUCCESS) return error;
  const CUresult bad = may_wait_for(*c);
  return bad != CUDA_SUCCESS ? bad : finish_context(*c);
}
SIM_EXPORT CUresult cuCtxSynchronize() SIM_NOEXCEPT { return cuCtxSynchronize_v2(nullptr); }

SIM_EXPORT CUresult cuCtxGetFlags(unsigned int* flags) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = c->flags;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxSetFlags(unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  c->flags = flags;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, handle, c); error != CUDA_SUCCESS) return error;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = c->id;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, handle, c); error != CUDA_SUCCESS) return error;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = c->api_version;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit limit) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  if (value == nullptr || limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  *value = c->limits[limit];
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  c->limits[limit] = value;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache* config) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = c->cache;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache config) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  c->cache = config;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  if (const CUresult error = pick(entry, nullptr, c); error != CUDA_SUCCESS) return error;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuCtxResetPersistingL2Cache() SIM_NOEXCEPT {
  const Entry entry;
  Context* c = nullptr;
  return pick(entry, nullptr, c);
}
