#include "tools/simgpu/exec/warp_loop.h"

#include <cstring>

namespace tessera::simgpu {

namespace {

// Some lanes of a register to another frame; 0 bytes = a predicate.
void copy_register(const std::byte* from, std::byte* to, unsigned bytes, std::uint32_t lanes) {
  if (bytes == 0) {
    std::uint32_t mask = 0, target = 0;
    std::memcpy(&mask, from, sizeof mask);
    std::memcpy(&target, to, sizeof target);
    target = (target & ~lanes) | (mask & lanes);
    std::memcpy(to, &target, sizeof target);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
    std::memcpy(to + lane * bytes, from + lane * bytes, bytes);
  }
}

}  // namespace

void WarpLoop::load(unsigned row) {
  row_ = row;
  Split& s = splits_[row];
  const Activation& a = state_.activations[s.activation];
  w_.bank[static_cast<unsigned>(Bank::frame)] = a.registers;
  w_.local_base = a.local_base;
  w_.lists = a.code->lists.data();
  w_.active = s.mask;
  ops_ = a.code->ops.data();
  pc_ = s.pc;
  released_ = s.state == SplitState::released;
  s.state = SplitState::ready;
}

void WarpLoop::run(std::uint64_t turn) {
  turn_ = turn;
  for (;;) {
    if (!pinned_) {
      const int next = splits_.next();
      if (next < 0) {
        if (splits_.release_syncs(w_.alive)) continue;
        return;
      }
      load(static_cast<unsigned>(next));
      ran_ = 0;
    }
    for (;;) {
      const Op& op = ops_[pc_];
      w_.exec = w_.active;
      if (op.guard.valid()) {
        const std::uint32_t p = w_.predicate(op.guard);
        w_.exec &= op.guard_negated ? ~p : p;
        if (w_.exec == 0 && op.control != Control::branch) {
          ++pc_;
          continue;
        }
      }
      if (op.control == Control::none) {
        op.fn(w_, op);
        if (w_.stopped) [[unlikely]]
          return;
        ++pc_;
        continue;
      }
      const Next next = control(op);
      if (next == Next::go_on) continue;
      if (w_.stopped || next == Next::leave) return;
      pinned_ = false;
      break;
    }
  }
}

WarpLoop::Next WarpLoop::control(const Op& op) {
  switch (op.control) {
    case Control::block:
      return at_block(op);
    case Control::jump:
      ++cta_.branches;
      pc_ = static_cast<std::uint32_t>(op.imm);
      return Next::go_on;
    case Control::branch:
      return branch(op, w_.exec);
    case Control::branch_indexed:
      return branch_indexed(op);
    case Control::call:
      return call(op);
    case Control::builtin:
      if (!run_builtin(cta_, w_, op, cta_.launch.program->calls[op.imm])) return Next::leave;
      ++pc_;
      return Next::go_on;
    case Control::ret:
      return ret(w_.exec);
    case Control::exit:
      return exit(w_.exec);
    case Control::barrier:
      return barrier(op);
    case Control::warp_sync:
      return warp_sync(op);
    case Control::trap:
      w_.fault(FaultKind::trap, op, static_cast<unsigned>(__builtin_ctz(w_.exec)), "");
      return Next::leave;
    case Control::yield:
      return yield();
    case Control::none:
      break;
  }
  return Next::leave;
}

WarpLoop::Next WarpLoop::at_block(const Op& op) {
  if (splits_.size() > 1) {
    save();
    row_ = splits_.gather(row_);
    w_.active = splits_[row_].mask;
    if (++ran_ > Splits::patience) {
      const int other = splits_.longest_waiting(row_);
      splits_.touch(row_);
      ran_ = 0;
      pinned_ = false;
      if (other >= 0) {
        load(static_cast<unsigned>(other));
        pinned_ = true;
        return Next::go_on;
      }
    } else if (!pinned_ && splits_.next() != static_cast<int>(row_)) {
      return Next::reschedule;
    }
  }
  BlockCount& count = cta_.blocks[op.extra];
  ++count.warps;
  count.lanes += static_cast<unsigned>(__builtin_popcount(w_.active));
  ++cta_.clock;
  if (turn_-- == 0) {
    // The block has been counted: go on behind its op.
    ++pc_;
    save();
    return Next::leave;
  }
  ++pc_;
  return Next::go_on;
}

WarpLoop::Next WarpLoop::branch(const Op& op, std::uint32_t taken) {
  ++cta_.branches;
  const auto target = static_cast<std::uint32_t>(op.imm);
  if (taken == 0) {
    ++pc_;
  } else if (taken == w_.active) {
    pc_ = target;
  } else {
    ++cta_.divergent_branches;
    Split other = splits_[row_];
    other.pc = target;
    other.mask = taken;
    w_.active &= ~taken;
    ++pc_;
    save();
    splits_.put(other);
    w_.active = splits_[row_].mask;
  }
  return Next::go_on;
}

WarpLoop::Next WarpLoop::branch_indexed(const Op& op) {
  ++cta_.branches;
  const Code& code = *state_.activations[splits_[row_].activation].code;
  const auto* index = w_.at<const std::uint32_t>(op.a);
  std::uint32_t left = w_.exec;
  const std::uint32_t staying = w_.active & ~w_.exec;
  Split split = splits_[row_];
  splits_.remove(row_);
  unsigned places = 0;
  while (left != 0) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    if (index[lane] >= op.x) {
      w_.fault(FaultKind::illegal_instruction, op, lane, "branch index out of the list of targets");
      return Next::leave;
    }
    std::uint32_t same = 0;
    for (unsigned i = lane; i < warp_size; ++i) same |= (((left >> i) & 1u) != 0 && index[i] == index[lane] ? 1u : 0u) << i;
    split.pc = code.targets[op.extra + index[lane]];
    split.mask = same;
    splits_.put(split);
    left &= ~same;
    ++places;
  }
  if (staying != 0) {
    split.pc = pc_ + 1;
    split.mask = staying;
    splits_.put(split);
    ++places;
  }
  if (places > 1) ++cta_.divergent_branches;
  return Next::reschedule;
}

WarpLoop::Next WarpLoop::without(std::uint32_t leaving) {
  w_.active &= ~leaving;
  if (w_.active == 0) {
    splits_.remove(row_);
    return Next::reschedule;
  }
  ++pc_;
  save();
  return Next::reschedule;
}

WarpLoop::Next WarpLoop::call(const Op& op) {
  const CallSite& site = cta_.launch.program->calls[op.imm];
  const std::uint32_t lanes = w_.exec;
  const Split caller = splits_[row_];
  const std::uint32_t base = w_.local_base;
  const Code& code = cta_.launch.program->functions[site.function];
  const std::uint32_t made = cta_.enter(state_, code, lanes);
  Activation& callee = state_.activations[made];
  const Activation& from = state_.activations[caller.activation];
  callee.parent = caller.activation;
  callee.return_pc = pc_ + 1;
  callee.depth = from.depth + 1;
  callee.local_base = base + from.code->local_bytes;
  callee.site = &site;
  if (callee.local_base + code.local_bytes > cta_.local_bytes) {
    w_.fault(FaultKind::stack_overflow, op, static_cast<unsigned>(__builtin_ctz(lanes)),
             "calls nested too deeply for the stack of a thread");
    return Next::leave;
  }
  for (const ParamCopy& copy : site.arguments) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      std::byte* local = cta_.local_of(w_, static_cast<unsigned>(__builtin_ctz(left)));
      std::memcpy(local + callee.local_base + copy.callee, local + base + copy.caller, copy.bytes);
    }
  }
  for (const RegisterCopy& copy : site.register_arguments) {
    copy_register(w_.at<const std::byte>(copy.caller), callee.registers + copy.callee.offset(), copy.bytes, lanes);
  }
  without(lanes);
  splits_.put({.activation = made, .depth = callee.depth, .pc = 0, .mask = lanes});
  return Next::reschedule;
}

WarpLoop::Next WarpLoop::ret(std::uint32_t lanes) {
  Activation& callee = state_.activations[splits_[row_].activation];
  if (callee.site == nullptr) return exit(lanes);
  const Activation& caller = state_.activations[callee.parent];
  for (const ParamCopy& copy : callee.site->results) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      std::byte* local = cta_.local_of(w_, static_cast<unsigned>(__builtin_ctz(left)));
      std::memcpy(local + caller.local_base + copy.caller, local + callee.local_base + copy.callee, copy.bytes);
    }
  }
  for (const RegisterCopy& copy : callee.site->register_results) {
    copy_register(callee.registers + copy.callee.offset(), caller.registers + copy.caller.offset(), copy.bytes, lanes);
  }
  const Split back{.activation = callee.parent, .depth = caller.depth, .pc = callee.return_pc, .mask = lanes};
  callee.lanes &= ~lanes;
  without(lanes);
  splits_.put(back);
  return Next::reschedule;
}

WarpLoop::Next WarpLoop::exit(std::uint32_t lanes) {
  w_.alive &= ~lanes;
  for (std::uint32_t at = splits_[row_].activation;; at = state_.activations[at].parent) {
    state_.activations[at].lanes &= ~lanes;
    if (state_.activations[at].site == nullptr) break;
  }
  return without(lanes);
}

WarpLoop::Next WarpLoop::barrier(const Op& op) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(w_.exec));
  const std::uint32_t id = op.a.valid() ? w_.at<const std::uint32_t>(op.a)[lane] : 0u;
  const std::uint32_t expected = op.b.valid() ? w_.at<const std::uint32_t>(op.b)[lane] : 0u;
  const auto kind = static_cast<BarrierKind>(op.x);
  if (id >= 16 || expected % warp_size != 0) {
    w_.fault(FaultKind::illegal_instruction, op, lane, "barrier number above 15, or a thread count that isn't a multiple of 32");
    return Next::leave;
  }
  ++cta_.barriers;
  const std::uint32_t lanes = w_.exec;
  const std::uint32_t holding = op.c.valid() ? w_.predicate(op.c) & lanes : 0u;
  cta_.arrive(state_, id, lanes, expected);
  cta_.barriers_[id].population += static_cast<unsigned>(__builtin_popcount(holding));
  cta_.barriers_[id].participants += static_cast<unsigned>(__builtin_popcount(lanes));
  if (kind == BarrierKind::arrive) {
    ++pc_;
    return Next::go_on;
  }
  Split waiting = splits_[row_];
  waiting.pc = pc_;
  waiting.mask = lanes;
  waiting.wanted = id;
  waiting.state = SplitState::at_barrier;
  without(lanes);
  splits_.put(waiting);
  return Next::reschedule;
}

WarpLoop::Next WarpLoop::warp_sync(const Op& op) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(w_.exec));
  const std::uint32_t members = w_.at<const std::uint32_t>(op.f)[lane];
  if (!released_ && (members & w_.alive & ~w_.active) != 0) {
    save();
    Split& s = splits_[row_];
    s.state = SplitState::at_sync;
    s.wanted = members;
    return Next::reschedule;
  }
  released_ = false;
  op.fn(w_, op);
  ++pc_;
  return w_.stopped ? Next::leave : Next::go_on;
}

WarpLoop::Next WarpLoop::yield() {
  ++pc_;
  save();
  const int other = splits_.longest_waiting(row_);
  if (other < 0) return Next::leave;
  splits_.touch(row_);
  load(static_cast<unsigned>(other));
  pinned_ = true;
  ran_ = 0;
  return Next::go_on;
}

}  // namespace tessera::simgpu
