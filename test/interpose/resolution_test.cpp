// How programs find the driver: every way leads to the same wrapper, and what isn't hooked stays as it is.
#include <catch2/catch.hpp>
#include <cstring>

#include "test/interpose/driver_world.h"

using namespace tessera::test;

namespace {

using GetAddress = decltype(&::cuGetProcAddress);
using GetAddress2 = decltype(&::cuGetProcAddress_v2);

void* asked(const char* stem, int version, cuuint64_t flags) {
  void* answer = nullptr;
  const CUresult result = TESSERA_DRIVER(cuGetProcAddress_v2)(stem, &answer, version, flags, nullptr);
  return result == CUDA_SUCCESS ? answer : nullptr;
}

bool is_hooked(const char* symbol) {
#define TESSERA_HOOK(name, stem, since, variant) \
  if (std::strcmp(symbol, #name) == 0) return true;
#include "interpose/hooks.def"
#undef TESSERA_HOOK
  return false;
}

std::string library_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : "";
}

}  // namespace

TEST_CASE("every route leads to one wrapper, which calls the driver once", "[A1]") {
  const World world;
  void* const wrapper = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
  REQUIRE(library_of(wrapper).find("libtessera") != std::string::npos);
  const CUfunction function = World::function(World::module("anything"), "k");
  void* unused = nullptr;
  void* const routes[] = {dlsym(driver_library(), "cuLaunchKernel"), asked("cuLaunchKernel", 4000, 0), asked("cuLaunchKernel", 13000, 0),
                          reinterpret_cast<void*>(TESSERA_DRIVER(cuLaunchKernel))};
  for (void* route : routes) {
    REQUIRE(route == wrapper);
    reset();
    REQUIRE(reinterpret_cast<decltype(&::cuLaunchKernel)>(route)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, &unused, nullptr) == CUDA_SUCCESS);
    REQUIRE(calls("cuLaunchKernel") == 1);
    REQUIRE(launches().size() == 1);
  }
}

TEST_CASE("the look-up function found through itself has the form that was asked for", "[A2]") {
  const World world;
  const auto first = reinterpret_cast<GetAddress>(asked("cuGetProcAddress", 11030, 0));
  const auto second = reinterpret_cast<GetAddress2>(asked("cuGetProcAddress", 12000, 0));
  REQUIRE(reinterpret_cast<void*>(first) == dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
  REQUIRE(reinterpret_cast<void*>(second) == dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"));
  void* answer = nullptr;
  CUdriverProcAddressQueryResult status{};
  REQUIRE(first("cuGetProcAddress", &answer, 12000, 0) == CUDA_SUCCESS);
  REQUIRE(answer == reinterpret_cast<void*>(second));
  REQUIRE(second("cuGetProcAddress", &answer, 11030, 0, &status) == CUDA_SUCCESS);
  REQUIRE(answer == reinterpret_cast<void*>(first));
  REQUIRE(status == CU_GET_PROC_ADDRESS_SUCCESS);
  REQUIRE(second("", &answer, 0, 0, &status) == CUDA_ERROR_NOT_FOUND);
  REQUIRE(answer == nullptr);
}

TEST_CASE("each version and flavour gets the wrapper of its own form", "[A3]") {
  const World world;
  const auto driver_answer = by_name<decltype(&fake_answer)>("fake_answer");
  const auto driver_address = by_name<decltype(&fake_address)>("fake_address");
  const char* const stems[] = {
#define TESSERA_HOOK(name, stem, since, variant) #stem,
#include "interpose/hooks.def"
#undef TESSERA_HOOK
      "cuMemAdvise", "cuNoSuchName"};
  unsigned wrapped = 0, passed = 0;
  for (const char* stem : stems) {
    for (const int version : {2000, 3020, 11030, 12000, 12090, 13000, 13030}) {
      for (const cuuint64_t flags : {0, 1, 2}) {
        INFO(stem << " " << version << " " << flags);
        const char* symbol = driver_answer(stem, version, flags);
        void* const answer = asked(stem, version, flags);
        if (symbol == nullptr) {
          REQUIRE(answer == nullptr);
        } else if (is_hooked(symbol)) {
          REQUIRE(answer == dlsym(RTLD_DEFAULT, symbol));
          ++wrapped;
        } else {
          REQUIRE(answer == driver_address(symbol));
          ++passed;
        }
      }
    }
  }
  REQUIRE(wrapped > 1000);
  REQUIRE(passed > 0);
}

TEST_CASE("only names of the table are answered for", "[A5]") {
  const World world;
  REQUIRE(dlsym(driver_library(), "cudnnCreate") == nullptr);
  REQUIRE(dlsym(driver_library(), "cuNoSuchName") == nullptr);
  REQUIRE(dlsym(RTLD_DEFAULT, "cudnnCreate") == nullptr);
  REQUIRE(dlsym(driver_library(), "cuMemAdvise") == by_name<decltype(&fake_address)>("fake_address")("cuMemAdvise"));
}

TEST_CASE("dlsym sees its true caller", "[dlsym]") {
  // Behind this program comes the preloaded library; behind that one, there would be none of ours.
  void* const next = dlsym(RTLD_NEXT, "cuInit");
  REQUIRE(next != nullptr);
  REQUIRE(next == dlsym(RTLD_DEFAULT, "cuInit"));
  REQUIRE(dlsym(RTLD_NEXT, "no_such_function") == nullptr);
  REQUIRE(dlerror() != nullptr);
  REQUIRE(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5") != nullptr);
}

TEST_CASE("private tables pass through as they are", "[A10]") {
  const World world;
  const void* table = nullptr;
  CUuuid known{}, unknown{};
  known.bytes[0] = 1;
  REQUIRE(library_of(reinterpret_cast<void*>(TESSERA_DRIVER(cuGetExportTable))).find("libtessera") == std::string::npos);
  REQUIRE(TESSERA_DRIVER(cuGetExportTable)(&table, &known) == CUDA_SUCCESS);
  REQUIRE(library_of(const_cast<void*>(table)).find("libcuda") != std::string::npos);
  REQUIRE(TESSERA_DRIVER(cuGetExportTable)(&table, &unknown) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(table == nullptr);
}

TEST_CASE("handles that nobody gave out get the driver's own answer", "[A15]") {
  const World world;
  int nothing = 0;
  void* params[] = {&nothing};
  REQUIRE(World::launch(reinterpret_cast<CUfunction>(&nothing), params) == CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(TESSERA_DRIVER(cuMemFree_v2)(0x1234) == CUDA_ERROR_INVALID_VALUE);
}
