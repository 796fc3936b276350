// The simulated driver's table of entry points against the toolkit's own headers.
#include <cuda.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "test/simgpu/in_child.h"

namespace {

struct Row {
  std::string symbol, stem, variant, status;
  int since;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
#define SIM_API(symbol, stem, since, variant, status) {#symbol, #stem, #variant, #status, since},
#include "tools/simgpu/libcuda/api.def"
#undef SIM_API
  };
  return table;
}

std::string file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void* driver() {
  static void* handle = dlopen(TESSERA_SIMCUDA, RTLD_NOW);
  return handle;
}

}  // namespace

TEST_CASE("every function type of cudaTypedefs.h has a row with its version and variant, and there are no others") {
  const std::string text = file(std::string(TESSERA_CUDA_HOME) + "/include/cudaTypedefs.h");
  REQUIRE_FALSE(text.empty());
  std::set<std::string> declared, known;
  for (std::size_t at = 0; (at = text.find("PFN_cu", at)) != std::string::npos;) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    const std::string name = text.substr(at + 4, end - at - 4);
    if (name.find("_v") != std::string::npos && std::isdigit(static_cast<unsigned char>(name[name.find("_v") + 2])) != 0)
      declared.insert(name);
    at = end;
  }
  for (const Row& row : rows()) {
    if (row.stem.rfind("cuProfiler", 0) == 0) continue;  // declared in cudaProfilerTypedefs.h
    known.insert(row.stem + "_v" + std::to_string(row.since) + (row.variant == "plain" ? "" : "_" + row.variant));
  }
  CHECK(declared.size() > 600);
  for (const auto& name : declared) {
    INFO(name);
    CHECK(known.count(name) == 1);
  }
  for (const auto& name : known) {
    INFO(name);
    CHECK(declared.count(name) == 1);
  }
}

TEST_CASE("the library exports every name of the table, and each refused one answers CUDA_ERROR_NOT_SUPPORTED") {
  REQUIRE(driver() != nullptr);
  for (const Row& row : rows()) {
    INFO(row.symbol);
    void* symbol = dlsym(driver(), row.symbol.c_str());
    REQUIRE(symbol != nullptr);
    if (row.status == "not_supported") CHECK(reinterpret_cast<CUresult (*)()>(symbol)() == CUDA_ERROR_NOT_SUPPORTED);
  }
}

TEST_CASE("cuGetProcAddress gives the newest ABI that the caller's version knows, and the stream flavour asked for") {
  using LookUp = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto look_up = reinterpret_cast<LookUp>(dlsym(driver(), "cuGetProcAddress_v2"));
  std::set<std::string> stems;
  for (const Row& row : rows()) stems.insert(row.stem);
  for (const auto& stem : stems) {
    for (const int version : {0, 2000, 3020, 11030, 12000, 12090, 13000, 13030}) {
      for (const bool per_thread : {false, true}) {
        const Row* expected = nullptr;
        for (const Row& row : rows()) {
          if (row.stem != stem || row.since > version || (!per_thread && row.variant != "plain")) continue;
          const bool better = expected == nullptr || (row.variant != "plain" && expected->variant == "plain") ||
                              ((row.variant != "plain") == (expected->variant != "plain") && row.since > expected->since);
          if (better) expected = &row;
        }
        INFO(stem << " " << version << " " << per_thread);
        void* answer = &stems;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        const CUresult code =
            look_up(stem.c_str(), &answer, version,
                    per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
        CHECK(code == (expected == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS));
        CHECK(answer == (expected == nullptr ? nullptr : dlsym(driver(), expected->symbol.c_str())));
        CHECK((status == CU_GET_PROC_ADDRESS_SUCCESS) == (expected != nullptr));
      }
    }
  }
  void* answer = nullptr;
  CHECK(look_up("", &answer, 13000, 0, nullptr) == CUDA_ERROR_NOT_FOUND);
  CHECK(look_up("cudnnCreate", &answer, 13000, 0, nullptr) == CUDA_ERROR_NOT_FOUND);
  CHECK(look_up(nullptr, &answer, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(look_up("cuInit", nullptr, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(look_up("cuGetProcAddress", &answer, 13000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(answer == reinterpret_cast<void*>(look_up));
}

namespace {

// Names of the visible devices, comma-separated, or the code of cuInit.
std::string devices_with(const std::map<std::string, std::string>& environment) {
  return tessera::test::in_child(environment, [] {
    if (const CUresult code = cuInit(0); code != CUDA_SUCCESS) return std::to_string(code);
    int count = 0;
    cuDeviceGetCount(&count);
    std::string names;
    for (int i = 0; i < count; ++i) {
      char name[64];
      cuDeviceGetName(name, sizeof name, i);
      names += (i == 0 ? "" : ",") + std::string(name).substr(7, 4);
    }
    return names;
  });
}

}  // namespace

TEST_CASE("TESSERA_SIM names the GPUs in order, CUDA_VISIBLE_DEVICES chooses among them as the real driver does") {
  const auto visible = [](const std::string& choice) {
    return devices_with({{"TESSERA_SIM", "a100,l40s,h100"}, {"CUDA_VISIBLE_DEVICES", choice}});
  };
  CHECK(devices_with({{"TESSERA_SIM", "a100,l40s,h100"}}) == "A100,L40S,H100");
  CHECK(devices_with({{"TESSERA_SIM", "l40s, l40s"}}) == "L40S,L40S");
  CHECK(visible("2,0") == "H100,A100");
  CHECK(visible("1") == "L40S");
  CHECK(visible("1,9,0") == "L40S");
  CHECK(visible("1,x,0") == "L40S");
  CHECK(visible("GPU-73696d30-32") == "H100");
  const std::string no_device = std::to_string(CUDA_ERROR_NO_DEVICE);
  for (const char* nothing : {"", "-1", "x", "9,0", "0,0", "MIG-1"}) CHECK(visible(nothing) == no_device);
  CHECK(devices_with({{"TESSERA_SIM", "a101"}}) == no_device);
  CHECK(devices_with({{"TESSERA_SIM", "a100,"}}) == no_device);
}

TEST_CASE("every error of the toolkit's headers has its name and a text") {
  std::ifstream header(std::string(TESSERA_CUDA_HOME) + "/include/cuda.h");
  const std::regex row(R"(^\s*(CUDA_SUCCESS|CUDA_ERROR_\w+)\s*=\s*(\d+).*)");
  std::string line;
  unsigned rows = 0;
  while (std::getline(header, line)) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    INFO(line);
    const auto code = static_cast<CUresult>(std::stoi(found[2]));
    const char *name = nullptr, *text = nullptr;
    REQUIRE(cuGetErrorName(code, &name) == CUDA_SUCCESS);
    REQUIRE(cuGetErrorString(code, &text) == CUDA_SUCCESS);
    CHECK(found[1] == name);
    CHECK(std::string(text).size() > 4);
    ++rows;
  }
  CHECK(rows > 90);
}
