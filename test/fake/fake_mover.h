// A machine with several memories and queues, in host memory: what is queued runs in any order that the queues allow, by a seed.
//
// Copies run in pieces, so that a writer that isn't ordered against a copy shows as wrong bytes. Memory that isn't there (freed,
// never allocated) is a violation, collected in `violations`. Threads: one.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "interpose/coherence/mover.h"

namespace tessera::fake {

using coherence::Address;
using coherence::ContextId;
using coherence::DeviceId;
using coherence::Lane;
using coherence::Place;
using coherence::Ticket;

class FakeMover : public coherence::Mover {
 public:
  explicit FakeMover(std::uint64_t seed) : random_(seed) {}

  Result<Ticket> record(Lane lane) override;
  Status wait(Lane lane, const Ticket& ticket) override;
  bool ended(const Ticket& ticket) override;
  Status finish(const Ticket& ticket) override;
  Status copy(Lane lane, const Place& from, const Place& to, std::uint64_t bytes) override;
  ContextId helper_context(DeviceId device) override { return static_cast<ContextId>(device) + 100; }
  Result<Address> allocate(DeviceId device, std::uint64_t bytes) override;
  void release(DeviceId device, Address address) override;

  // A kernel or a copy of the program: runs `body` when its turn comes.
  void work(Lane lane, std::function<void()> body);
  // Program memory, at an address that no device has used before.
  Address program_memory(DeviceId device, std::uint64_t bytes);
  void free_program_memory(DeviceId device, Address address);
  // `bytes` of device memory, or null and a violation.
  std::byte* memory(DeviceId device, Address address, std::uint64_t bytes);
  // Runs a few queued entries.
  void run_some(unsigned entries);

  int allocations_until_failure = -1;  // the next allocate() that fails; negative = none
  std::vector<std::string> violations;
  std::uint64_t copies = 0;

 private:
  struct FakeMark : order::Mark {
    bool done = false;
  };
  struct Entry {
    std::shared_ptr<FakeMark> until;  // wait for it
    std::function<void()> body;
  };
  struct LaneOrder {
    bool operator()(const Lane& a, const Lane& b) const {
      return std::tie(a.stream, a.shadow, a.device) < std::tie(b.stream, b.shadow, b.device);
    }
  };
  bool step();

  std::map<Lane, std::deque<Entry>, LaneOrder> lanes_;
  std::map<std::pair<DeviceId, Address>, std::vector<std::byte>> memory_;
  Address next_ = 0x10000;
  std::mt19937_64 random_;
};

}  // namespace tessera::fake
