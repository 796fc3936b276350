#include "test/fake/fake_mover.h"

#include <algorithm>
#include <cstring>

namespace tessera::fake {

namespace {
constexpr std::uint64_t piece = 8;
}

void FakeMover::work(Lane lane, std::function<void()> body) { lanes_[lane].push_back({nullptr, std::move(body)}); }

Result<Ticket> FakeMover::record(Lane lane) {
  auto mark = std::make_shared<FakeMark>();
  work(lane, [mark] { mark->done = true; });
  return Ticket(mark);
}

Status FakeMover::wait(Lane lane, const Ticket& ticket) {
  if (ticket) lanes_[lane].push_back({std::static_pointer_cast<FakeMark>(ticket), nullptr});
  return {};
}

bool FakeMover::ended(const Ticket& ticket) { return !ticket || static_cast<const FakeMark&>(*ticket).done; }

Status FakeMover::finish(const Ticket& ticket) {
  while (!ended(ticket)) {
    if (!step()) return Error{ErrorCode::internal, "deadlock: nothing can run", {}, {}};
  }
  return {};
}

Status FakeMover::copy(Lane lane, const Place& from, const Place& to, std::uint64_t bytes) {
  ++copies;
  for (std::uint64_t at = 0; at < bytes; at += piece) {
    work(lane, [this, from, to, at, count = std::min(piece, bytes - at)] {
      const std::byte* source = memory(from.device, from.address + at, count);
      std::byte* target = memory(to.device, to.address + at, count);
      if (source != nullptr && target != nullptr) std::memcpy(target, source, count);
    });
  }
  return {};
}

Address FakeMover::program_memory(DeviceId device, std::uint64_t bytes) {
  const Address address = next_;
  next_ += (bytes + 0xffff) & ~Address{0xfff};
  memory_[{device, address}].assign(bytes, std::byte{0xcd});
  return address;
}

Result<Address> FakeMover::allocate(DeviceId device, std::uint64_t bytes) {
  if (allocations_until_failure == 0) return Error{ErrorCode::environment, "no memory left", {}, {}};
  if (allocations_until_failure > 0) --allocations_until_failure;
  return program_memory(device, bytes);
}

void FakeMover::free_program_memory(DeviceId device, Address address) { memory_.erase({device, address}); }
void FakeMover::release(DeviceId device, Address address) { free_program_memory(device, address); }

std::byte* FakeMover::memory(DeviceId device, Address address, std::uint64_t bytes) {
  auto after = memory_.upper_bound({device, address});
  if (after != memory_.begin()) {
    --after;
    auto& [key, data] = *after;
    if (key.first == device && address - key.second + bytes <= data.size()) return data.data() + (address - key.second);
  }
  violations.push_back("access to memory that isn't there");
  return nullptr;
}

bool FakeMover::step() {
  std::vector<std::deque<Entry>*> ready;
  for (auto& [lane, queue] : lanes_) {
    if (!queue.empty() && (!queue.front().until || queue.front().until->done)) ready.push_back(&queue);
  }
  if (ready.empty()) return false;
  auto& queue = *ready[random_() % ready.size()];
  Entry entry = std::move(queue.front());
  queue.pop_front();
  if (entry.body) entry.body();
  return true;
}

void FakeMover::run_some(unsigned entries) {
  while (entries-- > 0 && step()) {
  }
}

}  // namespace tessera::fake
