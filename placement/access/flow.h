// The fixpoint behind analyse(): one value a register, one summary each for local and shared memory.
//
// Flow-insensitive: an assignment adds to what a register may hold, a guard doesn't narrow. Sound, and quick: linear a round, few rounds.
#pragma once

#include <vector>

#include "placement/access/value.h"

namespace tessera::access {

class Flow {
 public:
  Flow(const ptx::Module& module, const ptx::Function& kernel);
  KernelAccess run();

 private:
  using Instr = ptx::Instr;
  using Operand = ptx::Operand;

  void seed_unassigned();
  [[nodiscard]] bool seed_bottoms();
  void step(const Instr& i);
  void step_load(const Instr& i);
  void step_store(const Instr& i);
  void step_atomic(const Instr& i);
  void step_async(const Instr& i);
  void step_matrix(const Instr& i);
  void step_move(const Instr& i);
  void step_add(const Instr& i, bool subtract);
  void step_mad(const Instr& i);
  void step_compare(const Instr& i);
  void step_carry(const Instr& i);
  void step_other(const Instr& i);

  [[nodiscard]] Value value_of(const Operand& o) const;
  [[nodiscard]] Value address_of(const Operand& o) const;
  [[nodiscard]] Value read_params(std::int64_t offset, unsigned bytes) const;
  void assign(const Operand& o, const Value& v);
  void access(const Instr& i, const Operand& address, bool read, bool write);
  // A value leaves the kernel, or decides something: its words must not be device pointers.
  void expose(const Instr& i, const Value& v, Refusal refusal);
  void refuse(const Instr& i, Refusal refusal);
  [[nodiscard]] bool needs_refusal(const Instr& i, Refusal& refusal) const;
  void merge(Value& to, const Value& from);

  const ptx::Module& module_;
  const ptx::Function& kernel_;
  std::vector<Value> registers_;
  Value local_, shared_, carry_;
  bool changed_ = false;
  bool overflow_ = false;   // more alternatives than are kept
  bool recording_ = false;  // the last round, after the fixpoint: accesses and exposures are collected
  KernelAccess result_;
};

}  // namespace tessera::access
