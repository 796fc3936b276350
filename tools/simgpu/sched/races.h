// Finds pairs of operations that touch the same byte, at least one of them writing, while nothing orders them.
//
// Every stream is a line of time, and so is the host (all threads of the program together: what orders two of its threads isn't known, so
// they count as ordered). An operation's vector clock says up to where it is behind each line: its stream, the events that it waits for,
// and what the host had waited for when it submitted it. Two operations are ordered when one's clock covers the other. Two atomics
// don't conflict. Accesses of the program's own host code are not seen.
// Invariant: whether a byte has a race doesn't depend on the order in which operations ran; which pair is named for it may. Source: vector
// clocks, Fidge 1988 and Mattern 1989; one writer and a list of readers a byte as in FastTrack (Flanagan and Freund 2009). Units: bytes.
// Threads: guarded by the driver's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/simgpu/machine/touched.h"
#include "tools/simgpu/sched/operation.h"

namespace tessera::simgpu {

struct Race {
  std::string first, second;     // "kernel mix (operation 12 on GPU 0, stream 3) writes"
  std::uint64_t lo = 0, hi = 0;  // the first range that both touch
  [[nodiscard]] std::string text() const;
};

class Races {
 public:
  // Gives the operation its clock; call it when it is submitted, after its `after` is final.
  void submitted(Operation& operation);
  // The host knows that it has ended.
  void host_waited_for(const Operation& operation);
  // What it touched, once it has ended.
  void touched(const Operation& operation, const std::vector<TouchedRange>& ranges);
  // The memory is new: what happened to its addresses before doesn't matter.
  void forget(std::uint64_t lo, std::uint64_t hi);
  // In the order in which they were found; each pair once.
  [[nodiscard]] const std::vector<Race>& found() const { return found_; }

 private:
  struct Stamp {
    std::uint64_t number, line, tick;
    std::string name;
    std::shared_ptr<const OrderClock> clock;
  };
  using StampPtr = std::shared_ptr<const Stamp>;
  struct Cell {
    std::uint64_t hi = 0;
    StampPtr writer;
    std::vector<StampPtr> readers, atomics;
  };
  using Cells = std::map<std::uint64_t, Cell>;

  static bool ordered(const Stamp& a, const Stamp& b);
  void split(std::uint64_t at);
  void check(const StampPtr& mine, const char* mine_does, const StampPtr& other, const char* other_does, std::uint64_t lo,
             std::uint64_t hi);
  void visit(Cell& cell, std::uint64_t lo, const StampPtr& stamp, std::uint8_t kinds);

  Cells cells_;
  OrderClock host_;
  std::map<std::uint64_t, std::uint64_t> ticks_;  // of each line
  std::uint64_t next_private_line_ = std::uint64_t{1} << 63;
  std::set<std::pair<std::uint64_t, std::uint64_t>> reported_;
  std::vector<Race> found_;
};

}  // namespace tessera::simgpu
