// What a pointer is: the attributes that programs ask for.
#include "tools/simgpu/libcuda/pool.h"

using namespace tessera::simgpu;

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
    info = {h->context == nullptr ? w.devices.front().get() : h->context->device, h, h->base, h->size, h->base};
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
      const auto owned = world().owners.find(info.base);
      Context* owner = !on_device ? info.host->context : owned != world().owners.end() ? owned->second : info.device->primary;
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
      return give(data, reinterpret_cast<CUmemoryPool>(pool_of(info.base)));
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
