// What the themes of test/kernels share: a theme is one program of several kernels, each with its own case.
//
// A case (KERNEL_CASE) makes its inputs, launches its kernel or kernels and compares all of the result with a reference computed
// on the host: integers exactly, floats exactly where the device code has no choice (the themes are compiled with -fmad=false, so
// that + and * round as on the host), otherwise within a tolerance that the case names. `main` runs every case in the order of
// the file and prints a line for each: its name, the size and digest of what came back, right or WRONG. Exit status 0 = all right.
// Threads: one.
#pragma once

#include "test/programs/runtime_check.h"

namespace kernels {

using program::blocks_for;
using program::DeviceArray;
using program::Numbers;
using program::Run;

struct Case {
  const char* name;
  void (*body)(Run& run);
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline bool add_case(const char* name, void (*body)(Run& run)) {
  cases().push_back({name, body});
  return true;
}

#define KERNEL_CASE(name)                                                   \
  static void name##_case(::kernels::Run& run);                             \
  static const bool name##_added = ::kernels::add_case(#name, name##_case); \
  static void name##_case(::kernels::Run& run)

// `count` numbers below `limit`.
template <class T>
std::vector<T> numbers_below(std::uint64_t seed, std::size_t count, std::uint64_t limit) {
  Numbers numbers(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(numbers.below(limit));
  return values;
}

inline std::vector<double> to_doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

inline int run_cases() {
  int status = 0;
  for (const Case& each : cases()) {
    Run run(each.name);
    each.body(run);
    status |= run.finish();
  }
  return status;
}

}  // namespace kernels
