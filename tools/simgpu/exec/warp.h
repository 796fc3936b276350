// A warp: 32 lanes that execute one op at a time, their registers, and where they are.
//
// Register file: [slot][32 lanes]. Lanes that have parted are Splits (reconverge.h); each runs in an Activation (one call of one
// function). `exec` is what the op at hand acts on: active lanes of the running split whose guard holds.
// Invariant: exec ⊆ active ⊆ alive. Ownership: a warp belongs to its block's worker thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tools/simgpu/exec/fault.h"
#include "tools/simgpu/exec/op.h"
#include "tools/simgpu/exec/reconverge.h"

namespace tessera::simgpu {

struct Cta;
struct Code;

struct Warp {
  std::array<std::byte*, 3> bank{};  // by Bank
  std::uint32_t exec = 0;
  std::uint32_t active = 0;
  std::uint32_t alive = 0;       // lanes that exist and haven't exited
  bool stopped = false;          // a fault was recorded: leave the loop
  std::uint32_t carry = 0;       // CC.CF of the lanes
  std::uint32_t local_base = 0;  // of the running activation, in each thread's local memory
  const Slot* lists = nullptr;   // Code::lists of the running activation
  Cta* cta = nullptr;
  std::uint32_t index = 0;  // in its block
  Splits splits;

  template <typename T>
  [[nodiscard]] T* at(Slot s) const {
    return reinterpret_cast<T*>(bank[s.bank()] + s.offset());
  }
  [[nodiscard]] std::uint32_t predicate(Slot s) const { return *at<const std::uint32_t>(s); }

  // Writes the lanes of exec only.
  void set_predicate(Slot s, std::uint32_t lanes) const {
    std::uint32_t* p = at<std::uint32_t>(s);
    *p = (*p & ~exec) | (lanes & exec);
  }

  // Records the fault of one lane and stops the warp; the first fault of a launch wins.
  void access_fault(FaultKind kind, const Op& op, unsigned lane, std::uint64_t address, ptx::Space space, Access access);
  void fault(FaultKind kind, const Op& op, unsigned lane, const char* message);
};

}  // namespace tessera::simgpu
