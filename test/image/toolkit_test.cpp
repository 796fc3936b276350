// The readers on what NVIDIA's compiler writes and what its libraries hold, where they are on the machine.
#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "placement/image/cubin.h"
#include "placement/image/image.h"
#include "placement/image/select.h"

using namespace tessera;
using namespace tessera::image;
namespace fs = std::filesystem;

namespace {

const std::string toolkit = TESSERA_CUDA_HOME;
const std::string nvcc = TESSERA_NVCC;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tessera-image-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

constexpr const char* source = R"(
struct S { double* a; float f; char c[3]; };
__device__ float table[64];
__constant__ int limits[4];
extern "C" __global__ void first(float* out, const float* in, int n, S s, short h) { if (threadIdx.x < n) out[threadIdx.x] = in[limits[0]] + s.a[h] + table[n]; }
extern "C" __global__ void second(unsigned char c) { table[c] = 1; }
extern "C" __global__ void third() {}
)";

// From the C layout rules.
void check_kernels(const Cubin& cubin) {
  REQUIRE(cubin.kernels.size() == 3);
  for (const CubinKernel& k : cubin.kernels) {
    std::vector<std::pair<unsigned, unsigned>> layout;
    for (const CubinParam& p : k.params) layout.emplace_back(p.offset, p.size);
    using Layout = std::vector<std::pair<unsigned, unsigned>>;
    if (k.name == "first") CHECK(layout == Layout{{0, 8}, {8, 8}, {16, 4}, {24, 16}, {40, 2}});
    if (k.name == "second") CHECK(layout == Layout{{0, 1}});
    if (k.name == "third") CHECK(layout.empty());
  }
  bool has_table = false, has_limits = false;
  for (const CubinGlobal& g : cubin.globals) {
    has_table = has_table || (g.name == "table" && g.size == 256 && !g.constant);
    has_limits = has_limits || (g.name == "limits" && g.size == 16 && g.constant);
  }
  CHECK(has_table);
  CHECK(has_limits);
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("fat binaries of every compression mode of the compiler hold the same kernels") {
  if (nvcc.empty()) {
    WARN("SKIPPED: no nvcc");
    return;
  }
  const Folder folder;
  const fs::path file = folder.path / "k.cu";
  std::ofstream(file) << source;
  std::set<std::string> texts;
  for (const char* mode :
       {"--compress-mode=default", "--compress-mode=size", "--compress-mode=speed", "--compress-mode=balance", "--compress-mode=none"}) {
    const fs::path out = folder.path / "k.fatbin";
    const std::string command = nvcc + " -fatbin " + mode +
                                " -gencode arch=compute_80,code=[compute_80,sm_80] -gencode arch=compute_90a,code=sm_90a -o " +
                                out.string() + " " + file.string() + " 2>&1";
    INFO(command);
    REQUIRE(std::system(command.c_str()) == 0);
    const std::string image = read_file(out);
    CHECK(extent_of(image.data())->size() == image.size());
    std::string damage;
    const auto entries = entries_of(bytes_of(image), &damage);
    REQUIRE(entries.ok());
    CHECK(damage.empty());
    REQUIRE(entries->size() == 3);
    for (const Entry& e : *entries) {
      const auto payload = payload_of(e);
      REQUIRE(payload.ok());
      if (e.kind == EntryKind::ptx) {
        CHECK(form_of(bytes_of(*payload)) == Form::ptx_text);
        texts.insert(*payload);
        continue;
      }
      CHECK(form_of(bytes_of(*payload)) == Form::cubin);
      const auto cubin = read_cubin(bytes_of(*payload));
      REQUIRE(cubin.ok());
      CHECK(cubin->sm == e.sm);
      CHECK(e.arch_suffix == (e.sm == 90 ? 'a' : '\0'));
      check_kernels(*cubin);
    }
    CHECK(best_for(*entries, 80)->kind == EntryKind::cubin);
    CHECK(best_for(*entries, 90)->sm == 90);
    CHECK(best_for(*entries, 100)->kind == EntryKind::ptx);
    CHECK(best_for(*entries, 75) == nullptr);
  }
  CHECK(texts.size() == 1);
}

TEST_CASE("every container of the toolkit's libraries reads to its end") {
  // As measured on these very files; another release has other numbers, and is read all the same.
  struct Measured {
    const char* name;
    std::uintmax_t file_size;
    std::size_t containers, ptx, kernels;
  };
  constexpr Measured libraries[] = {{"libcublas.so.13", 54177976, 193, 188, 4137}, {"libcurand.so.10", 132698328, 11, 10, 296}};
  for (const Measured& m : libraries) {
    const fs::path path = fs::path(toolkit) / "lib64" / m.name;
    std::error_code missing;
    const auto size = fs::file_size(path, missing);
    if (missing) {
      WARN("SKIPPED: no " << path);
      continue;
    }
    const std::string file = read_file(path);
    const auto containers = containers_in_elf(bytes_of(file));
    REQUIRE(containers.ok());
    std::size_t ptx = 0, kernels = 0, damaged = 0;
    for (const Bytes c : *containers) {
      std::string damage;
      const auto entries = entries_of(c, &damage);
      damaged += entries.ok() && damage.empty() ? 0 : 1;
      if (!entries.ok()) continue;
      for (const Entry& e : *entries) {
        if (e.kind != EntryKind::ptx) continue;
        const auto text = payload_of(e);
        damaged += text.ok() && form_of(bytes_of(*text)) == Form::ptx_text ? 0 : 1;
        ++ptx;
        if (text.ok()) kernels += count(*text, ".entry ");
      }
    }
    INFO(m.name);
    CHECK(damaged == 0);
    CHECK(ptx > 0);
    CHECK(kernels >= ptx);
    if (size != m.file_size) {
      WARN(m.name << " isn't the release that was measured: " << containers->size() << " containers, " << ptx << " PTX, " << kernels
                  << " kernels, " << size << " bytes");
      continue;
    }
    CHECK(containers->size() == m.containers);
    CHECK(ptx == m.ptx);
    CHECK(kernels == m.kernels);
  }
}
