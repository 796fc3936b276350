// The program's streams, as far as order across GPUs depends on them: where home writes may still be running, and what could wait
// for something that hasn't been queued yet.
//
// A copy away from home memory takes a snapshot of a whole allocation, so it waits for the tails of all streams that have written at
// home since their last known tail. A stream whose tail can't be marked by another thread (per-thread default streams) is marked at once.
// A blocker is queued work that may wait for the program to queue more (a kernel that isn't understood may poll; a host function or a
// memory wait may wait for anybody). While one is pending, an order that the program didn't ask for could be a deadlock: nothing is
// redirected. Invariant: tails are always those of work that was queued before. Threads: callers hold the engine's lock.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "interpose/order/ticket.h"

namespace tessera::order {

enum class Blocker : std::uint8_t {
  opaque,   // not understood: might wait for work of other streams
  waiting,  // waits for something outside its stream by design
};

class ProgramStreams {
 public:
  explicit ProgramStreams(Queues& queues) : queues_(queues) {}

  // Work that writes home memory was queued in `stream`. `eager`: only this thread can mark the stream.
  [[nodiscard]] Status wrote_at_home(StreamId stream, bool eager);

  // Marks behind all home writes queued so far in streams other than `except`, whose order the caller has.
  [[nodiscard]] Result<std::vector<Ticket>> tails(StreamId except);

  // The handle goes away; its queued work goes on.
  [[nodiscard]] Status closing(StreamId stream);
  // The stream and its work are gone (its context was destroyed).
  void gone(StreamId stream);

  [[nodiscard]] Status block(StreamId stream, Blocker kind);
  // The same where the stream can't be marked now (it may be captured): it is marked when next asked about.
  void block_later(StreamId stream, Blocker kind) { unmarked_.emplace_back(stream, kind); }
  // May a launch of `stream` be redirected, as far as blockers go?
  [[nodiscard]] bool free_to_redirect(StreamId stream);

 private:
  struct Stream {
    bool dirty = false;
    Ticket tail;
  };
  struct Pending {
    StreamId stream;
    Blocker kind;
    Ticket ticket;
  };
  Queues& queues_;
  std::map<StreamId, Stream> streams_;
  std::vector<Ticket> orphans_;  // tails of streams that are gone
  std::vector<Pending> blockers_;
  std::vector<std::pair<StreamId, Blocker>> unmarked_;
};

}  // namespace tessera::order
