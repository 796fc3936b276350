#include "tools/simgpu/exec/fault.h"

#include <fmt/core.h>

#include "tools/simgpu/exec/counters.h"

namespace tessera::simgpu {

std::string_view text_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::illegal_address:
      return "illegal address";
    case FaultKind::misaligned_address:
      return "misaligned address";
    case FaultKind::trap:
      return "trap";
    case FaultKind::assertion:
      return "assertion failed";
    case FaultKind::barrier_deadlock:
      return "barrier deadlock";
    case FaultKind::stack_overflow:
      return "stack overflow";
    case FaultKind::illegal_instruction:
      return "illegal instruction";
  }
  return "fault";
}

std::string Fault::text() const {
  std::string out = fmt::format("{} in kernel {}, line {}", text_of(kind), kernel, line);
  if (!instruction.empty()) out += fmt::format(" ({})", instruction);
  out += fmt::format(", block ({},{},{}), thread ({},{},{})", block[0], block[1], block[2], thread[0], thread[1], thread[2]);
  if (access != Access::none) {
    const char* verb = access == Access::read ? "read" : access == Access::write ? "write" : "atomic";
    const std::string_view where = space == ptx::Space::generic ? "generic" : ptx::text_of(space);
    out += fmt::format(": {} of {} bytes at {} address {:#x}", verb, width, where, address);
    if (!nearest.empty()) out += fmt::format("; {}", nearest);
  }
  if (!message.empty()) out += fmt::format(": {}", message);
  return out;
}

Counters& Counters::operator+=(const Counters& o) {
  for (unsigned i = 0; i < lane_ops.size(); ++i) lane_ops[i] += o.lane_ops[i];
  for (unsigned i = 0; i < tensor.size(); ++i) tensor[i] += o.tensor[i];
  threads += o.threads, blocks += o.blocks, warps += o.warps;
  warp_instructions += o.warp_instructions, lane_instructions += o.lane_instructions;
  global_read_bytes += o.global_read_bytes, global_written_bytes += o.global_written_bytes;
  global_read_sectors += o.global_read_sectors, global_written_sectors += o.global_written_sectors;
  unique_read_sectors += o.unique_read_sectors, unique_written_sectors += o.unique_written_sectors;
  external_sectors += o.external_sectors, global_atomics += o.global_atomics;
  shared_read_bytes += o.shared_read_bytes, shared_written_bytes += o.shared_written_bytes;
  barriers += o.barriers, branches += o.branches, divergent_branches += o.divergent_branches;
  return *this;
}

}  // namespace tessera::simgpu
