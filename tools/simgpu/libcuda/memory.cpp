// Allocation: device, pitched, pinned host, registered host, managed.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/pool.h"

using namespace tessera;
using namespace tessera::simgpu;

namespace {

constexpr std::size_t pitch_alignment = 512;

// Memory that is freed with its context.
CUresult allocate_in(Context& c, std::size_t bytes, CUdeviceptr* result) {
  const CUresult code = allocate(*c.device, bytes, result);
  if (code == CUDA_SUCCESS) world().owners[*result] = &c;
  return code;
}

// Host memory that kernels of every device may touch.
CUresult share(std::uint64_t base, std::size_t bytes, HostKind kind, unsigned flags, Context* c) {
  World& w = world();
  for (const auto& d : w.devices) {
    if (!d->device->memory->map_external(base, bytes, kind == HostKind::managed ? "managed memory" : "host memory").ok()) {
      for (const auto& undo : w.devices) {
        if (undo == d) break;
        (void)undo->device->memory->unmap_external(base).ok();
      }
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
  }
  forget_races(base, base + bytes);
  w.host_allocations[base] = HostAllocation{base, bytes, kind, flags, c};
  return CUDA_SUCCESS;
}

void unshare(const HostAllocation& allocation) {
  World& w = world();
  const std::uint64_t base = allocation.base;
  for (const auto& d : w.devices) (void)d->device->memory->unmap_external(base).ok();
  if (allocation.kind == HostKind::managed) forget_advice(base, allocation.size);
  w.host_allocations.erase(base);
}

CUresult map_memory(Context* c, std::size_t bytes, HostKind kind, unsigned flags, void** result) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult shared = share(reinterpret_cast<std::uint64_t>(memory), bytes, kind, flags, c);
  if (shared != CUDA_SUCCESS)
    munmap(memory, bytes);
  else
    *result = memory;
  return shared;
}
CUresult map_host(Context* c, std::size_t bytes, HostKind kind, unsigned flags, void** result) {
  if (result == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult bad = may_call_unsafely();
  return bad != CUDA_SUCCESS ? bad : map_memory(c, bytes, kind, flags, result);
}

CUresult unmap_host(std::uint64_t base, HostKind kind) {
  HostAllocation* found = world().host_allocation_of(base);
  if (found == nullptr || found->base != base || found->kind != kind) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t bytes = found->size;
  world().scheduler.finish_all();
  found = world().host_allocation_of(base);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unshare(*found);
  munmap(reinterpret_cast<void*>(base), bytes);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  World& w = world();
  if (const HostAllocation* managed = w.host_allocation_of(pointer); managed != nullptr && managed->kind == HostKind::managed) {
    return unmap_host(pointer, HostKind::managed);
  }
  SimDevice* d = w.device_of(pointer);
  if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Freeing waits for the work that was submitted.
  w.scheduler.finish_all();
  w.clock.wait_until(w.clock.makespan());
  if (const GraphMemoryPtr memory = graph_memory_at(pointer)) {
    if (!memory->set_live(false)) return CUDA_ERROR_INVALID_VALUE;
    std::memset(reinterpret_cast<void*>(pointer), poison_byte, memory->size);
    return CUDA_SUCCESS;
  }
  leave_pool(pointer);
  w.owners.erase(pointer);
  return d->device->memory->free(pointer).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

void tessera::simgpu::free_memory_of(const Context& context) {
  World& w = world();
  for (auto at = w.owners.begin(); at != w.owners.end();) {
    if (at->second != &context) {
      ++at;
      continue;
    }
    if (w.freeing.count(at->first) == 0) (void)context.device->device->memory->free(at->first).ok();
    at = w.owners.erase(at);
  }
  std::vector<HostAllocation> on_host;
  for (const auto& [base, allocation] : w.host_allocations) {
    if (allocation.context == &context) on_host.push_back(allocation);
  }
  for (const HostAllocation& allocation : on_host) {
    unshare(allocation);
    if (allocation.kind != HostKind::registered) munmap(reinterpret_cast<void*>(allocation.base), allocation.size);
  }
}

Result<std::uint64_t> tessera::simgpu::make_managed_variable(std::uint64_t bytes) {
  void* memory = nullptr;
  if (map_memory(nullptr, bytes, HostKind::managed, CU_MEM_ATTACH_GLOBAL, &memory) != CUDA_SUCCESS)
    return Error{ErrorCode::environment, "no memory for a managed variable", "", ""};
  return reinterpret_cast<std::uint64_t>(memory);
}
void tessera::simgpu::free_managed_variables(const ManagedVariables& variables) {
  for (const auto& [name, base] : variables) {
    const HostAllocation* found = world().host_allocation_of(base);
    if (found == nullptr) continue;
    const std::uint64_t bytes = found->size;
    unshare(*found);
    munmap(reinterpret_cast<void*>(base), bytes);
  }
}

CUresult tessera::simgpu::allocate(SimDevice& device, std::size_t bytes, CUdeviceptr* result) {
  if (result == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto code = world().faults.next(FaultSource::allocation, device.ordinal)) return static_cast<CUresult>(*code);
  DeviceMemory& memory = *device.device->memory;
  auto address = memory.allocate(bytes);
  if (!address && !world().freeing.empty()) {
    world().scheduler.finish_all();
    address = memory.allocate(bytes);
  }
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  forget_races(*address, *address + bytes);
  *result = *address;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Context* c = entry.context(error);
  if (c == nullptr) return error;
  const DeviceMemory& memory = *c->device->device->memory;
  const std::uint64_t left = memory.capacity() - memory.used();
  if (free != nullptr) *free = left - std::min(left, kept_by_pools(*c->device));
  if (total != nullptr) *total = memory.capacity();
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  const CUresult bad = may_call_unsafely();
  return bad != CUDA_SUCCESS ? bad : allocate_in(*c, bytes, pointer);
}

SIM_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                       unsigned int element) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (pitch == nullptr || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = may_call_unsafely(); bad != CUDA_SUCCESS) return bad;
  const std::size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  const CUresult result = allocate_in(*c, row * height, pointer);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

SIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const CUresult bad = may_call_unsafely();
  return bad != CUDA_SUCCESS ? bad : release(pointer);
}

SIM_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const SimDevice* d = world().device_of(pointer);
  const auto found = d == nullptr ? std::nullopt : d->device->memory->find(pointer);
  const HostAllocation* host = found ? nullptr : world().host_allocation_of(pointer);
  if (!found && host == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found ? found->base : host->base;
  if (size != nullptr) *size = found ? found->size : host->size;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if ((flags & ~7u) != 0) return CUDA_ERROR_INVALID_VALUE;
  return map_host(c, bytes, HostKind::pinned, flags, pointer);
}
SIM_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) SIM_NOEXCEPT { return cuMemHostAlloc(pointer, bytes, 0); }

SIM_EXPORT CUresult cuMemFreeHost(void* pointer) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const CUresult bad = may_call_unsafely();
  return bad != CUDA_SUCCESS ? bad : unmap_host(reinterpret_cast<std::uint64_t>(pointer), HostKind::pinned);
}

SIM_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return share(reinterpret_cast<std::uint64_t>(pointer), bytes, HostKind::registered, flags, c);
}

SIM_EXPORT CUresult cuMemHostUnregister(void* pointer) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const HostAllocation* found = world().host_allocation_of(reinterpret_cast<std::uint64_t>(pointer));
  if (found == nullptr || found->kind != HostKind::registered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (found->base != reinterpret_cast<std::uint64_t>(pointer)) return CUDA_ERROR_INVALID_VALUE;
  world().scheduler.finish_all();
  found = world().host_allocation_of(reinterpret_cast<std::uint64_t>(pointer));
  if (found == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  unshare(*found);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* result, void* pointer, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  if (result == nullptr || flags != 0 || world().host_allocation_of(reinterpret_cast<std::uint64_t>(pointer)) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  const HostAllocation* found = world().host_allocation_of(reinterpret_cast<std::uint64_t>(pointer));
  if (flags == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->flags;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  void* memory = nullptr;
  const CUresult result = pointer == nullptr ? CUDA_ERROR_INVALID_VALUE : map_host(c, bytes, HostKind::managed, flags, &memory);
  if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return result;
}
