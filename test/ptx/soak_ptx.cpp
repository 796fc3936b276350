// soak_ptx [--sample MB] [--failures N] FILE-OR-FOLDER…: reads every PTX text that it finds, prints it, and reads that again.
//
// PTX texts are taken as they are; fat binaries, and host libraries that hold them, are unpacked in memory; other files are passed over.
// With --sample, about MB megabytes of text are read, spread evenly over what there is. Nothing is written but the report.
// Exit status: 0 when every text was read without a diagnostic and round-tripped, 1 when not, 2 for bad usage, 3 when no text was found.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
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

class Soak {
 public:
  Soak(std::uint64_t sample_bytes, std::size_t failures) : sample_bytes_(sample_bytes), failures_left_(failures) {}

  void add(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator{path}) {
        if (entry.is_regular_file()) files_.push_back(entry.path());
      }
    } else {
      files_.push_back(path);
    }
  }

  const Totals& run() {
    std::sort(files_.begin(), files_.end());
    files_.erase(std::unique(files_.begin(), files_.end()), files_.end());
    for (const auto& file : files_) read_file(file, true);
    step_ = sample_bytes_ == 0 ? 1 : std::max<std::uint64_t>(1, weight_ / sample_bytes_);
    for (const auto& file : files_) read_file(file, false);
    return totals_;
  }

 private:
  // One text: `load` gives it. While weighing, only its size counts.
  template <typename Load>
  void visit(bool weighing, const std::string& origin, std::uint64_t bytes, const Load& load) {
    if (weighing) {
      weight_ += bytes;
      return;
    }
    passed_ += bytes;
    if (passed_ < next_) return;
    next_ = passed_ + bytes * (step_ - 1);
    const std::string text = load();
    if (!text.empty()) soak(origin, text);
  }
  void read_file(const std::filesystem::path& path, bool weighing);
  void soak(const std::string& origin, const std::string& text);
  void fail(const std::string& origin, const std::string& why);
  void note_unknown(const ptx::Module& module);

  std::vector<std::filesystem::path> files_;
  std::uint64_t sample_bytes_ = 0, weight_ = 0, passed_ = 0, next_ = 0, step_ = 1;
  std::size_t failures_left_ = 0;
  Totals totals_;
};

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void Soak::read_file(const std::filesystem::path& path, bool weighing) {
  const std::string file = read_all(path);
  const image::Bytes bytes = std::as_bytes(std::span{file});
  std::vector<image::Bytes> containers;
  switch (image::form_of(bytes)) {
    case image::Form::ptx_text:
      visit(weighing, path.string(), file.size(), [&] { return file; });
      return;
    case image::Form::fatbin_container:
      containers.push_back(bytes);
      break;
    case image::Form::host_elf:
      if (auto found = image::containers_in_elf(bytes); found.ok()) containers = std::move(found).value();
      break;
    default:
      if (path.extension() == ".ptx") visit(weighing, path.string(), file.size(), [&] { return file; });
      return;
  }
  for (const image::Bytes container : containers) {
    const auto entries = image::entries_of(container);
    if (!entries.ok()) {
      if (!weighing) fail(path.string(), entries.error().message());
      continue;
    }
    for (const image::Entry& e : entries.value()) {
      if (e.kind != image::EntryKind::ptx) continue;
      const std::uint64_t size = e.uncompressed_size != 0 ? e.uncompressed_size : e.stored.size();
      const std::string origin = fmt::format("{}+{:#x}", path.filename().string(),
                                             static_cast<std::size_t>(reinterpret_cast<const char*>(e.stored.data()) - file.data()));
      visit(weighing, origin, size, [&] {
        auto text = image::payload_of(e);
        if (!text.ok()) fail(origin, text.error().message());
        return std::move(text).value_or({});
      });
    }
  }
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
  Soak soak{sample_bytes, failures};
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) {
      fmt::print(stderr, "{}: no such file or folder\n", path);
      return 2;
    }
    soak.add(path);
  }
  const Totals& totals = soak.run();
  report(totals);
  if (totals.texts == 0) return 3;
  return totals.round_tripped == totals.texts ? 0 : 1;
}
