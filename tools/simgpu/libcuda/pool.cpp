#include "tools/simgpu/libcuda/pool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "profiles/base/log.h"
#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/peer.h"

using namespace tessera;

namespace tessera::simgpu {

struct Pool {
  SimDevice* device = nullptr;
  CUmemPoolProps props{};
  bool is_default = false;
  std::uint64_t threshold = 0;
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[3] = {1, 1, 1};                   // follow event dependencies, opportunistic, internal dependencies
  std::map<int, CUmemAccess_flags> access{};  // of other devices
};

namespace {

struct Pools {
  std::map<const void*, std::shared_ptr<Pool>> by_handle;
  struct Part {
    std::shared_ptr<Pool> pool;
    std::uint64_t size;
  };
  std::map<std::uint64_t, Part> parts;  // by address
};
Pools& pools() {
  static Pools* const instance = new Pools;  // as long as the world
  return *instance;
}

std::shared_ptr<Pool> find(CUmemoryPool handle) {
  const auto found = pools().by_handle.find(handle);
  return found == pools().by_handle.end() ? nullptr : found->second;
}

SimDevice* device_at(int ordinal) {
  auto& devices = world().devices;
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size() ? devices[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

std::shared_ptr<Pool> make(SimDevice& device, bool is_default) {
  auto pool = std::make_shared<Pool>();
  pool->device = &device;
  pool->is_default = is_default;
  pool->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  pool->props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device.ordinal}};
  pools().by_handle[pool.get()] = pool;
  return pool;
}

std::shared_ptr<Pool> default_of(SimDevice& device) {
  for (const auto& [handle, pool] : pools().by_handle) {
    if (pool->is_default && pool->device == &device) return pool;
  }
  return make(device, true);
}
std::shared_ptr<Pool> current_of(SimDevice& device) {
  std::shared_ptr<Pool> chosen = device.pool == nullptr ? nullptr : find(reinterpret_cast<CUmemoryPool>(device.pool));
  return chosen != nullptr ? chosen : default_of(device);
}

CUmemoryPool handle_of(const std::shared_ptr<Pool>& pool) { return reinterpret_cast<CUmemoryPool>(pool.get()); }

// Lets the other devices touch one allocation, or no longer.
void show(std::uint64_t base, std::uint64_t size, int device, bool visible) {
  DeviceMemory& memory = *world().devices[static_cast<std::size_t>(device)]->device->memory;
  (void)memory.unmap_external(base).ok();
  if (visible) (void)memory.map_external(base, size, "a pool's memory").ok();
}

CUresult allocate_from(const std::shared_ptr<Pool>& pool, std::size_t bytes, CUdeviceptr* result) {
  if (pool->props.maxSize != 0 && bytes > pool->props.maxSize - std::min<std::uint64_t>(pool->used, pool->props.maxSize))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (const CUresult bad = allocate(*pool->device, bytes, result); bad != CUDA_SUCCESS) return bad;
  pools().parts[*result] = {pool, bytes};
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  pool->reserved = std::max(pool->reserved, pool->used);
  pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  for (const auto& [device, flags] : pool->access) show(*result, bytes, device, flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
  return CUDA_SUCCESS;
}

// An allocation of a capture: what the graph allocates when it runs.
CUresult capture_allocation(Stream& stream, SimDevice& device, std::size_t bytes, CUdeviceptr* result) {
  AllocNode node;
  if (const CUresult bad = make_graph_memory(device, bytes, node.memory); bad != CUDA_SUCCESS) return bad;
  node.params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  node.params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device.ordinal}};
  node.params.bytesize = bytes;
  node.params.dptr = node.memory->address;
  *result = node.memory->address;
  return capture(stream, std::move(node));
}

// `handle` null: the current pool of the stream's device.
CUresult allocate_in(CUstream stream, CUmemoryPool handle, bool named, std::size_t bytes, CUdeviceptr* result) {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, stream, error);
  if (s == nullptr) return error;
  const std::shared_ptr<Pool> pool = named ? find(handle) : current_of(*s->context->device);
  if (pool == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  return s->capturing == nullptr ? allocate_from(pool, bytes, result) : capture_allocation(*s, *pool->device, bytes, result);
}

// The device that a location means, when it is one that pools are offered for.
CUresult device_of(const CUmemLocation* location, CUmemAllocationType type, SimDevice*& device) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    log::notice("simulated driver: pools of host memory are not offered");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  device = device_at(location->id);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

std::uint64_t* number_of(Pool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used_high;
    default:
      return nullptr;
  }
}
int* flag_of(Pool& pool, CUmemPool_attribute attribute) {
  const bool known =
      attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES && attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  return known ? &pool.reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] : nullptr;
}

void trim(Pool& pool, std::uint64_t keep) { pool.reserved = std::max(pool.used, std::min(pool.reserved, keep)); }

}  // namespace

Pool* pool_of(std::uint64_t base) {
  const auto found = pools().parts.find(base);
  return found == pools().parts.end() ? nullptr : found->second.pool.get();
}

void leave_pool(std::uint64_t base) {
  const auto found = pools().parts.find(base);
  if (found == pools().parts.end()) return;
  Pool& pool = *found->second.pool;
  pool.used -= found->second.size;
  for (const auto& [device, flags] : pool.access) show(base, found->second.size, device, false);
  pools().parts.erase(found);
}

void release_from_pools() {
  for (const auto& [handle, pool] : pools().by_handle) trim(*pool, pool->threshold);
}

std::uint64_t kept_by_pools(const SimDevice& device) {
  std::uint64_t kept = 0;
  for (const auto& [handle, pool] : pools().by_handle) kept += pool->device == &device ? pool->reserved - pool->used : 0;
  return kept;
}

}  // namespace tessera::simgpu

using namespace tessera::simgpu;

SIM_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* result, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = handle_of(default_of(*d));
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* result, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = handle_of(current_of(*d));
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || pool->device != d) return CUDA_ERROR_INVALID_VALUE;
  d->pool = pool.get();
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool* result, CUmemLocation* location, CUmemAllocationType type) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = nullptr;
  if (const CUresult bad = device_of(location, type, d); bad != CUDA_SUCCESS) return bad;
  return cuDeviceGetDefaultMemPool(result, d->ordinal);
}
SIM_EXPORT CUresult cuMemGetMemPool(CUmemoryPool* result, CUmemLocation* location, CUmemAllocationType type) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = nullptr;
  if (const CUresult bad = device_of(location, type, d); bad != CUDA_SUCCESS) return bad;
  return cuDeviceGetMemPool(result, d->ordinal);
}
SIM_EXPORT CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  SimDevice* d = nullptr;
  if (const CUresult bad = device_of(location, type, d); bad != CUDA_SUCCESS) return bad;
  return cuDeviceSetMemPool(d->ordinal, pool);
}

SIM_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* result, const CUmemPoolProps* props) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (result == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SimDevice* d = nullptr;
  if (const CUresult bad = device_of(&props->location, props->allocType, d); bad != CUDA_SUCCESS) return bad;
  if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    log::notice("simulated driver: pools that other processes share are not offered");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const std::shared_ptr<Pool> pool = make(*d, false);
  pool->props = *props;
  *result = handle_of(pool);
  return CUDA_SUCCESS;
}
// Its allocations stay as they are until they are freed.
SIM_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  if (pool->device->pool == pool.get()) pool->device->pool = nullptr;
  pools().by_handle.erase(handle);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  trim(*pool, keep);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const std::uint64_t* number = number_of(*pool, attribute))
    *static_cast<cuuint64_t*>(value) = *number;
  else if (const int* flag = flag_of(*pool, attribute))
    *static_cast<int*>(value) = *flag;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (int* flag = flag_of(*pool, attribute)) {
    *flag = *static_cast<const int*>(value);
    return CUDA_SUCCESS;
  }
  const std::uint64_t wanted = *static_cast<const cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->threshold = wanted;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:  // documented: only back to zero, which means the current value
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (wanted != 0) return CUDA_ERROR_INVALID_VALUE;
      (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used_high : pool->reserved_high) =
          attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SIM_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* rows, size_t count) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || (rows == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const SimDevice* d = nullptr;
    if (rows[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || (d = device_at(rows[i].location.id)) == nullptr)
      return CUDA_ERROR_INVALID_DEVICE;
    if (d == pool->device && rows[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
    if (d != pool->device && !may_access(*d, *pool->device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int device = rows[i].location.id;
    if (device == pool->device->ordinal) continue;
    pool->access[device] = rows[i].flags;
    for (const auto& [base, part] : pools().parts) {
      if (part.pool == pool) show(base, part.size, device, rows[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    }
  }
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const std::shared_ptr<Pool> pool = find(handle);
  if (pool == nullptr || flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || device_at(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = pool->access.find(location->id);
  *flags = location->id == pool->device->ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : found == pool->access.end()         ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                 : found->second;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) SIM_NOEXCEPT {
  return allocate_in(stream, nullptr, false, bytes, pointer);
}
SIM_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream stream) SIM_NOEXCEPT {
  return allocate_in(stream, pool, true, bytes, pointer);
}

SIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, stream, error);
  if (s == nullptr) return error;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  if (s->capturing != nullptr) return capture(*s, Work{FreeWork{nullptr, pointer}});
  World& w = world();
  SimDevice* d = w.device_of(pointer);
  if (const GraphMemoryPtr memory = graph_memory_at(pointer)) {
    if (!memory->set_live(false)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(*s, FillWork{d, pointer, memory->size, poison_byte, 1, memory->size});
  }
  const auto found = d == nullptr ? std::nullopt : d->device->memory->find(pointer);
  if (!found || found->base != pointer || found->kind != AllocationKind::device || !w.freeing.insert(pointer).second)
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue(*s, FreeWork{d, pointer});
}
