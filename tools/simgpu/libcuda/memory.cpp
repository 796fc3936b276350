// Allocation: device, pitched, pinned host, registered host, managed, stream-ordered; and what a pointer is.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/observe.h"

using namespace tessera::simgpu;

namespace {

constexpr std::size_t pitch_alignment = 512;

CUresult allocate(Context& c, std::size_t bytes, CUdeviceptr* result) {
  if (result == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto code = world().faults.next(FaultSource::allocation, c.device->ordinal)) return static_cast<CUresult>(*code);
  DeviceMemory& memory = *c.device->device->memory;
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

CUresult capture_allocation(Stream& stream, std::size_t bytes, CUdeviceptr* result) {
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SimDevice& device = *stream.context->device;
  AllocNode node;
  if (const CUresult bad = make_graph_memory(device, bytes, node.memory); bad != CUDA_SUCCESS) return bad;
  node.params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  node.params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device.ordinal}};
  node.params.bytesize = bytes;
  node.params.dptr = node.memory->address;
  *result = node.memory->address;
  return capture(stream, std::move(node));
}

// Host memory that kernels of every device may touch.
CUresult share(std::uint64_t base, std::size_t bytes, HostKind kind, unsigned flags, Context& c) {
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
  w.host_allocations[base] = HostAllocation{base, bytes, kind, flags, &c};
  return CUDA_SUCCESS;
}

void unshare(const HostAllocation& allocation) {
  World& w = world();
  const std::uint64_t base = allocation.base;
  for (const auto& d : w.devices) (void)d->device->memory->unmap_external(base).ok();
  w.host_allocations.erase(base);
}

CUresult map_host(Context& c, std::size_t bytes, HostKind kind, unsigned flags, void** result) {
  if (result == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = may_call_unsafely(); bad != CUDA_SUCCESS) return bad;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult shared = share(reinterpret_cast<std::uint64_t>(memory), bytes, kind, flags, c);
  if (shared != CUDA_SUCCESS)
    munmap(memory, bytes);
  else
    *result = memory;
  return shared;
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
    if (!std::exchange(memory->live, false)) return CUDA_ERROR_INVALID_VALUE;
    std::memset(reinterpret_cast<void*>(pointer), poison_byte, memory->size);
    return CUDA_SUCCESS;
  }
  return d->device->memory->free(pointer).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Context* c = entry.context(error);
  if (c == nullptr) return error;
  const DeviceMemory& memory = *c->device->device->memory;
  if (free != nullptr) *free = memory.capacity() - memory.used();
  if (total != nullptr) *total = memory.capacity();
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  const CUresult bad = may_call_unsafely();
  return bad != CUDA_SUCCESS ? bad : allocate(*c, bytes, pointer);
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
  const CUresult result = allocate(*c, row * height, pointer);
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

SIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  Stream* s = stream_of(stream, *c);
  if (s == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  return s->capturing == nullptr ? allocate(*c, bytes, pointer) : capture_allocation(*s, bytes, pointer);
}

SIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Context* c = entry.context(error);
  if (c == nullptr) return error;
  Stream* s = stream_of(stream, *c);
  if (s == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult bad = may_use(*s); bad != CUDA_SUCCESS) return bad;
  if (s->capturing != nullptr) return capture(*s, Work{FreeWork{nullptr, pointer}});
  World& w = world();
  SimDevice* d = w.device_of(pointer);
  if (const GraphMemoryPtr memory = graph_memory_at(pointer)) {
    if (!std::exchange(memory->live, false)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(*s, FillWork{d, pointer, memory->size, poison_byte, 1, memory->size});
  }
  const auto found = d == nullptr ? std::nullopt : d->device->memory->find(pointer);
  if (!found || found->base != pointer || found->kind != AllocationKind::device || !w.freeing.insert(pointer).second)
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue(*s, FreeWork{d, pointer});
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
  return map_host(*c, bytes, HostKind::pinned, flags, pointer);
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
  return share(reinterpret_cast<std::uint64_t>(pointer), bytes, HostKind::registered, flags, *c);
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
  const CUresult result = pointer == nullptr ? CUDA_ERROR_INVALID_VALUE : map_host(*c, bytes, HostKind::managed, flags, &memory);
  if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return result;
}

namespace {

// What the driver knows of a pointer.
struct PointerInfo {
  SimDevice* device = nullptr;           // device memory
  const HostAllocation* host = nullptr;  // pinned, registered, managed
  std::uint64_t base = 0, size = 0, id = 0;
};
PointerInfo info_of(CUdeviceptr pointer) {
  PointerInfo info;
  World& w = world();
  if (SimDevice* d = w.device_of(pointer)) {
    if (const auto found = d->device->memory->find(pointer)) info = {d, nullptr, found->base, found->size, found->id};
  } else if (const HostAllocation* h = w.host_allocation_of(pointer)) {
    info = {h->context->device, h, h->base, h->size, h->base};
  }
  return info;
}

template <typename T>
CUresult give(void* data, T value) {
  *static_cast<T*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult attribute_of(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const PointerInfo info = info_of(pointer);
  if (info.size == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = info.host == nullptr, managed = !on_device && info.host->kind == HostKind::managed;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      Context* owner = on_device ? info.device->primary : info.host->context;
      if (owner == nullptr && !context_stack().empty()) owner = context_stack().back();
      return give(data, reinterpret_cast<CUcontext>(owner));
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give<unsigned>(data, on_device || managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return give<CUdeviceptr>(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (on_device) return CUDA_ERROR_INVALID_VALUE;
      return give(data, reinterpret_cast<void*>(pointer));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return give<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return give<unsigned long long>(data, info.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give<int>(data, managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give<int>(data, info.device->ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return give<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(data, reinterpret_cast<void*>(info.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give<size_t>(data, info.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give<int>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give<std::uint64_t>(data, 0);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give<CUmemoryPool>(data, nullptr);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

SIM_EXPORT CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  return data == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute_of(data, attribute, pointer);
}

// For a pointer that isn't the driver's, every value is zero and the call succeeds.
SIM_EXPORT CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                           CUdeviceptr pointer) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool known = info_of(pointer).size != 0;
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (known && attribute_of(data[i], attributes[i], pointer) == CUDA_SUCCESS) continue;
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      case CU_POINTER_ATTRIBUTE_MAPPED:
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *static_cast<int*>(data[i]) = 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data[i]) = -2;
        break;
      default:
        *static_cast<void**>(data[i]) = nullptr;
        break;
    }
  }
  return CUDA_SUCCESS;
}
