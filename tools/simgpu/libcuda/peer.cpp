#include "tools/simgpu/libcuda/peer.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::simgpu;

namespace {

constexpr std::uint64_t spoiled_every = std::uint64_t{7} * 4096;

SimDevice* device_at(CUdevice ordinal) {
  auto& devices = world().devices;
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size() ? devices[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

// Whether any context of the one device has enabled access to the other.
bool is_enabled(const SimDevice& device, const SimDevice& peer) {
  for (const auto& [context, owned] : world().contexts) {
    if (context->device != &device) continue;
    for (const Context* other : context->peers) {
      if (world().contexts.find(other) != nullptr && other->device == &peer) return true;
    }
  }
  return false;
}

// The current context, and the peer that the handle means.
CUresult pick(const Entry& entry, CUcontext handle, Context*& current, Context*& peer) {
  CUresult error = CUDA_SUCCESS;
  current = entry.context(error);
  if (current == nullptr) return error;
  peer = world().contexts.find(handle);
  return peer == nullptr || peer->device == current->device ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

Result<PeerMode> tessera::simgpu::peer_mode_of(std::string_view text) {
  if (text == "none") return PeerMode::none;
  if (text == "all") return PeerMode::all;
  if (text == "lying") return PeerMode::lying;
  return Error{ErrorCode::usage, "not a mode of peer access: \"" + std::string(text) + "\"", "TESSERA_SIM_PEERS", "use none, all or lying"};
}

bool tessera::simgpu::may_access(const SimDevice& device, const SimDevice& peer) {
  const World& w = world();
  return w.peers != PeerMode::none && &device != &peer && !w.faults.refuses_peer(device.ordinal, peer.ordinal);
}

std::shared_ptr<const AllocationTable> tessera::simgpu::visible_memory(const Context& context) {
  std::shared_ptr<const AllocationTable> own = context.device->device->memory->snapshot();
  if (context.peers.empty()) return own;
  auto all = std::make_shared<AllocationTable>(*own);
  for (const Context* peer : context.peers) {
    if (world().contexts.find(peer) == nullptr) continue;
    for (const Allocation& a : peer->device->device->memory->snapshot()->rows) {
      if (a.kind == AllocationKind::device) all->rows.push_back(a);
    }
  }
  const auto by_base = [](const Allocation& a, const Allocation& b) { return a.base < b.base; };
  std::sort(all->rows.begin(), all->rows.end(), by_base);
  const auto same = [](const Allocation& a, const Allocation& b) { return a.base == b.base; };
  all->rows.erase(std::unique(all->rows.begin(), all->rows.end(), same), all->rows.end());
  return all;
}

void tessera::simgpu::spoil(const CopyWork& copy) {
  const SimDevice *to = copy.to.device, *from = copy.from.device;
  if (world().peers != PeerMode::lying || to == nullptr || from == nullptr || to == from) return;
  if (!is_enabled(*to, *from) && !is_enabled(*from, *to)) return;
  for (std::uint64_t z = 0; z < copy.depth; ++z) {
    for (std::uint64_t y = 0; y < copy.height; ++y) {
      for (std::uint64_t x = 0; x < copy.width; x += spoiled_every)
        *reinterpret_cast<unsigned char*>(copy.to.address + z * copy.to.slice + y * copy.to.pitch + x) ^= 0xffu;
    }
  }
}

SIM_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice *a = device_at(device), *b = device_at(peer);
  if (a == nullptr || b == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *can = may_access(*a, *b) ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice *a = device_at(device), *b = device_at(peer);
  if (a == nullptr || b == nullptr || a == b) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK) return CUDA_ERROR_INVALID_VALUE;
  // Over PCI Express: loads, stores and copies; neither atomics nor arrays.
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && may_access(*a, *b) ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  Context *current = nullptr, *peer = nullptr;
  if (const CUresult bad = pick(entry, handle, current, peer); bad != CUDA_SUCCESS) return bad;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!may_access(*current->device, *peer->device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return current->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
SIM_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext handle) SIM_NOEXCEPT {
  const Entry entry;
  Context *current = nullptr, *peer = nullptr;
  if (const CUresult bad = pick(entry, handle, current, peer); bad != CUDA_SUCCESS) return bad;
  return current->peers.erase(peer) == 0 ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_SUCCESS;
}
