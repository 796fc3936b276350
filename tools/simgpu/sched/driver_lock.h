// The one lock of the simulated driver: recursive, and it can be let go whole while something that isn't ours runs.
//
// Invariant: what it guards is consistent whenever it is released or yielded. A thread that yields must look up again what it held pointers
// to. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::simgpu {

class DriverLock {
 public:
  void lock() {
    if (owner_is_me()) {
      ++depth_;
      return;
    }
    mutex_.lock();
    take(1);
  }
  void unlock() {
    if (--depth_ != 0) return;
    owner_.store(std::thread::id{}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  // Runs `f` without the lock, however often the calling thread holds it.
  template <typename F>
  void without(F&& f) {
    const unsigned depth = drop();
    f();
    mutex_.lock();
    take(depth);
  }
  // Lets others in until one of them calls wake(), or for a moment.
  void wait() {
    const unsigned depth = drop();
    {
      std::unique_lock<std::mutex> held(mutex_);
      changed_.wait_for(held, std::chrono::milliseconds(1));
    }
    mutex_.lock();
    take(depth);
  }
  void wake() { changed_.notify_all(); }

 private:
  [[nodiscard]] bool owner_is_me() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void take(unsigned depth) {
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = depth;
  }
  unsigned drop() {
    const unsigned depth = depth_;
    depth_ = 0;
    owner_.store(std::thread::id{}, std::memory_order_relaxed);
    mutex_.unlock();
    return depth;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::thread::id> owner_{};
  unsigned depth_ = 0;
};

}  // namespace tessera::simgpu
