#include "tools/simgpu/exec/cta.h"

#include <algorithm>
#include <cstring>

#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/warp_loop.h"

namespace tessera::simgpu {
namespace {

constexpr std::size_t line = 128;

std::byte* align(std::byte* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return p + ((address + line - 1) / line * line - address);
}

std::uint32_t mask_below(std::uint32_t count) { return count >= warp_size ? full_mask : (1u << count) - 1; }

}  // namespace

Cta::Cta(LaunchState& state, Sectors& worker_sectors) : launch(state), sectors(&worker_sectors) {
  const Program& program = *launch.program;
  const auto& block = launch.config->block;
  const std::uint32_t threads = block[0] * block[1] * block[2];
  const std::uint32_t warps = (threads + warp_size - 1) / warp_size;
  shared_bytes = program.static_shared + launch.config->dynamic_shared;
  shared_storage_.resize(shared_bytes + 2 * line);
  shared = align(shared_storage_.data());
  local_bytes = program.local_bytes;
  local_storage_.resize(std::size_t{local_bytes} * warps * warp_size + 2 * line);
  local = align(local_storage_.data());
  reaches.resize(program.reaches);
  blocks.resize(program.blocks.size());
  for (std::uint32_t i = 0; i < warps; ++i) {
    auto s = std::make_unique<WarpState>();
    s->special_storage.resize(program.special_bytes + 2 * line);
    s->warp.bank[static_cast<unsigned>(Bank::pool)] = program.pool;
    s->warp.bank[static_cast<unsigned>(Bank::special)] = align(s->special_storage.data());
    s->warp.cta = this;
    s->warp.index = i;
    fill_special(*s, false);
    warps_.push_back(std::move(s));
  }
}

std::array<std::uint32_t, 3> Cta::thread_of(const Warp& w, unsigned lane) const {
  const auto& block = launch.config->block;
  const std::uint32_t linear = w.index * warp_size + lane;
  return {linear % block[0], linear / block[0] % block[1], linear / (block[0] * block[1])};
}

// What a special register shows in one lane. Those of the hardware that has no counterpart here (performance monitors …) read as zero.
static std::uint64_t special_value(const Cta& cta, const Warp& w, unsigned lane, const SpecialSlot& slot) {
  using R = ptx::SpecialReg;
  const LaunchConfig& config = *cta.launch.config;
  const Device& device = cta.launch.kernel->module().device();
  const unsigned c = slot.component;
  const auto part = [c](const std::array<std::uint32_t, 3>& v, std::uint32_t fourth) { return c < 3 ? v[c] : fourth; };
  const auto workspace = reinterpret_cast<std::uint64_t>(cta.launch.grid_workspace.get());
  const auto in_cluster = [&](unsigned i) { return cta.index[i] % config.cluster[i]; };
  const auto& cl = config.cluster;
  switch (slot.reg) {
    case R::tid:
      return part(cta.thread_of(w, lane), 0);
    case R::ntid:
      return part(config.block, 1);
    case R::ctaid:
      return part(cta.index, 0);
    case R::nctaid:
      return part(config.grid, 1);
    case R::laneid:
      return lane;
    case R::warpid:
      return w.index;
    case R::nwarpid:
      return (config.block[0] * config.block[1] * config.block[2] + warp_size - 1) / warp_size;
    case R::smid:
      return cta.number % device.traits.sm_count;
    case R::nsmid:
      return device.traits.sm_count;
    case R::lanemask_eq:
      return 1u << lane;
    case R::lanemask_lt:
      return (1u << lane) - 1;
    case R::lanemask_le:
      return (1u << lane) - 1 + (1u << lane);
    case R::lanemask_gt:
      return ~((1u << lane) - 1 + (1u << lane));
    case R::lanemask_ge:
      return ~((1u << lane) - 1);
    case R::clusterid:
      return c < 3 ? cta.index[c] / cl[c] : 0;
    case R::nclusterid:
      return c < 3 ? config.grid[c] / cl[c] : 1;
    case R::cluster_ctaid:
      return c < 3 ? in_cluster(c) : 0;
    case R::cluster_nctaid:
      return c < 3 ? cl[c] : 1;
    case R::cluster_ctarank:
      return in_cluster(0) + cl[0] * (in_cluster(1) + cl[1] * in_cluster(2));
    case R::cluster_nctarank:
      return cl[0] * cl[1] * cl[2];
    case R::is_explicit_cluster:
      return cl[0] * cl[1] * cl[2] > 1 ? 1 : 0;
    case R::dynamic_smem_size:
      return config.dynamic_shared;
    case R::total_smem_size:
    case R::aggr_smem_size:
      return cta.shared_bytes;
    case R::gridid:
      return 1;
    case R::envreg1:
      return workspace >> 32;
    case R::envreg2:
      return static_cast<std::uint32_t>(workspace);
    default:
      return 0;
  }
}

// Registers whose value differs from block to block, but not from lane to lane.
static bool follows_block(ptx::SpecialReg reg) {
  using R = ptx::SpecialReg;
  switch (reg) {
    case R::ctaid:
    case R::smid:
    case R::clusterid:
    case R::cluster_ctaid:
    case R::cluster_ctarank:
      return true;
    default:
      return false;
  }
}

// All others are filled in once, when the Cta is made.
void Cta::fill_special(WarpState& state, bool following_block) {
  for (const SpecialSlot& slot : launch.program->specials) {
    if (follows_block(slot.reg) != following_block) continue;
    std::byte* to = state.warp.bank[static_cast<unsigned>(Bank::special)] + slot.offset;
    const unsigned bytes = ptx::bits_of(slot.reg) == 64 ? 8 : 4;
    std::uint64_t value = special_value(*this, state.warp, 0, slot);
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (!following_block) value = special_value(*this, state.warp, lane, slot);
      std::memcpy(to + lane * bytes, &value, bytes);
    }
  }
}

std::uint32_t Cta::enter(WarpState& state, const Code& code, std::uint32_t lanes) {
  auto& all = state.activations;
  // One that is free and was made for the same function, else any that is free, else a new one.
  std::size_t at = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].lanes != 0) continue;
    if (at == all.size() || all[i].code == &code) at = i;
    if (all[i].code == &code) break;
  }
  if (at == all.size()) all.emplace_back();
  Activation& a = all[at];
  if (a.capacity < code.frame_bytes || a.registers == nullptr) {
    a.storage = std::make_unique<std::byte[]>(code.frame_bytes + 2 * line);
    a.registers = align(a.storage.get());
    a.capacity = code.frame_bytes;
  }
  std::memset(a.registers, 0, code.frame_bytes);
  a.code = &code;
  a.lanes = lanes;
  a.site = nullptr;
  a.parent = a.depth = a.local_base = a.return_pc = 0;
  return static_cast<std::uint32_t>(at);
}

void Cta::begin(std::uint64_t block_number) {
  number = block_number;
  const auto& grid = launch.config->grid;
  index = {static_cast<std::uint32_t>(number % grid[0]), static_cast<std::uint32_t>(number / grid[0] % grid[1]),
           static_cast<std::uint32_t>(number / (std::uint64_t{grid[0]} * grid[1]))};
  // What a block finds in its memories must not depend on which block its worker ran before.
  std::memset(shared, poison_byte, shared_bytes);
  std::memset(local, poison_byte, std::size_t{local_bytes} * warps_.size() * warp_size);
  if (barriers_used_) barriers_ = {};
  barriers_used_ = false;
  const auto& block = launch.config->block;
  const std::uint32_t threads = block[0] * block[1] * block[2];
  for (auto& state : warps_) {
    Warp& w = state->warp;
    w.alive = mask_below(threads - w.index * warp_size);
    w.carry = 0;
    w.stopped = false;
    for (Activation& a : state->activations) a.lanes = 0;
    fill_special(*state, true);
    w.splits.reset(w.alive);
    w.splits[0].activation = enter(*state, launch.program->functions[0], w.alive);
  }
}

Cta::Progress Cta::run_once(std::uint64_t turn) {
  bool progressed = false, left = false;
  for (auto& state : warps_) {
    if (state->finished()) continue;
    if (state->warp.splits.next() < 0 && !state->warp.splits.release_syncs(state->warp.alive)) {
      left = true;
      continue;
    }
    progressed = true;
    WarpLoop(*this, *state).run(turn);
    if (state->warp.stopped || launch.fault_block.load(std::memory_order_relaxed) < number) return Progress::stopped;
    left |= !state->finished();
  }
  if (barriers_used_ && settle_barriers()) return Progress::running;
  if (!left) return Progress::finished;
  if (progressed) return Progress::running;
  deadlock();
  return Progress::stopped;
}

// ---- barriers

void Cta::arrive(WarpState& state, unsigned id, std::uint32_t lanes, std::uint32_t expected) {
  Barrier& b = barriers_[id];
  b.used = true;
  b.expected = expected;
  b.arrived[state.warp.index] |= lanes;
  barriers_used_ = true;
}

// A warp has come when all its living lanes have. Without a count, all warps that haven't ended must come.
bool Cta::barrier_complete(const Barrier& barrier) const {
  std::uint32_t came = 0;
  for (const auto& state : warps_) {
    const std::uint32_t lanes = barrier.arrived[state->warp.index], alive = state->warp.alive;
    const bool complete = (alive & ~lanes) == 0;
    if (barrier.expected == 0 && !complete) return false;
    if (lanes != 0 && complete) came += warp_size;
  }
  return barrier.expected == 0 || came >= barrier.expected;
}

void Cta::release_barrier(unsigned id) {
  const Barrier done = barriers_[id];
  barriers_[id] = {};
  for (auto& state : warps_) {
    Warp& w = state->warp;
    bool changed = false;
    for (unsigned i = 0; i < w.splits.size(); ++i) {
      Split& s = w.splits[i];
      if (s.state != SplitState::at_barrier || s.wanted != id) continue;
      const Activation& a = state->activations[s.activation];
      const Op& op = a.code->ops[s.pc];
      w.bank[static_cast<unsigned>(Bank::frame)] = a.registers;
      w.exec = s.mask;
      const auto kind = static_cast<BarrierKind>(op.x);
      if (kind == BarrierKind::red_popc) {
        std::uint32_t* d = w.at<std::uint32_t>(op.d);
        for (unsigned lane = 0; lane < warp_size; ++lane) d[lane] = ((s.mask >> lane) & 1u) != 0 ? done.population : d[lane];
      } else if (kind == BarrierKind::red_and) {
        w.set_predicate(op.d, done.population == done.participants ? full_mask : 0u);
      } else if (kind == BarrierKind::red_or) {
        w.set_predicate(op.d, done.population != 0 ? full_mask : 0u);
      }
      s.state = SplitState::ready;
      s.wanted = 0;
      ++s.pc;
      changed = true;
    }
    if (changed) {
      for (unsigned i = 0; i < w.splits.size(); ++i) i = w.splits.gather(i);
    }
  }
}

bool Cta::settle_barriers() {
  bool any = false;
  for (unsigned id = 0; id < barriers_.size(); ++id) {
    if (!barriers_[id].used || !barrier_complete(barriers_[id])) continue;
    release_barrier(id);
    any = true;
  }
  return any;
}

void Cta::deadlock() {
  for (auto& state : warps_) {
    if (state->finished()) continue;
    Warp& w = state->warp;
    const Split& s = w.splits[0];
    const Op& op = state->activations[s.activation].code->ops[s.pc];
    w.fault(FaultKind::barrier_deadlock, op, static_cast<unsigned>(__builtin_ctz(s.mask)), "every thread that is left waits for another");
    return;
  }
}

// ---- faults

void Cta::record(Warp& w, const Op& op, unsigned lane, Fault fault) {
  w.stopped = true;
  const std::lock_guard lock(launch.fault_mutex);
  if (number >= launch.fault_block.load()) return;
  const Code* code = &launch.program->functions[0];
  for (const Code& c : launch.program->functions) {
    if (!c.ops.empty() && &op >= c.ops.data() && &op < c.ops.data() + c.ops.size()) code = &c;
  }
  const ptx::Instr& instr = code->function->instrs[op.instr];
  fault.kernel = launch.kernel->name();
  fault.line = instr.place.line;
  fault.instruction = launch.program->module->opcode_text(instr);
  for (const ptx::Modifier m : code->function->modifiers_of(instr)) {
    fault.instruction += '.';
    fault.instruction += launch.program->module->modifier_text(m);
  }
  fault.block = index;
  fault.thread = thread_of(w, lane);
  launch.fault = std::move(fault);
  launch.fault_block.store(number);
}

void Warp::access_fault(FaultKind kind, const Op& op, unsigned lane, std::uint64_t address, ptx::Space space, Access access) {
  Fault f;
  f.kind = kind;
  f.access = access;
  f.address = address;
  f.space = space;
  f.width = op.width;
  switch (space) {
    case ptx::Space::global:
      f.nearest = cta->launch.memory->describe_nearest(address);
      break;
    case ptx::Space::shared:
      f.nearest = "the block has " + std::to_string(cta->shared_bytes) + " bytes of shared memory";
      break;
    case ptx::Space::local:
      f.nearest = "a thread has " + std::to_string(cta->local_bytes) + " bytes of local memory";
      break;
    default:
      break;
  }
  cta->record(*this, op, lane, std::move(f));
}

void Warp::fault(FaultKind kind, const Op& op, unsigned lane, const char* message) {
  Fault f;
  f.kind = kind;
  f.message = message;
  cta->record(*this, op, lane, std::move(f));
}

// ---- counters

Counters Cta::counters() const {
  Counters c;
  const Program& program = *launch.program;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockCost& cost = program.blocks[i];
    c.warp_instructions += blocks[i].warps * cost.instructions;
    c.lane_instructions += blocks[i].lanes * cost.instructions;
    for (std::size_t u = 0; u < c.lane_ops.size(); ++u) c.lane_ops[u] += blocks[i].lanes * cost.units[u];
    for (std::size_t t = 0; t < c.tensor.size(); ++t) c.tensor[t] += blocks[i].warps * cost.tensor[t];
  }
  c.global_read_bytes = traffic.global_read_bytes;
  c.global_written_bytes = traffic.global_written_bytes;
  c.global_read_sectors = traffic.global_read_sectors;
  c.global_written_sectors = traffic.global_written_sectors;
  c.global_atomics = traffic.global_atomics;
  c.shared_read_bytes = traffic.shared_read_bytes;
  c.shared_written_bytes = traffic.shared_written_bytes;
  c.barriers = barriers;
  c.branches = branches;
  c.divergent_branches = divergent_branches;
  return c;
}

}  // namespace tessera::simgpu
