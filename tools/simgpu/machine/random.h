// A small generator whose numbers are the same on every machine (SplitMix64, Steele, Lea and Flood 2014).
#pragma once

#include <cstdint>

namespace tessera::simgpu {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // A number in [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  // True once in n.
  bool once_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::simgpu
