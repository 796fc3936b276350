// Tells a call of the program from one that the driver, or we, make while serving it.
//
// A driver may reach its own exported functions through the same names that we wrap, and so do we; such calls go straight through.
// Invariant: the depth counts the live guards of this thread. Threads: each has its own.
#pragma once

namespace tessera::interpose {

class Inside {
 public:
  Inside() noexcept : outermost_(depth_++ == 0) {}
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // Does this call come from the program?
  [[nodiscard]] bool outermost() const noexcept { return outermost_; }

 private:
  static inline thread_local unsigned depth_ [[gnu::tls_model("initial-exec")]] = 0;
  bool outermost_;
};

}  // namespace tessera::interpose
