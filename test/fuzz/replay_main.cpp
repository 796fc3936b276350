// The fuzz targets' main where there is no libFuzzer: fuzz_x [--mutations N] [--seed S] FILE-OR-FOLDER…
// Runs each file as it is, then N mutations of them. The mutation at fault is written to ./crash-<n> before it runs, and removed after.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::vector<Bytes> read_seeds(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator{path}) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds;
  for (const auto& file : files) seeds.push_back(read_file(file));
  return seeds;
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  Bytes next() {
    Bytes bytes = seeds_[below(seeds_.size())];
    for (std::size_t n = 1 + below(4); n > 0; --n) mutate(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  static std::ptrdiff_t at(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  void mutate(Bytes& b) {
    const std::size_t begin = below(b.size() + 1);
    const std::size_t count = std::min(below(32), b.size() - begin);
    const auto first = b.begin() + at(begin);
    switch (below(7)) {
      case 0:
        if (begin < b.size()) b[begin] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        b.insert(first, static_cast<std::uint8_t>(random_()));
        break;
      case 2:
        b.erase(first, first + at(count));
        break;
      case 3: {
        const Bytes copy(first, first + at(count));
        b.insert(b.begin() + at(below(b.size() + 1)), copy.begin(), copy.end());
        break;
      }
      case 4: {  // a piece of another seed
        const Bytes& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1);
        const std::size_t length = std::min(below(64), other.size() - from);
        b.insert(first, other.begin() + at(from), other.begin() + at(from + length));
        break;
      }
      case 5:
        b.resize(begin);
        break;
      default: {  // a word of numbers that readers trip over
        constexpr std::uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000};
        const std::uint32_t word = words[below(std::size(words))];
        if (begin + sizeof word <= b.size()) std::memcpy(b.data() + begin, &word, sizeof word);
      }
    }
  }

  const std::vector<Bytes>& seeds_;
  std::mt19937_64 random_;
};

void run_noted(const Bytes& bytes, std::size_t number) {
  const std::string name = "crash-" + std::to_string(number);
  {
    std::ofstream out{name, std::ios::binary};
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  std::filesystem::remove(name);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mutations = 3000;
  std::uint64_t seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--mutations" && i + 1 < argc)
      mutations = std::strtoull(argv[++i], nullptr, 10);
    else if (arg == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      paths.push_back(arg);
  }
  const std::vector<Bytes> seeds = read_seeds(paths);
  if (seeds.empty()) {
    std::fputs("no seeds: name at least one file, or a folder that holds one\n", stderr);
    return 2;
  }
  for (const Bytes& bytes : seeds) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  Mutator mutator{seeds, seed};
  for (std::size_t n = 0; n < mutations; ++n) run_noted(mutator.next(), n);
  std::printf("%zu seeds, %zu mutations\n", seeds.size(), mutations);
  return 0;
}
