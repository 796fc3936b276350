#include "interpose/coherence/coherence.h"

#include <algorithm>

namespace tessera::coherence {

using order::program_lane;
using order::shadow_lane;

// --- memory ------------------------------------------------------------------------------------------------------------------

void Coherence::allocated(const Place& home, std::uint64_t bytes) {
  // An entry that overlaps is of memory that was freed by a way that we didn't see: the driver has given its addresses out again.
  auto overlapping = allocations_.upper_bound(home.address + bytes - 1);
  while (overlapping != allocations_.begin()) {
    --overlapping;
    if (overlapping->first + overlapping->second->bytes <= home.address) break;
    drop_replicas(*overlapping->second);
    replicated_.erase(overlapping->second);
    overlapping = allocations_.erase(overlapping);
  }
  auto made = std::make_shared<Allocation>();
  made->bytes = bytes;
  made->copies.push_back({home, true, nullptr, {}, {}});
  allocations_[home.address] = std::move(made);
}

AllocationRef Coherence::ref(Address address) {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  --after;
  return address - after->first < after->second->bytes ? after->second : nullptr;
}

Allocation* Coherence::find(Address address) { return ref(address).get(); }

void Coherence::add_users(Allocation& allocation, std::vector<Ticket>& users) {
  for (Copy& copy : allocation.copies) {
    prune(copy);
    if (copy.ready) users.push_back(copy.ready);
    for (const Use& use : copy.uses) users.push_back(use.ticket);
  }
}

std::vector<Ticket> Coherence::users_of(Address address) {
  std::vector<Ticket> users;
  const auto found = allocations_.find(address);
  if (found != allocations_.end()) add_users(*found->second, users);
  return users;
}

std::vector<Ticket> Coherence::users_in(ContextId context) {
  std::vector<Ticket> users;
  for (auto& [address, allocation] : allocations_) {
    if (allocation->home().place.context == context) add_users(*allocation, users);
  }
  return users;
}

void Coherence::drop_replicas(Allocation& allocation) {
  for (std::size_t i = 1; i < allocation.copies.size(); ++i) {
    mover_.release(allocation.copies[i].place.device, allocation.copies[i].place.address);
  }
  allocation.copies.resize(1);
}

AllocationRef Coherence::being_freed(Address address) {
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? nullptr : found->second;
}

void Coherence::freed(Address address, const AllocationRef& allocation) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second != allocation) return;
  drop_replicas(*found->second);
  replicated_.erase(found->second);
  allocations_.erase(found);
}

Status Coherence::keep_home(StreamId stream, Address address) {
  const AllocationRef allocation = ref(address);
  if (!allocation || allocation->home_only) return {};
  TRY_STATUS(bring_home(stream, *allocation));
  valid_only(*allocation, allocation->home());
  allocation->home_only = true;
  return {};
}

void Coherence::context_gone(ContextId context) {
  for (auto entry = allocations_.begin(); entry != allocations_.end();) {
    if (entry->second->home().place.context != context) {
      ++entry;
      continue;
    }
    drop_replicas(*entry->second);
    replicated_.erase(entry->second);
    entry = allocations_.erase(entry);
  }
}

void Coherence::helper_gone(DeviceId device) {
  for (auto& [address, allocation] : allocations_) {
    auto& copies = allocation->copies;
    copies.erase(std::remove_if(copies.begin() + 1, copies.end(), [&](const Copy& copy) { return copy.place.device == device; }),
                 copies.end());
    if (allocation->newest() == nullptr) allocation->home().valid = true;  // settling failed: what home has is the newest there is
  }
}

// --- copies ------------------------------------------------------------------------------------------------------------------

void Coherence::prune(Copy& copy) {
  if (copy.ready && mover_.ended(copy.ready)) copy.ready = nullptr;
  std::erase_if(copy.uses, [&](const Use& use) { return mover_.ended(use.ticket); });
}

Status Coherence::wait_until_filled(Lane lane, Copy& copy) {
  if (!copy.ready || copy.filled_by == lane) return {};
  if (mover_.ended(copy.ready)) {
    copy.ready = nullptr;
    return {};
  }
  return mover_.wait(lane, copy.ready);
}

Status Coherence::wait_for_source(Lane lane, Copy& source) {
  prune(source);
  TRY_STATUS(wait_until_filled(lane, source));
  for (const Use& use : source.uses) {
    if (use.wrote) TRY_STATUS(mover_.wait(lane, use.ticket));
  }
  return {};
}

Status Coherence::fill(Lane lane, Allocation& allocation, Copy& source, Copy& target, std::span<const Ticket> tails) {
  TRY_STATUS(wait_for_source(lane, source));
  TRY_STATUS(wait_until_filled(lane, target));
  for (const Ticket& tail : tails) TRY_STATUS(mover_.wait(lane, tail));
  TRY_STATUS(mover_.copy(lane, source.place, target.place, allocation.bytes));
  TRY(ready, mover_.record(lane));
  target.ready = ready;
  target.filled_by = lane;
  target.valid = true;
  Traffic& traffic = traffic_[{source.place.device, target.place.device}];
  traffic.bytes += allocation.bytes;
  ++traffic.copies;
  return {};
}

Status Coherence::bring_home(StreamId stream, Allocation& allocation) {
  Copy& home = allocation.home();
  if (home.valid) return wait_until_filled(program_lane(stream), home);
  return fill(program_lane(stream), allocation, *allocation.newest(), home, {});
}

void Coherence::valid_only(Allocation& allocation, const Copy& newest) {
  for (Copy& copy : allocation.copies) {
    if (&copy != &newest) copy.valid = false;
  }
}

void Coherence::note(const AllocationRef& allocation) {
  if (allocation->replicated()) {
    replicated_.insert(allocation);
  } else {
    replicated_.erase(allocation);
  }
}

// --- home visits -------------------------------------------------------------------------------------------------------------

Status Coherence::enter_home(StreamId stream, bool eager, std::span<const Touch> touches, HomeVisit& visit) {
  visit.stream = stream;
  visit.eager = eager;
  for (const Touch& touch : touches) {
    const AllocationRef allocation = ref(touch.address);
    if (!allocation) {
      visit.writes |= touch.written;
      continue;
    }
    if (allocation->replicated()) {
      prune(allocation->home());
      TRY_STATUS(bring_home(stream, *allocation));
    }
    if (touch.written) {
      valid_only(*allocation, allocation->home());
      ++allocation->home_writers;
      visit.writing.push_back(allocation);
      visit.writes = true;
    }
    note(allocation);
  }
  return {};
}

Status Coherence::enter_home_with_everything(StreamId stream, bool eager, HomeVisit& visit) {
  visit.stream = stream;
  visit.eager = eager;
  visit.writes = true;
  visit.everything = true;
  ++everything_visits_;
  const std::vector<AllocationRef> replicated(replicated_.begin(), replicated_.end());
  for (const AllocationRef& allocation : replicated) {
    prune(allocation->home());
    TRY_STATUS(bring_home(stream, *allocation));
    valid_only(*allocation, allocation->home());
    note(allocation);
  }
  return {};
}

Status Coherence::leave_home(HomeVisit& visit) {
  for (const AllocationRef& allocation : visit.writing) --allocation->home_writers;
  if (visit.everything) --everything_visits_;
  const bool wrote = visit.writes;
  const HomeVisit done = std::exchange(visit, {});
  return wrote ? streams_.wrote_at_home(done.stream, done.eager) : Status();
}

Result<std::vector<Ticket>> Coherence::settle(StreamId stream) {
  std::vector<Ticket> pending;
  const std::vector<AllocationRef> replicated(replicated_.begin(), replicated_.end());
  for (const AllocationRef& allocation : replicated) {
    TRY_STATUS(bring_home(stream, *allocation));
    add_users(*allocation, pending);
  }
  return pending;
}

// --- remote visits -----------------------------------------------------------------------------------------------------------

Refusal Coherence::refusal(StreamId stream, DeviceId helper, std::span<const Touch> touches) {
  if (everything_visits_ > 0) return Refusal::busy;
  if (!streams_.free_to_redirect(stream)) return Refusal::blocked;
  const ContextId context = mover_.helper_context(helper);
  for (const Touch& touch : touches) {
    Allocation* allocation = find(touch.address);
    if (allocation == nullptr) return Refusal::not_tracked;
    if (allocation->home_only) return Refusal::home_only;
    if (allocation->home_writers > 0 && allocation->at(helper, context) != &allocation->home()) return Refusal::busy;
  }
  return Refusal::none;
}

Result<Copy*> Coherence::copy_on(DeviceId helper, Allocation& allocation) {
  const ContextId context = mover_.helper_context(helper);
  if (Copy* there = allocation.at(helper, context)) return there;
  TRY(address, mover_.allocate(helper, allocation.bytes));
  allocation.copies.push_back({{helper, context, address}, false, nullptr, {}, {}});
  return &allocation.copies.back();
}

Status Coherence::prepare_replica(Lane lane, DeviceId helper, Allocation& allocation, Refusal& why) {
  why = Refusal::no_memory;
  TRY(target, copy_on(helper, allocation));
  why = Refusal::failed;
  if (target->valid) return wait_until_filled(lane, *target);
  Copy& source = *allocation.newest();
  std::vector<Ticket> tails;
  if (&source == &allocation.home()) {
    TRY(found, streams_.tails(lane.stream));
    tails = std::move(found);
  }
  return fill(lane, allocation, source, *target, tails);
}

Refusal Coherence::enter_remote(StreamId stream, DeviceId helper, std::span<const Touch> touches, std::vector<Address>& translated) {
  if (const Refusal refused = refusal(stream, helper, touches); refused != Refusal::none) return refused;
  const Lane lane = shadow_lane(stream, helper);
  const auto fork = mover_.record(program_lane(stream));
  if (!fork.ok() || !mover_.wait(lane, fork.value()).ok()) return Refusal::failed;
  translated.clear();
  for (const Touch& touch : touches) {
    const AllocationRef allocation = ref(touch.address);
    Refusal why = Refusal::none;
    const Status prepared = prepare_replica(lane, helper, *allocation, why);
    note(allocation);
    if (!prepared.ok()) return why;
    const Copy* there = allocation->at(helper, mover_.helper_context(helper));
    translated.push_back(there->place.address + (touch.address - allocation->home().place.address));
  }
  return Refusal::none;
}

Status Coherence::leave_remote(StreamId stream, DeviceId helper, std::span<const Touch> touches) {
  TRY(join, mover_.record(shadow_lane(stream, helper)));
  const ContextId context = mover_.helper_context(helper);
  for (const Touch& touch : touches) {
    const AllocationRef allocation = ref(touch.address);
    if (!allocation) continue;
    Copy& there = *allocation->at(helper, context);
    prune(there);
    const bool wrote = touch.written;
    std::erase_if(there.uses, [&](const Use& use) { return use.stream == stream && (wrote || !use.wrote); });
    there.uses.push_back({stream, wrote, join});
    if (wrote) valid_only(*allocation, there);
    note(allocation);
  }
  return mover_.wait(program_lane(stream), join);
}

std::string Coherence::check() const {
  Address end = 0;
  for (const auto& [address, allocation] : allocations_) {
    if (address < end) return "allocations don't overlap";
    end = address + allocation->bytes;
    if (std::string violated = allocation->check(); !violated.empty()) return violated;
    if (allocation->replicated() && !replicated_.contains(allocation)) return "what is replicated is known to be";
  }
  return {};
}

}  // namespace tessera::coherence
