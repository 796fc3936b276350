#include "placement/estimate/work_estimate.h"

#include <cmath>

#include "placement/ptx/cfg.h"

namespace tessera::estimate {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;

constexpr double mma_lanes = 32;

// Multiply-adds of one warp-wide matrix instruction, from its shape modifier (m16n8k16): m·n·k, 0 when there is none.
double matrix_size(const ptx::Module& module, const ptx::Function& f, const ptx::Instr& i) {
  for (const Modifier m : f.modifiers_of(i)) {
    const std::string_view text = module.modifier_text(m);
    unsigned rows = 0, columns = 0, depth = 0;
    if (text.size() > 5 && text[0] == 'm' && std::sscanf(std::string(text).c_str(), "m%un%uk%u", &rows, &columns, &depth) == 3) {
      return static_cast<double>(rows) * columns * depth;
    }
  }
  return 0;
}

double& tensor_field(WorkEstimate& w, Type type) {
  switch (type) {
    case Type::bf16:
    case Type::bf16x2:
      return w.tensor_bf16;
    case Type::tf32:
      return w.tensor_tf32;
    case Type::f64:
      return w.tensor_fp64;
    case Type::s8:
    case Type::u8:
    case Type::s4:
    case Type::u4:
    case Type::b1:
      return w.tensor_int8;
    case Type::e4m3:
    case Type::e5m2:
      return w.tensor_fp8;
    case Type::e2m1:
      return w.tensor_fp4;
    default:
      return w.tensor_fp16;
  }
}

bool is_special(Opcode o) {
  return o == Opcode::sin || o == Opcode::cos || o == Opcode::lg2 || o == Opcode::ex2 || o == Opcode::tanh || o == Opcode::rcp ||
         o == Opcode::rsqrt || o == Opcode::sqrt || o == Opcode::div;
}

void add_arithmetic(WorkEstimate& w, const ptx::Function& f, const ptx::Instr& i, double times) {
  const Type type = f.type_of(i);
  const double operations = i.opcode == Opcode::fma || i.opcode == Opcode::mad ? 2 : 1;
  if (!ptx::is_float(type)) {
    w.integer += times;
  } else if (is_special(i.opcode) && type != Type::f64) {
    w.special += times;
  } else if (type == Type::f64) {
    w.fp64 += times * operations;
  } else if (type == Type::f32 || type == Type::f32x2) {
    w.fp32 += times * operations * (type == Type::f32x2 ? 2 : 1);
  } else {
    w.fp16 += times * operations * (ptx::bytes_of(type) == 4 ? 2 : 1);
  }
}

void add_instruction(WorkEstimate& w, const ptx::Module& module, const ptx::Function& f, const ptx::Instr& i, double times) {
  const Space space = f.space_of(i);
  const bool global = space == Space::global || space == Space::generic;
  const double bytes = static_cast<double>(ptx::bytes_of(f.type_of(i))) * f.vector_of(i);
  switch (i.opcode) {
    case Opcode::ld:
    case Opcode::ldu:
      if (global) w.global_read += times * bytes;
      return;
    case Opcode::st:
      if (global) w.global_written += times * bytes;
      return;
    case Opcode::atom:
    case Opcode::red:
      if (global) {
        w.global_read += times * bytes;
        w.global_written += times * bytes;
      }
      return;
    case Opcode::cp:
      if (f.operands_of(i).size() > 2) w.global_read += times * static_cast<double>(f.operands_of(i)[2].value);
      return;
    case Opcode::mma:
    case Opcode::wmma:
    case Opcode::wgmma: {
      const double lanes = i.opcode == Opcode::wgmma ? 4 * mma_lanes : mma_lanes;
      tensor_field(w, f.type_of(i, 1)) += times * 2 * matrix_size(module, f, i) / lanes;
      return;
    }
    case Opcode::bra:
    case Opcode::ret:
    case Opcode::exit:
    case Opcode::bar:
    case Opcode::barrier:
      return;
    default:
      return add_arithmetic(w, f, i, times);
  }
}

}  // namespace

WorkEstimate work_of_thread(const ptx::Module& module, const ptx::Function& kernel) {
  WorkEstimate w;
  const ptx::Cfg cfg = ptx::build_cfg(module, kernel);
  for (const ptx::Block& block : cfg.blocks) {
    if (!block.reachable) continue;
    const unsigned depth = block.loop == ptx::no_index ? 0 : cfg.loops[block.loop].depth;
    if (depth > 0) w.complete = false;
    const double times = std::pow(guessed_trips, depth);
    for (ptx::Index i = block.begin; i < block.end; ++i) add_instruction(w, module, kernel, kernel.instrs[i], times);
  }
  for (const ptx::Variable& v : kernel.variables) {
    if (v.space == Space::shared) w.static_shared += static_cast<std::uint32_t>(v.size());
  }
  return w;
}

WorkEstimate scale(const WorkEstimate& thread, const LaunchShape& shape) {
  WorkEstimate w = thread;
  const double threads = static_cast<double>(shape.blocks()) * static_cast<double>(shape.threads_per_block());
  for (double* amount : {&w.fp32, &w.fp64, &w.fp16, &w.integer, &w.special, &w.tensor_fp16, &w.tensor_bf16, &w.tensor_tf32, &w.tensor_fp8,
                         &w.tensor_fp4, &w.tensor_int8, &w.tensor_fp64, &w.global_read, &w.global_written}) {
    *amount *= threads;
  }
  return w;
}

}  // namespace tessera::estimate
