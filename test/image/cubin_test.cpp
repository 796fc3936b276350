#include "placement/image/cubin.h"

#include <catch2/catch.hpp>
#include <random>

#include "test/image/writer.h"

using namespace tessera;
using namespace tessera::image;
using namespace tessera::testing;

namespace {

const std::vector<Kernel> kernels = {
    {"_Z3addPfS_i", {{0, 0, 8, 4}, {1, 8, 8, 0}, {2, 16, 4, 0}}},
    {"no_parameters", {}},
    {"large", {{0, 0, 2500, 0}, {1, 2504, 8, 5}, {2, 2512, 16383, 0}}, true},
    {"spaces", {{0, 0, 8, 1}, {1, 8, 8, 2}, {2, 16, 8, 9}}},
};

}  // namespace

TEST_CASE("kernels, parameters and globals of a cubin read back as they were written") {
  const Exact file(cubin(89, kernels, {{"table", 256}, {"counter", 4}}));
  const auto read = read_cubin(file.bytes());
  REQUIRE(read.ok());
  CHECK(read->sm == 89);
  REQUIRE(read->kernels.size() == kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    CHECK(read->kernels[i].name == kernels[i].name);
    REQUIRE(read->kernels[i].params.size() == kernels[i].params.size());
    for (std::size_t p = 0; p < kernels[i].params.size(); ++p) {
      const CubinParam& got = read->kernels[i].params[p];
      CHECK(got.ordinal == kernels[i].params[p].ordinal);
      CHECK(got.offset == kernels[i].params[p].offset);
      CHECK(got.size == kernels[i].params[p].size);
    }
  }
  CHECK(read->kernels[0].params[0].space == PointerSpace::constant_or_global);
  CHECK(read->kernels[0].params[1].space == PointerSpace::none);
  CHECK(read->kernels[0].param_bytes == 20);
  CHECK(read->kernels[1].param_bytes == 0);
  CHECK(read->kernels[2].params[1].space == PointerSpace::generic);
  CHECK(read->kernels[2].param_bytes == 2512 + 16383);
  CHECK(read->kernels[3].params[0].space == PointerSpace::local);
  CHECK(read->kernels[3].params[1].space == PointerSpace::shared);
  REQUIRE(read->globals.size() == 3);
  CHECK(read->globals[0].name == "table");
  CHECK(read->globals[0].size == 256);
  CHECK_FALSE(read->globals[0].constant);
  CHECK(read->globals[2].constant);
}

TEST_CASE("a cubin that was cut or damaged anywhere gives fewer kernels or an error") {
  const std::string whole = cubin(80, kernels, {{"table", 256}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Exact cut(std::string_view(whole).substr(0, size));
    const auto read = read_cubin(cut.bytes());
    if (read.ok()) REQUIRE(read->kernels.size() <= kernels.size());
  }
  std::mt19937_64 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int n = 1 + static_cast<int>(random() % 4); n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    const Exact damaged(bytes);
    const auto read = read_cubin(damaged.bytes());
    if (read.ok()) REQUIRE(read->kernels.size() <= 2 * kernels.size());
  }
  const Exact host(elf(62, 0, {}));
  CHECK_FALSE(read_cubin(host.bytes()).ok());
}

TEST_CASE("thousands of kernels read in a time that grows with their number, not its square") {
  std::vector<Kernel> many;
  for (int i = 0; i < 20'000; ++i) many.push_back({"kernel_with_a_long_common_prefix_" + std::to_string(i), {{0, 0, 8}}});
  const Exact file(cubin(80, many));
  const auto read = read_cubin(file.bytes());
  REQUIRE(read.ok());
  REQUIRE(read->kernels.size() == many.size());
  for (std::size_t i = 0; i < many.size(); ++i) REQUIRE((read->kernels[i].name == many[i].name && read->kernels[i].params.size() == 1));
}
