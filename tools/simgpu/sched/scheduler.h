// Runs operations in an order that their dependencies allow.
//
// Program order: an operation runs as soon as it is submitted and what it waits for has ended, so a program that orders too little works by
// luck, as it mostly does on hardware. Any order: a seed decides what runs when, as early or as late as allowed, and kernels take turns a
// few blocks at a time; only what the program waits for is sure to have run. A missing dependency then shows as different bytes. The same
// seed and the same calls give the same order. Threads: guarded by the driver's lock, which is let go while host functions run and while
// waiting for another thread's operation.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "profiles/base/result.h"
#include "tools/simgpu/sched/driver_lock.h"
#include "tools/simgpu/sched/operation.h"

namespace tessera::simgpu {

class Scheduler {
 public:
  Scheduler(DriverLock& lock, Clock& clock) : lock_(lock), clock_(clock) {}
  // "program" or a seed, as TESSERA_SIM_ORDER is written.
  static Result<std::optional<std::uint64_t>> order_of(std::string_view text);
  // No seed: program order.
  void set_order(std::optional<std::uint64_t> seed);
  [[nodiscard]] bool any_order() const { return any_order_; }
  // Called for each operation when it is submitted; when it has ended, in the order of their ends; and when the program knows of its end.
  std::function<void(Operation&)> on_submit, on_end, on_waited;

  void submit(const OperationPtr& operation);
  // Returns when it has ended.
  void finish(const OperationPtr& operation);
  // Returns when nothing is left.
  void finish_all();
  // Any order: time passes, so some operations may get a chance. Program order: what has become possible runs.
  void drift();
  // The program asks whether it has ended. Asking again and again lets it end.
  [[nodiscard]] bool poll(const OperationPtr& operation);
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  [[nodiscard]] static bool ready(const Operation& operation);
  bool run(const OperationPtr& operation, bool partly);  // true if it did something
  void end(const OperationPtr& operation);
  bool run_in_order();
  bool run_one_of(const std::vector<OperationPtr>& choice);
  bool advance(const OperationPtr& towards);
  void run_until_ended(const OperationPtr& operation);
  void tell(const std::function<void(Operation&)>& whom, Operation& operation) const {
    if (whom) whom(operation);
  }
  [[nodiscard]] std::vector<OperationPtr> ready_before(const OperationPtr& last) const;
  [[nodiscard]] std::vector<OperationPtr> all_ready() const;

  DriverLock& lock_;
  Clock& clock_;
  bool any_order_ = false;
  Random random_;
  std::list<OperationPtr> pending_;  // in order of submission
  std::uint64_t next_number_ = 1;
};

}  // namespace tessera::simgpu
