#include "tools/simgpu/libcuda/virtual_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "profiles/base/log.h"
#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/peer.h"

using namespace tessera;

namespace tessera::simgpu {
namespace {

constexpr std::string_view file_name = "tessera-simulated-gpu-";  // and the device's ordinal

struct Physical {
  SimDevice* device = nullptr;
  std::uint64_t size = 0;
  int file = -1;
  CUmemAllocationProp prop{};
  unsigned references = 1;  // that the program has
  unsigned mappings = 0;
};
struct Mapping {
  std::uint64_t size = 0;
  Physical* physical = nullptr;
  std::map<int, CUmemAccess_flags> access{};  // by device
};

struct VirtualMemory {
  std::map<std::uint64_t, std::uint64_t> reservations;  // address → size
  std::map<std::uint64_t, Mapping> mappings;            // by address
  Registry<Physical> physical;
};
VirtualMemory& all() {
  static VirtualMemory* const instance = new VirtualMemory;  // as long as the world
  return *instance;
}

bool is_whole(std::uint64_t bytes) { return bytes != 0 && bytes % virtual_granularity == 0; }

SimDevice* device_at(const CUmemLocation& location) {
  auto& devices = world().devices;
  const bool valid =
      location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 && static_cast<std::size_t>(location.id) < devices.size();
  return valid ? devices[static_cast<std::size_t>(location.id)].get() : nullptr;
}

CUresult check(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    log::notice("simulated driver: cuMemCreate is offered for device memory only");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (device_at(prop->location) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const bool known =
      prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE || prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

// The one reservation that holds the whole range.
bool is_reserved(std::uint64_t address, std::uint64_t size) {
  auto next = all().reservations.upper_bound(address);
  if (next == all().reservations.begin()) return false;
  const auto& [base, whole] = *std::prev(next);
  return address - base <= whole && size <= whole - (address - base);
}

// The mappings that make up the range exactly; empty when they don't.
std::vector<std::map<std::uint64_t, Mapping>::iterator> mappings_of(std::uint64_t address, std::uint64_t size) {
  std::vector<std::map<std::uint64_t, Mapping>::iterator> found;
  const std::uint64_t end = address + size;
  while (address < end) {
    const auto at = all().mappings.find(address);
    if (at == all().mappings.end() || at->second.size > end - address) return {};
    found.push_back(at);
    address += at->second.size;
  }
  return found;
}

void drop_if_unused(Physical* physical) {
  if (physical->references != 0 || physical->mappings != 0) return;
  physical->device->device->memory->discharge(physical->size);
  close(physical->file);
  all().physical.erase(physical);
}

void set_access(std::uint64_t address, Mapping& mapping, int device, CUmemAccess_flags flags) {
  DeviceMemory& memory = *world().devices[static_cast<std::size_t>(device)]->device->memory;
  const auto old = mapping.access.find(device);
  const bool had = old != mapping.access.end() && old->second != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const bool has = flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (has && !had) (void)memory.map_external(address, mapping.size, "mapped physical memory").ok();
  if (had && !has) (void)memory.unmap_external(address).ok();
  mapping.access[device] = flags;
}

// What every call here begins with.
CUresult begin(const Entry& entry) { return entry.initialized() != CUDA_SUCCESS ? entry.initialized() : may_call_unsafely(); }

CUresult make_physical(SimDevice& device, std::uint64_t size, int file, const CUmemAllocationProp& prop, Physical*& made) {
  if (!device.device->memory->charge(size).ok()) return CUDA_ERROR_OUT_OF_MEMORY;
  made = all().physical.make();
  made->device = &device;
  made->size = size;
  made->file = file;
  made->prop = prop;
  return CUDA_SUCCESS;
}

}  // namespace

SimDevice* device_of_mapping(std::uint64_t address) {
  auto next = all().mappings.upper_bound(address);
  if (next == all().mappings.begin()) return nullptr;
  const auto& [base, mapping] = *std::prev(next);
  return address - base < mapping.size ? mapping.physical->device : nullptr;
}

}  // namespace tessera::simgpu

using namespace tessera::simgpu;

SIM_EXPORT CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                                  CUmemAllocationGranularity_flags option) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (const CUresult bad = check(prop); bad != CUDA_SUCCESS) return bad;
  if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    return CUDA_ERROR_INVALID_VALUE;
  *granularity = virtual_granularity;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* result, size_t size, size_t alignment, CUdeviceptr,
                                        unsigned long long flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const bool power = (alignment & (alignment - 1)) == 0;
  if (result == nullptr || !is_whole(size) || !power || flags != 0 || size > (std::uint64_t{1} << 46)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t to = std::max<std::uint64_t>(alignment, virtual_granularity);
  void* memory = mmap(nullptr, size + to, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<std::uint64_t>(memory), aligned = (begin + to - 1) / to * to;
  if (aligned != begin) munmap(memory, aligned - begin);
  if (const std::uint64_t rest = begin + to - aligned; rest != 0) munmap(reinterpret_cast<void*>(aligned + size), rest);
  all().reservations[aligned] = size;
  *result = aligned;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t size) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const auto found = all().reservations.find(address);
  if (found == all().reservations.end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
  const auto inside = all().mappings.lower_bound(address);
  if (inside != all().mappings.end() && inside->first - address < size) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(address), size);
  all().reservations.erase(found);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* result, size_t size, const CUmemAllocationProp* prop,
                                unsigned long long flags) SIM_NOEXCEPT {
  const Entry entry;
  if (const CUresult bad = begin(entry); bad != CUDA_SUCCESS) return bad;
  if (const CUresult bad = check(prop); bad != CUDA_SUCCESS) return bad;
  if (result == nullptr || !is_whole(size) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SimDevice& device = *device_at(prop->location);
  if (const auto code = world().faults.next(FaultSource::allocation, device.ordinal)) return static_cast<CUresult>(*code);
  const int file = memfd_create(fmt::format("{}{}", file_name, device.ordinal).c_str(), MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  Physical* made = nullptr;
  const bool sized = ftruncate(file, static_cast<off_t>(size)) == 0;
  const CUresult code = sized ? make_physical(device, size, file, *prop, made) : CUDA_ERROR_OPERATING_SYSTEM;
  if (code == CUDA_SUCCESS)
    *result = reinterpret_cast<CUmemGenericAllocationHandle>(made);
  else
    close(file);
  return code;
}
SIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) SIM_NOEXCEPT {
  const Entry entry;
  if (const CUresult bad = begin(entry); bad != CUDA_SUCCESS) return bad;
  Physical* physical = all().physical.find(reinterpret_cast<const void*>(handle));
  if (physical == nullptr || physical->references == 0) return CUDA_ERROR_INVALID_VALUE;
  --physical->references;
  drop_if_unused(physical);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* result, void* address) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const auto wanted = reinterpret_cast<std::uint64_t>(address);
  auto next = all().mappings.upper_bound(wanted);
  if (result == nullptr || next == all().mappings.begin() || wanted - std::prev(next)->first >= std::prev(next)->second.size)
    return CUDA_ERROR_INVALID_VALUE;
  Physical* physical = std::prev(next)->second.physical;
  ++physical->references;
  *result = reinterpret_cast<CUmemGenericAllocationHandle>(physical);
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const Physical* physical = all().physical.find(reinterpret_cast<const void*>(handle));
  if (physical == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = physical->prop;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                             unsigned long long flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  Physical* physical = all().physical.find(reinterpret_cast<const void*>(handle));
  if (physical == nullptr || flags != 0 || !is_whole(size) || address % virtual_granularity != 0 || offset % virtual_granularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (offset > physical->size || size > physical->size - offset || !is_reserved(address, size)) return CUDA_ERROR_INVALID_VALUE;
  const auto next = all().mappings.lower_bound(address);
  const bool hits_next = next != all().mappings.end() && next->first - address < size;
  const bool hits_previous = next != all().mappings.begin() && std::prev(next)->first + std::prev(next)->second.size > address;
  if (hits_next || hits_previous) return CUDA_ERROR_INVALID_VALUE;
  void* mapped = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file,
                      static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  forget_races(address, address + size);
  ++physical->mappings;
  all().mappings[address] = Mapping{size, physical};
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t size) SIM_NOEXCEPT {
  const Entry entry;
  if (const CUresult bad = begin(entry); bad != CUDA_SUCCESS) return bad;
  if (mappings_of(address, size).empty()) return CUDA_ERROR_INVALID_VALUE;
  // What was submitted may still touch it.
  world().scheduler.finish_all();
  world().clock.wait_until(world().clock.makespan());
  for (const auto& at : mappings_of(address, size)) {
    for (const auto& [device, flags] : std::map<int, CUmemAccess_flags>(at->second.access))
      set_access(at->first, at->second, device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    Physical* physical = at->second.physical;
    (void)mmap(reinterpret_cast<void*>(at->first), at->second.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
               0);
    all().mappings.erase(at);
    --physical->mappings;
    drop_if_unused(physical);
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* rows, size_t count) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const auto parts = mappings_of(address, size);
  if (parts.empty() || rows == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const SimDevice* device = device_at(rows[i].location);
    const CUmemAccess_flags flags = rows[i].flags;
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
    for (const auto& at : parts) {
      const SimDevice* owner = at->second.physical->device;
      if (device != owner && flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && !may_access(*device, *owner)) return CUDA_ERROR_INVALID_DEVICE;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& at : parts) set_access(at->first, at->second, rows[i].location.id, rows[i].flags);
  }
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device_at(*location) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  auto next = all().mappings.upper_bound(address);
  if (next == all().mappings.begin() || address - std::prev(next)->first >= std::prev(next)->second.size) return CUDA_ERROR_INVALID_VALUE;
  const auto& access = std::prev(next)->second.access;
  const auto found = access.find(location->id);
  *flags = found == access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
  return CUDA_SUCCESS;
}

// Physical memory is a file: a descriptor of it is what another process, or this one, imports.
SIM_EXPORT CUresult cuMemExportToShareableHandle(void* result, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                                 unsigned long long flags) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const Physical* physical = all().physical.find(reinterpret_cast<const void*>(handle));
  if (physical == nullptr || result == nullptr || flags != 0 || (physical->prop.requestedHandleTypes & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int copy = dup(physical->file);
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(result) = copy;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* result, void* shared,
                                                   CUmemAllocationHandleType type) SIM_NOEXCEPT {
  const Entry entry;
  if (const CUresult bad = begin(entry); bad != CUDA_SUCCESS) return bad;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  char target[256] = {};
  struct stat status {};
  const std::string path = fmt::format("/proc/self/fd/{}", file), prefix = fmt::format("/memfd:{}", file_name);
  if (fstat(file, &status) != 0 || readlink(path.c_str(), target, sizeof target - 1) < 0) return CUDA_ERROR_INVALID_VALUE;
  if (std::string_view(target).substr(0, prefix.size()) != prefix) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = type;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {std::atoi(target + prefix.size())}};
  SimDevice* device = device_at(prop.location);
  const int copy = device == nullptr ? -1 : dup(file);
  if (copy < 0) return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_OPERATING_SYSTEM;
  Physical* made = nullptr;
  const CUresult code = make_physical(*device, static_cast<std::uint64_t>(status.st_size), copy, prop, made);
  if (code == CUDA_SUCCESS)
    *result = reinterpret_cast<CUmemGenericAllocationHandle>(made);
  else
    close(copy);
  return code;
}
