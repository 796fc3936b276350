// What every test program shares: its two options, its deterministic inputs, its output and its verdict.
//
// A program is an ordinary CUDA program that knows nothing of Tessera. It takes `[FILE] [--size N]`, computes something on
// the GPU, appends every byte that it copied back to its output, compares with a reference computed on the host, and
// ends with `finish()`: the whole output goes to FILE (without one, its digest is printed), exit status 0 = right,
// 1 = wrong or a CUDA call failed, 2 = bad arguments. Two runs print and write the same bytes.
// Threads: one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace program {

// A fixed sequence of numbers (SplitMix64), the same on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return bits() % limit; }
  // In [-1, 1), a multiple of 2^-23.
  float unit() { return static_cast<float>(bits() >> 40) * 0x1p-23F - 1.0F; }
  std::vector<float> units(std::size_t count, float scale = 1.0F) {
    std::vector<float> values(count);
    for (float& value : values) value = unit() * scale;
    return values;
  }

 private:
  std::uint64_t state_;
};

class Run {
 public:
  explicit Run(const char* name, std::size_t size = 1) : name_(name), size_(size) {}
  Run(int argc, char** argv, const char* name, std::size_t default_size) : Run(name, default_size) {
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--size") == 0 && i + 1 < argc) {
        char* end = nullptr;
        size_ = std::strtoull(argv[++i], &end, 10);
        if (*end != '\0' || size_ == 0) usage();
      } else if (argv[i][0] != '-' && file_.empty()) {
        file_ = argv[i];
      } else {
        usage();
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  template <class T>
  void output(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    bytes_.insert(bytes_.end(), bytes, bytes + values.size() * sizeof(T));
  }

  // Appends `got` to the output; every value must equal the reference.
  template <class T>
  void expect_equal(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
    output(got);
    if (got.size() != want.size()) return wrong(what, 0, static_cast<double>(got.size()), static_cast<double>(want.size()));
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != want[i]) return wrong(what, i, static_cast<double>(got[i]), static_cast<double>(want[i]));
    }
  }

  // Appends `got` to the output; every value must be within tolerance * (1 + |reference|) of the reference. NaN never is.
  template <class T>
  void expect_close(const char* what, const std::vector<T>& got, const std::vector<double>& want, double tolerance) {
    output(got);
    if (got.size() != want.size()) return wrong(what, 0, static_cast<double>(got.size()), static_cast<double>(want.size()));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double value = static_cast<double>(got[i]);
      const double allowed = tolerance * (1.0 + std::fabs(want[i]));
      if (!(std::fabs(value - want[i]) <= allowed)) return wrong(what, i, value, want[i]);
    }
  }

  [[nodiscard]] int finish() {
    if (!file_.empty() && !write()) return 1;
    std::printf("%s: size %zu, %zu bytes of output, digest %016llx, %s\n", name_, size_, bytes_.size(),
                static_cast<unsigned long long>(digest()), wrong_ ? "WRONG" : "right");
    return wrong_ ? 1 : 0;
  }

 private:
  [[noreturn]] void usage() const {
    std::fprintf(stderr, "usage: %s [FILE] [--size N]\n", name_);
    std::exit(2);
  }

  void wrong(const char* what, std::size_t index, double got, double want) {
    wrong_ = true;
    std::fprintf(stderr, "%s: %s[%zu] is %.9g, the reference says %.9g\n", name_, what, index, got, want);
  }

  bool write() const {
    std::FILE* out = std::fopen(file_.c_str(), "wb");
    const bool written = out != nullptr && std::fwrite(bytes_.data(), 1, bytes_.size(), out) == bytes_.size();
    const bool closed = out != nullptr && std::fclose(out) == 0;
    if (!written || !closed) std::fprintf(stderr, "%s: can't write %s\n", name_, file_.c_str());
    return written && closed;
  }

  // FNV-1a over the output.
  [[nodiscard]] std::uint64_t digest() const {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const unsigned char byte : bytes_) hash = (hash ^ byte) * 0x100000001b3ULL;
    return hash;
  }

  const char* name_;
  std::size_t size_;
  std::string file_;
  std::vector<unsigned char> bytes_;
  bool wrong_ = false;
};

}  // namespace program
