// Peer access: which devices may touch each other's memory, by TESSERA_SIM_PEERS, the faults on order, and what contexts have enabled.
//
// `lying` says yes as `all` does, and then spoils copies that go directly from device to device, as machines with a misconfigured IOMMU
// do. Invariant: a context touches a peer's memory only while it has enabled the access. Threads: guarded by the driver's lock.
#pragma once

#include "tools/simgpu/libcuda/work.h"

namespace tessera::simgpu {

// Errors: usage, for a text that is none of none, all, lying.
[[nodiscard]] Result<PeerMode> peer_mode_of(std::string_view text);
[[nodiscard]] bool may_access(const SimDevice& device, const SimDevice& peer);
// What the context's kernels may touch: its device's memory and that of the peers it has enabled.
[[nodiscard]] std::shared_ptr<const AllocationTable> visible_memory(const Context& context);
// After a copy between two devices: every seventh page of 4 KiB has a wrong first byte, if peers lie and the access is enabled.
void spoil(const CopyWork& copy);

}  // namespace tessera::simgpu
