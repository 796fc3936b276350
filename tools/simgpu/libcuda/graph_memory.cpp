// The memory of graphs: what allocation nodes give, and the account that each device keeps of it.
#include <algorithm>

#include "tools/simgpu/libcuda/graph.h"
#include "tools/simgpu/libcuda/observe.h"

namespace tessera::simgpu {
namespace {

struct Account {
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};
Account& account_of(const SimDevice& device) {
  static auto* const instance = new std::map<int, Account>;  // as long as the world
  return (*instance)[device.ordinal];
}

}  // namespace

GraphMemory::~GraphMemory() {
  graph_catalogue().memory.erase(address);
  if (device == nullptr) return;
  set_live(false);
  account_of(*device).reserved -= size;
  (void)device->device->memory->free(address).ok();
}

bool GraphMemory::set_live(bool now) {
  if (live == now) return false;
  live = now;
  Account& account = account_of(*device);
  account.used += now ? size : -size;
  account.used_high = std::max(account.used_high, account.used);
  return true;
}

CUresult make_graph_memory(SimDevice& device, std::size_t bytes, GraphMemoryPtr& memory) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const auto code = world().faults.next(FaultSource::allocation, device.ordinal)) return static_cast<CUresult>(*code);
  const auto address = device.device->memory->allocate(bytes, allocation_alignment, "graph memory");
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  forget_races(*address, *address + bytes);
  memory = std::make_shared<GraphMemory>();
  memory->device = &device;
  memory->address = *address;
  memory->size = bytes;
  graph_catalogue().memory[*address] = memory.get();
  Account& account = account_of(device);
  account.reserved += bytes;
  account.reserved_high = std::max(account.reserved_high, account.reserved);
  return CUDA_SUCCESS;
}

GraphMemoryPtr graph_memory_at(std::uint64_t address) {
  const auto found = graph_catalogue().memory.find(address);
  return found == graph_catalogue().memory.end() ? nullptr : found->second->shared_from_this();
}

}  // namespace tessera::simgpu

using namespace tessera::simgpu;

namespace {

CUresult find_account(CUdevice ordinal, const void* value, Account*& account) {
  const World& w = world();
  if (w.init_result != CUDA_SUCCESS) return w.init_result;
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= w.devices.size()) return CUDA_ERROR_INVALID_DEVICE;
  account = &account_of(*w.devices[static_cast<std::size_t>(ordinal)]);
  return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) SIM_NOEXCEPT {
  const Entry entry;
  Account* account = nullptr;
  if (const CUresult bad = find_account(device, value, account); bad != CUDA_SUCCESS) return bad;
  const std::uint64_t all[] = {account->used, account->used_high, account->reserved, account->reserved_high};
  if (attribute < CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = all[attribute];
  return CUDA_SUCCESS;
}
// Documented: only the highest values, and only back to zero, which means the current value.
SIM_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) SIM_NOEXCEPT {
  const Entry entry;
  Account* account = nullptr;
  if (const CUresult bad = find_account(device, value, account); bad != CUDA_SUCCESS) return bad;
  if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
    account->used_high = account->used;
  else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
    account->reserved_high = account->reserved;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
// Nothing is kept that no graph has.
SIM_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  Account* account = nullptr;
  return find_account(device, &device, account);
}
