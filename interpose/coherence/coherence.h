// Keeps the copies of the program's allocations coherent while launches run on different GPUs.
//
// Two kinds of visits. A home visit is any call that runs where the program asked (launch, copy, memset, graph): before it, the
// newest bytes of what it touches are brought home in its stream, and what it writes stops being valid elsewhere. A remote visit is a
// redirected launch: its shadow lane forks from the program's stream, stale inputs are copied in the shadow lane, and the program's
// stream joins the shadow lane behind the launch. So whatever observes or follows the program's stream is ordered behind the launch.
//
// Why this is enough. (1) Work that the program orders against the launch is ordered through its stream, by fork and join. (2) Work that
// it leaves unordered touches other bytes, but maybe of the same allocation; a copy of the whole allocation therefore waits for
// everything that may still be writing its source: the filling copy, redirected launches that write there (tickets), and, when the source
// is home memory, the tails of all streams with home writes. (3) A copy overwrites its target while unordered readers may be running
// there; they read bytes that nobody has written since, and these the copy replaces by the same bytes. (4) A copy waits for the filling
// copy of its target, so an older one never lands later. (5) Between deciding that a home write may go and its being queued,
// home_writers holds the allocation at home, so no lock is held while the driver is called.
//
// Invariant: check(). Everything not tracked here is home-only by nature. Threads: callers hold the engine's lock; a HomeVisit may
// be held without it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interpose/coherence/allocation.h"
#include "interpose/order/program_streams.h"

namespace tessera::coherence {

struct Touch {
  Address address = 0;
  bool read = false;
  bool written = false;
};

// What a home visit holds until its call is queued.
struct HomeVisit {
  StreamId stream = 0;
  bool eager = false;  // see ProgramStreams::wrote_at_home
  bool everything = false;
  bool writes = false;
  std::vector<AllocationRef> writing;
};

struct Traffic {
  std::uint64_t bytes = 0, copies = 0;
};

enum class Refusal : std::uint8_t { none, not_tracked, home_only, busy, blocked, no_memory, failed };

class Coherence {
 public:
  explicit Coherence(Mover& mover) : mover_(mover), streams_(mover) {}

  // --- memory ---
  void allocated(const Place& home, std::uint64_t bytes);
  // Everything that is still using copies of the allocation that begins at `address`: to be finished, without the lock, before it is freed.
  [[nodiscard]] std::vector<Ticket> users_of(Address address);
  // The allocation that begins there, to be named to freed() once the driver has freed it: its addresses may have been given out again
  // by then.
  [[nodiscard]] AllocationRef being_freed(Address address);
  // It was freed, and its uses have ended.
  void freed(Address address, const AllocationRef& allocation);
  // Brings it home through `stream` and keeps it there.
  [[nodiscard]] Status keep_home(StreamId stream, Address address);
  // A context of the program was destroyed with all that was in it.
  void context_gone(ContextId context);
  // The same of everything that uses memory of a context of the program.
  [[nodiscard]] std::vector<Ticket> users_in(ContextId context);
  // A helper's memory was lost (device reset), after settle(): its replicas are forgotten, not released.
  void helper_gone(DeviceId device);
  // The allocation that holds `address`, or null.
  [[nodiscard]] Allocation* find(Address address);
  [[nodiscard]] bool anything_replicated() const { return !replicated_.empty(); }

  // --- home visits ---
  [[nodiscard]] Status enter_home(StreamId stream, bool eager, std::span<const Touch> touches, HomeVisit& visit);
  [[nodiscard]] Status enter_home_with_everything(StreamId stream, bool eager, HomeVisit& visit);
  [[nodiscard]] Status leave_home(HomeVisit& visit);
  // Brings everything home through `stream`; the tickets returned, once finished, mean that nothing of ours is pending anywhere.
  [[nodiscard]] Result<std::vector<Ticket>> settle(StreamId stream);

  // --- remote visits ---
  // May this launch go to `helper`? Changes nothing.
  [[nodiscard]] Refusal refusal(StreamId stream, DeviceId helper, std::span<const Touch> touches);
  // Makes the shadow lane ready for the launch; gives the helper's address for each touch. On refusal the launch stays home.
  [[nodiscard]] Refusal enter_remote(StreamId stream, DeviceId helper, std::span<const Touch> touches, std::vector<Address>& translated);
  // The launch was queued in the shadow lane. Error = the program's stream could not be joined.
  [[nodiscard]] Status leave_remote(StreamId stream, DeviceId helper, std::span<const Touch> touches);

  [[nodiscard]] order::ProgramStreams& streams() { return streams_; }
  [[nodiscard]] const std::map<std::pair<DeviceId, DeviceId>, Traffic>& traffic() const { return traffic_; }
  [[nodiscard]] std::string check() const;

 private:
  [[nodiscard]] AllocationRef ref(Address address);
  [[nodiscard]] Status wait_for_source(Lane lane, Copy& source);
  [[nodiscard]] Status wait_until_filled(Lane lane, Copy& copy);
  [[nodiscard]] Status fill(Lane lane, Allocation& allocation, Copy& source, Copy& target, std::span<const Ticket> tails);
  [[nodiscard]] Status bring_home(StreamId stream, Allocation& allocation);
  [[nodiscard]] Status prepare_replica(Lane lane, DeviceId helper, Allocation& allocation, Refusal& why);
  [[nodiscard]] Result<Copy*> copy_on(DeviceId helper, Allocation& allocation);
  void valid_only(Allocation& allocation, const Copy& newest);
  void note(const AllocationRef& allocation);
  void drop_replicas(Allocation& allocation);
  void add_users(Allocation& allocation, std::vector<Ticket>& users);
  void prune(Copy& copy);

  Mover& mover_;
  order::ProgramStreams streams_;
  std::map<Address, AllocationRef> allocations_;  // by home address
  std::set<AllocationRef> replicated_;            // superset of those with replicated()
  unsigned everything_visits_ = 0;
  std::map<std::pair<DeviceId, DeviceId>, Traffic> traffic_;
};

}  // namespace tessera::coherence
