// Decoded code: what a kernel and the functions that it calls have become.
//
// Basic blocks are laid out in the order in which lanes should run them (order.h), each beginning with a Control::block op.
// Ownership: by value. Threads: immutable once decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/ptx/ir.h"
#include "tools/simgpu/exec/counters.h"
#include "tools/simgpu/exec/op.h"

namespace tessera::simgpu {

// Bytes that a call copies between a thread's local memory of caller and callee.
struct ParamCopy {
  std::uint32_t caller = 0, callee = 0, bytes = 0;  // offsets in the activation's local memory
};

// What a call copies between registers: parameters of functions that take them so (.func (.reg .u32 r) f(.reg .u32 a)).
struct RegisterCopy {
  Slot caller, callee;     // the callee's is in its frame; the caller's may be a literal
  std::uint8_t bytes = 4;  // of a lane; 0 = a predicate
};

enum class Builtin : std::uint8_t { none, vprintf, assertfail, set_conditional };

struct CallSite {
  std::uint32_t function = 0;  // in Program::functions
  Builtin builtin = Builtin::none;
  std::string name;
  std::vector<ParamCopy> arguments, results;
  std::vector<RegisterCopy> register_arguments, register_results;
};

// What running a basic block once costs a lane: added up at the end of a launch.
struct BlockCost {
  std::uint32_t instructions = 0;
  std::uint32_t units[static_cast<unsigned>(Unit::count_)] = {};
  std::uint64_t tensor[static_cast<unsigned>(TensorType::count_)] = {};  // multiply-adds of a whole warp
};

// A special register that a program reads: filled in when a warp begins.
struct SpecialSlot {
  ptx::SpecialReg reg = ptx::SpecialReg::unknown;
  std::uint8_t component = 0;
  std::uint32_t offset = 0;
};

struct Code {
  const ptx::Function* function = nullptr;
  std::vector<Op> ops;
  std::vector<std::uint32_t> targets;                        // of branch_indexed
  std::vector<Slot> lists;                                   // vector operands
  std::uint32_t frame_bytes = 0;                             // registers
  std::uint32_t local_bytes = 0;                             // .local variables, parameters of calls
  std::vector<std::uint32_t> param_offsets, return_offsets;  // .func only: in its local memory
  std::vector<Slot> param_slots, return_slots;               // .func only: those that are registers; others invalid
};

struct Program {
  const ptx::Module* module = nullptr;
  std::vector<Code> functions;  // 0 is the kernel
  std::vector<CallSite> calls;
  std::vector<BlockCost> blocks;  // by Op::extra of Control::block ops
  std::vector<std::byte> pool_storage;
  std::byte* pool = nullptr;  // aligned
  std::vector<SpecialSlot> specials;
  std::uint32_t special_bytes = 0;
  std::uint32_t reaches = 0;  // global memory ops
  std::uint32_t static_shared = 0;
  std::uint32_t local_bytes = 0;  // a thread, with calls
  bool ordered = false;           // blocks must run in their order: its results could show it otherwise
};

}  // namespace tessera::simgpu
