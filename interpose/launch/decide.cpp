#include <algorithm>
#include <cstring>

#include "interpose/device/own_calls.h"
#include "interpose/launch/launch.h"

namespace tessera::interpose {
namespace {

// Integers stay below this, addresses above: a word of a pointer expression that is neither tracked nor small is taken for memory
// that we don't track.
constexpr std::uint64_t least_address = std::uint64_t{1} << 32;

std::uint64_t word_at(std::span<const std::byte> block, std::size_t offset) {
  std::uint64_t word = 0;
  if (offset + sizeof word <= block.size()) std::memcpy(&word, block.data() + offset, sizeof word);
  return word;
}

coherence::Allocation* holder(coherence::Coherence& coherence, std::uint64_t address) {
  if (coherence::Allocation* inside = coherence.find(address)) return inside;
  return address == 0 ? nullptr : coherence.find(address - 1);
}

// Adds what one PTX text says about the launch. Returns why the launch must stay home; touches are complete unless `everything`.
Reason add_touches(Engine& engine, const KernelText& text, Decision& decision) {
  coherence::Coherence& coherence = engine.coherence();
  thread_local access::LaunchAccess found;
  decision.everything = true;
  if (!text.access.understood()) return reason_of(text.access.refusal);
  access::evaluate(
      text.access, decision.block, [&](std::uint64_t value) { return holder(coherence, value) != nullptr; }, found);
  if (found.refusal == access::Refusal::unknown_base)
    return Reason::memory_kind;  // the kernel is understood: it's the memory that isn't known
  if (found.refusal != access::Refusal::none) return reason_of(found.refusal);
  for (const access::LaunchPointer& pointer : found.pointers) {
    const bool behind = coherence.find(pointer.address) == nullptr;
    decision.touches.push_back({{pointer.address - (behind ? 1 : 0), pointer.read, pointer.written}, pointer.offset, behind});
  }
  decision.everything = false;
  for (const access::PointerAccess& one : text.access.accesses) {
    for (const std::uint16_t offset : one.words) {
      const std::uint64_t value = word_at(decision.block, offset);
      if (value >= least_address && holder(coherence, value) == nullptr) return Reason::memory_kind;
    }
  }
  return Reason::none;
}

// A pointer at the start of one allocation may have been meant as the end of its neighbour.
bool ambiguous(coherence::Coherence& coherence, const std::vector<LaunchTouch>& touches) {
  for (const LaunchTouch& one : touches) {
    const coherence::Allocation* inside = coherence.find(one.touch.address);
    if (inside == nullptr || inside->home().place.address != one.touch.address) continue;
    const coherence::Allocation* before = coherence.find(one.touch.address - 1);
    if (before == nullptr) continue;
    const bool uses_both = std::any_of(touches.begin(), touches.end(),
                                       [&](const LaunchTouch& other) { return coherence.find(other.touch.address) == before; });
    if (uses_both) return true;
  }
  return false;
}

// Can the kernel run on the GPU?
Reason feasible(Engine& engine, KernelRecord& kernel, int device, CUfunction& function) {
  if (!engine.placer().may_use(device) || engine.helpers().existing_context(device) == nullptr) return Reason::not_loaded;
  const KernelThere& there = kernel.there[static_cast<std::size_t>(device)];
  if (there.function == nullptr) return there.why;
  if (!there.refused.empty()) return Reason::too_big;
  function = there.function;
  return Reason::none;
}

void choose_target(Engine& engine, const LaunchCall& launch, const KernelText& text, Decision& decision) {
  thread_local std::vector<int> candidates;
  thread_local std::vector<CUfunction> functions;
  const int count = engine.helpers().count();
  candidates.clear();
  functions.assign(static_cast<std::size_t>(count), nullptr);
  const auto wanted = engine.placer().wanted();
  Reason obstacle = Reason::none;
  {
    const std::lock_guard lock(decision.kernel->mutex);
    for (int device = 0; device < count; ++device) {
      const Reason why =
          device == decision.home ? Reason::none : feasible(engine, *decision.kernel, device, functions[static_cast<std::size_t>(device)]);
      if (why == Reason::none) candidates.push_back(device);
      if (wanted == device || (!wanted && why != Reason::none)) obstacle = why;
    }
  }
  const KernelKeyView key(decision.kernel->name, text.hash);
  decision.target = engine.placer().choose(key, launch.shape, &text.thread_work, decision.home, candidates);
  if (std::find(candidates.begin(), candidates.end(), decision.target) == candidates.end()) decision.target = decision.home;
  if (decision.target != decision.home) {
    decision.there = functions[static_cast<std::size_t>(decision.target)];
  } else if (wanted ? *wanted != decision.home : candidates.size() == 1) {
    decision.reason = obstacle;
  }
}

}  // namespace

bool gather(const LaunchCall& launch, const ParamLayout& layout, std::vector<std::byte>& block) {
  block.assign(layout.bytes, std::byte{0});
  if (launch.params != nullptr) {
    for (std::size_t i = 0; i < layout.slots.size(); ++i) {
      const ParamSlot slot = layout.slots[i];
      if (launch.params[i] == nullptr || slot.offset + slot.size > block.size()) return false;
      std::memcpy(block.data() + slot.offset, launch.params[i], slot.size);
    }
    return true;
  }
  if (launch.extra == nullptr) return layout.slots.empty();
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (void** item = launch.extra; *item != CU_LAUNCH_PARAM_END; item += 2) {
    if (*item == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = item[1];
    } else if (*item == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(item[1]);
    } else {
      return false;
    }
  }
  if (buffer == nullptr || size < layout.bytes) return false;
  std::memcpy(block.data(), buffer, layout.bytes);
  return true;
}

void decide(Engine& engine, const LaunchCall& launch, Decision& decision) {
  decision.target = decision.home;
  if (!decision.kernel) {
    decision.reason = Reason::unknown_kernel;
    return;
  }
  const auto home = static_cast<std::size_t>(decision.home);
  const KernelText* text = decision.kernel->text(home, engine.helpers().sm(decision.home));
  if (text == nullptr) {
    decision.reason = Reason::no_ptx;
    return;
  }
  decision.may_wait = text->access.refusal == access::Refusal::system_scope;
  decision.slots = text->layout.slots;
  if (!gather(launch, text->layout, decision.block)) {
    decision.reason = Reason::parameters;
    return;
  }
  decision.reason = add_touches(engine, *text, decision);
  if (decision.reason != Reason::none) return;
  if (text->asserts) decision.reason = Reason::speaks;
  if (launch.kind != Reason::none) decision.reason = launch.kind;
  if (open_captures.load(std::memory_order_relaxed) != 0) decision.reason = Reason::capture;
  if (decision.reason != Reason::none) return;
  choose_target(engine, launch, *text, decision);
  if (decision.target == decision.home) return;
  const KernelText* other = decision.kernel->text(static_cast<std::size_t>(decision.target), engine.helpers().sm(decision.target));
  if (other == nullptr) {
    decision.reason = Reason::no_ptx;
  } else if (other != text) {
    decision.reason = other->layout.bytes == text->layout.bytes ? add_touches(engine, *other, decision) : Reason::parameters;
    decision.everything = false;  // at home it is the home text that runs
  }
  if (decision.reason == Reason::none && ambiguous(engine.coherence(), decision.touches)) decision.reason = Reason::ambiguous_end;
  if (decision.reason != Reason::none) decision.target = decision.home;
}

}  // namespace tessera::interpose
