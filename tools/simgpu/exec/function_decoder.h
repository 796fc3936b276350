// One function → Code. Used by decode.cpp only; split over decode_*.cpp by what is decoded.
//
// Errors are kept, not thrown: the first one stops the function (see error()). Threads: one at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/ptx/cfg.h"
#include "tools/simgpu/exec/program_builder.h"

namespace tessera::simgpu {

class FunctionDecoder {
 public:
  FunctionDecoder(ProgramBuilder& builder, const ptx::Function& function, Code& code);
  // Lays out local memory; for all functions before the first is run, as calls need their callees' offsets.
  void prepare();
  // False: error() says why.
  bool run();
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::uint32_t error_line() const { return error_line_; }

 private:
  using Operands = std::span<const ptx::Operand>;

  // decode.cpp: frame, blocks, instructions
  void lay_out_locals();
  void decode_block(ptx::Index block, bool falls_into_next);
  void begin_block(ptx::Index instr);
  bool decode_instr(ptx::Index index);
  bool decode_policy();
  bool decode_plain(const Form& form, const Choice& choice);
  void patch_targets();

  // decode_operands.cpp
  Slot register_slot(ptx::Index reg, std::uint8_t component);
  [[nodiscard]] ptx::Type register_type(const ptx::Operand& o) const;
  [[nodiscard]] unsigned storage_of(const ptx::Operand& o, unsigned otherwise) const;  // of a register operand: 4 or 8
  Slot scratch(unsigned bytes);
  Slot scratch_predicate();
  Slot source(const ptx::Operand& o, ptx::Type type);
  Slot immediate(const ptx::Operand& o, ptx::Type type);
  Slot variable_address(const ptx::Operand& o, ptx::Type type);
  Slot special_register(const ptx::Operand& o, ptx::Type type);
  Slot destination(const ptx::Operand& o, ptx::Type type);
  Slot predicate(const ptx::Operand& o);
  std::optional<std::uint32_t> local_offset(const ptx::Operand& o) const;  // of a variable in this function's local memory

  // decode_memory.cpp
  bool decode_memory(Form form);
  bool decode_atomic(Form form);
  bool address(const ptx::Operand& o, Form& form, Op& op);
  // The operand's elements: of {a, b, …}, or of a register declared as a vector.
  [[nodiscard]] std::vector<ptx::Operand> elements_of(const ptx::Operand& o) const;
  bool vector_list(const ptx::Operand& o, ptx::Type type, unsigned bytes, bool write, Op& op);
  [[nodiscard]] bool order_shows(const Form& form) const;

  // decode_async.cpp
  bool decode_cp(const Form& form);
  bool decode_copy_async(const Form& form);
  bool decode_copy_arrival(Form form);
  bool decode_bulk_copy(const Form& form);
  bool decode_mbarrier(Form form);
  Slot as_register(Op& half, bool& wide);
  bool copy_addresses(const ptx::Operand& to_operand, ptx::Space to_space, const ptx::Operand& from_operand, ptx::Space from_space,
                      const Form& form, Op& op);

  // decode_control.cpp
  std::optional<bool> decode_control(const Form& form);  // nothing: not a control instruction
  bool decode_branch(const Form& form);
  bool decode_indexed_branch();
  // A call as it is written.
  struct CallText {
    const ptx::Operand* target = nullptr;
    Operands arguments{}, results{};
  };
  bool decode_call();
  bool decode_indirect_call(const CallText& call);
  bool call_function(const CallText& call, const ptx::Function& callee, Slot who);
  [[nodiscard]] bool fits(const CallText& call, const ptx::Function& callee) const;
  void emit_for_all(Op op);
  bool decode_barrier(const Form& form);
  // One side of a call's parameters: caller's operands against the callee's variables.
  struct CalleeParams {
    std::span<const ptx::Variable> variables;
    std::span<const std::uint32_t> offsets;
    std::span<const Slot> slots;
  };
  bool match_params(Operands caller, const CalleeParams& callee, bool results, CallSite& site);

  // decode_move.cpp, decode_warp.cpp
  bool decode_move(const Form& form);
  bool decode_convert(const Form& form);
  std::optional<bool> decode_warp(const Form& form);
  bool decode_matrix(const Form& form);
  bool decode_wmma(Form form);
  bool fragments(Operands operands, std::size_t destinations, std::uint64_t registers, Op& op);

  Op& emit(Op op);
  bool fail(std::string message);
  bool unsupported();
  void count(const Form& form);

  ProgramBuilder& builder_;
  const ptx::Function& function_;
  Code& code_;
  ptx::Cfg cfg_;
  const ptx::Instr* instr_ = nullptr;
  Operands operands_;
  std::uint32_t instr_index_ = 0;
  std::uint32_t block_ = 0;                     // of costs, in Program::blocks
  std::vector<std::uint32_t> block_start_;      // by cfg block: op index
  std::vector<std::uint32_t> register_offset_;  // by register id
  std::uint32_t frame_bytes_ = 0;
  std::uint32_t predicate_chunk_ = 0, predicates_left_ = 0;
  std::vector<std::uint32_t> variable_offset_;  // by function variable: in local memory
  std::string error_;
  std::uint32_t error_line_ = 0;
};

}  // namespace tessera::simgpu
