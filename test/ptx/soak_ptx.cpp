// soak_ptx [--sample MB] [--failures N] FILE-OR-FOLDER…: reads every PTX text that it finds, prints it, and reads that again.
//
// PTX texts are taken as they are; fat binaries, and host libraries that hold them, are unpacked in memory; other files are passed over.
// With --sample, about MB megabytes of text are read, spread evenly over what there is. Nothing is written but the report.
// Exit status: 0 when every text was read without a diagnostic and round-tripped, 1 when not, 2 for bad usage, 3 when no text was found.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "placement/image/image.h"
#include "placement/ptx/cfg.h"
#include "placement/ptx/parse.h"
#include "placement/ptx/print.h"

namespace {

using namespace tessera;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Totals {
  std::size_t texts = 0, clean = 0, round_tripped = 0, functions = 0, broken = 0;
  std::uint64_t bytes = 0, instrs = 0;
  double parse_seconds = 0, print_seconds = 0;
  std::map<std::string, std::size_t> unknown;  // opcodes and modifiers that the tables don't have
};

// A file's bytes for as long as this lives; empty when it can't be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor >= 0 && ::fstat(descriptor, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), size};
    }
    if (descriptor >= 0) ::close(descriptor);
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] image::Bytes bytes() const { return bytes_; }

 private:
  image::Bytes bytes_;
};

// One PTX text, where it is; a plain file's entry is the file itself, not compressed.
struct Unit {
  std::string origin;
  image::Entry entry;
  std::uint64_t size = 0;
};

class Soak {
 public:
  explicit Soak(std::size_t failures) : failures_left_(failures) {}

  void add(const std::filesystem::path& path);
  // About `sample_bytes` of what was added, evenly spread; 0 = all.
  const Totals& run(std::uint64_t sample_bytes);

 private:
  void add_file(const std::filesystem::path& path);
  void add_container(const std::string& file, image::Bytes whole, image::Bytes container);
  void soak(const std::string& origin, const std::string& text);
  void fail(const std::string& origin, const std::string& why);
  void note_unknown(const ptx::Module& module);

  std::vector<MappedFile> files_;
  std::vector<Unit> units_;
  std::size_t failures_left_ = 0;
  Totals totals_;
};

void Soak::add(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> paths{path};
  if (std::filesystem::is_directory(path)) {
    paths.clear();
    for (const auto& entry : std::filesystem::recursive_directory_iterator{path}) {
      if (entry.is_regular_file() && !entry.is_symlink()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
  }
  for (const auto& file : paths) add_file(file);
}

void Soak::add_file(const std::filesystem::path& path) {
  const image::Bytes bytes = files_.emplace_back(path).bytes();
  const image::Form form = image::form_of(bytes);
  if (form == image::Form::ptx_text || path.extension() == ".ptx") {
    image::Entry entry;
    entry.kind = image::EntryKind::ptx;
    entry.stored = bytes;
    units_.push_back({path.string(), entry, bytes.size()});
  } else if (form == image::Form::fatbin_container) {
    add_container(path.filename().string(), bytes, bytes);
  } else if (form == image::Form::host_elf) {
    const auto containers = image::containers_in_elf(bytes);
    if (!containers.ok()) return fail(path.string(), containers.error().message());
    for (const image::Bytes container : containers.value()) add_container(path.filename().string(), bytes, container);
  }
}

void Soak::add_container(const std::string& file, image::Bytes whole, image::Bytes container) {
  const auto entries = image::entries_of(container);
  if (!entries.ok()) return fail(file, entries.error().message());
  for (const image::Entry& e : entries.value()) {
    if (e.kind != image::EntryKind::ptx) continue;
    const std::uint64_t size = e.uncompressed_size != 0 ? e.uncompressed_size : e.stored.size();
    units_.push_back({fmt::format("{}+{:#x}", file, e.stored.data() - whole.data()), e, size});
  }
}

const Totals& Soak::run(std::uint64_t sample_bytes) {
  std::uint64_t all = 0;
  for (const Unit& unit : units_) all += unit.size;
  const std::uint64_t step = sample_bytes == 0 ? 1 : std::max<std::uint64_t>(1, all / sample_bytes);
  std::uint64_t passed = 0;
  std::uint64_t next = 0;
  for (const Unit& unit : units_) {
    passed += unit.size;
    if (passed < next) continue;
    next = passed + unit.size * (step - 1);
    const auto text = image::payload_of(unit.entry);
    if (!text.ok()) {
      ++totals_.texts;
      fail(unit.origin, text.error().message());
      continue;
    }
    soak(unit.origin, text.value());
  }
  return totals_;
}

void Soak::fail(const std::string& origin, const std::string& why) {
  if (failures_left_ == 0) return;
  --failures_left_;
  fmt::print("  {}: {}\n", origin, why);
}

void Soak::note_unknown(const ptx::Module& module) {
  for (const std::string& modifier : module.unknown_modifiers) ++totals_.unknown["." + modifier];
  for (const ptx::Function& f : module.functions) {
    for (const ptx::Instr& i : f.instrs) {
      if (i.opcode == ptx::Opcode::unknown) ++totals_.unknown[std::string{module.opcode_text(i)}];
    }
  }
}

void Soak::soak(const std::string& origin, const std::string& text) {
  ++totals_.texts;
  totals_.bytes += text.size();
  auto start = std::chrono::steady_clock::now();
  const ptx::Module module = ptx::parse(text);
  totals_.parse_seconds += seconds_since(start);
  note_unknown(module);
  const std::string violated = ptx::check(module);
  if (!violated.empty()) return fail(origin, "invariant: " + violated);
  for (const ptx::Function& f : module.functions) {
    ++totals_.functions;
    totals_.broken += f.broken ? 1 : 0;
    totals_.instrs += f.instrs.size();
    const std::string flow = ptx::check_cfg(ptx::build_cfg(module, f), f);
    if (!flow.empty()) return fail(origin, "control flow: " + flow);
  }
  if (!module.diagnostics.empty()) {
    const ptx::Diagnostic& d = module.diagnostics.front();
    return fail(origin, fmt::format("{}:{}: {} [{}]", d.place.line, d.place.column, d.message, d.function));
  }
  ++totals_.clean;
  start = std::chrono::steady_clock::now();
  const std::string printed = ptx::print(module);
  totals_.print_seconds += seconds_since(start);
  std::string difference;
  if (!ptx::same(module, ptx::parse(printed), &difference)) return fail(origin, "round trip: " + difference);
  ++totals_.round_tripped;
}

void report(const Totals& t) {
  constexpr double mega = 1e6;
  const double megabytes = static_cast<double>(t.bytes) / mega;
  fmt::print("texts {}  {:.1f} MB  functions {}  instructions {}\n", t.texts, megabytes, t.functions, t.instrs);
  fmt::print("read without a diagnostic {}/{}  round-tripped {}/{}  broken functions {}\n", t.clean, t.texts, t.round_tripped, t.texts,
             t.broken);
  fmt::print("parse {:.0f} MB/s  print {:.0f} MB/s of input\n", megabytes / std::max(t.parse_seconds, 1e-9),
             megabytes / std::max(t.print_seconds, 1e-9));
  for (const auto& [text, count] : t.unknown) fmt::print("  not in the tables: {} ({})\n", text, count);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t sample_bytes = 0;
  std::size_t failures = 20;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--sample" && i + 1 < argc) {
      sample_bytes = std::strtoull(argv[++i], nullptr, 10) * 1'000'000;
    } else if (arg == "--failures" && i + 1 < argc) {
      failures = std::strtoull(argv[++i], nullptr, 10);
    } else {
      paths.push_back(arg);
    }
  }
  if (paths.empty() || paths.front().rfind("--", 0) == 0) {
    fmt::print(stderr, "usage: soak_ptx [--sample MB] [--failures N] FILE-OR-FOLDER...\n");
    return 2;
  }
  Soak soak{failures};
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) {
      fmt::print(stderr, "{}: no such file or folder\n", path);
      return 2;
    }
    soak.add(path);
  }
  const Totals& totals = soak.run(sample_bytes);
  report(totals);
  if (totals.texts == 0) return 3;
  return totals.round_tripped == totals.texts ? 0 : 1;
}
