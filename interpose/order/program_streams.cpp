#include "interpose/order/program_streams.h"

#include <algorithm>

namespace tessera::order {

Status ProgramStreams::wrote_at_home(StreamId stream, bool eager) {
  Stream& state = streams_[stream];
  state.dirty = true;
  if (!eager) return {};
  TRY(tail, queues_.record(program_lane(stream)));
  state = {false, tail};
  return {};
}

Result<std::vector<Ticket>> ProgramStreams::tails(StreamId except) {
  std::vector<Ticket> found;
  for (auto& [id, state] : streams_) {
    if (id == except) continue;
    if (state.dirty) {
      TRY(tail, queues_.record(program_lane(id)));
      state = {false, tail};
    }
    if (state.tail && queues_.ended(state.tail)) state.tail = nullptr;
    if (state.tail) found.push_back(state.tail);
  }
  std::erase_if(orphans_, [&](const Ticket& ticket) { return queues_.ended(ticket); });
  found.insert(found.end(), orphans_.begin(), orphans_.end());
  return found;
}

Status ProgramStreams::closing(StreamId stream) {
  const auto entry = streams_.find(stream);
  if (entry == streams_.end()) return {};
  if (entry->second.dirty) {
    TRY(tail, queues_.record(program_lane(stream)));
    entry->second.tail = tail;
  }
  if (entry->second.tail) orphans_.push_back(entry->second.tail);
  std::erase_if(unmarked_, [&](const auto& pending) { return pending.first == stream; });
  streams_.erase(entry);
  return {};
}

void ProgramStreams::gone(StreamId stream) {
  streams_.erase(stream);
  std::erase_if(blockers_, [&](const Pending& pending) { return pending.stream == stream; });
  std::erase_if(unmarked_, [&](const auto& pending) { return pending.first == stream; });
}

Status ProgramStreams::block(StreamId stream, Blocker kind) {
  TRY(ticket, queues_.record(program_lane(stream)));
  const auto same = [&](const Pending& pending) { return pending.stream == stream && pending.kind == kind; };
  std::erase_if(blockers_, same);  // a later mark of the same stream covers the earlier one
  blockers_.push_back({stream, kind, ticket});
  return {};
}

bool ProgramStreams::free_to_redirect(StreamId stream) {
  while (!unmarked_.empty()) {
    if (!block(unmarked_.back().first, unmarked_.back().second).ok()) return false;
    unmarked_.pop_back();
  }
  std::erase_if(blockers_, [&](const Pending& pending) { return queues_.ended(pending.ticket); });
  return std::none_of(blockers_.begin(), blockers_.end(),
                      [&](const Pending& pending) { return pending.kind == Blocker::waiting || pending.stream != stream; });
}

}  // namespace tessera::order
