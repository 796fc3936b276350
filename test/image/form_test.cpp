#include <catch2/catch.hpp>
#include <cstring>

#include "placement/image/image.h"
#include "test/image/writer.h"

using namespace tessera;
using namespace tessera::image;
using namespace tessera::testing;

TEST_CASE("forms are told by their first bytes") {
  const std::string texts[] = {".version 8.0\n", "\n\n\n.version 9.0", "// a comment\n/* another\n one */ .version 7.0",
                               "\t\r\n .version 1.4"};
  for (const std::string& text : texts) {
    const Exact exact(text);
    INFO(text);
    CHECK(form_of(exact.bytes()) == Form::ptx_text);
    const auto extent = extent_of(text.c_str());
    REQUIRE(extent.ok());
    CHECK(extent->size() == text.size());
  }
  for (const std::string text : {"", ".vers", "// .version", "/* .version", "hello", ".target sm_80", "\x50\xed\x55", "/", "//", "\n"}) {
    const Exact exact(text);
    INFO(text);
    CHECK(form_of(exact.bytes()) == Form::unknown);
    CHECK_FALSE(extent_of(text.c_str()).ok());
  }
  const Exact host(elf(62, 0, {}));
  CHECK(form_of(host.bytes()) == Form::host_elf);
  const Exact device(cubin(80, {}));
  CHECK(form_of(device.bytes()) == Form::cubin);
  CHECK_FALSE(extent_of(nullptr).ok());
}

TEST_CASE("the extent of a cubin is the whole file") {
  const Exact device(cubin(90, {{"k", {{0, 0, 8}, {1, 8, 4}}}}, {{"g", 64}}));
  const auto extent = extent_of(device.bytes().data());
  REQUIRE(extent.ok());
  CHECK(extent->size() == device.bytes().size());
}

TEST_CASE("an image that lies about its length is refused") {
  std::string bytes = container({});
  put(bytes, 8, std::uint64_t{1} << 41);
  CHECK_FALSE(extent_of(bytes.data()).ok());
  CHECK_FALSE(extent_of(wrapper(nullptr).data()).ok());
  const std::string no_container(32, 'x');
  CHECK_FALSE(extent_of(wrapper(no_container.data()).data()).ok());
  for (const std::uint64_t place : {~std::uint64_t{0}, std::uint64_t{1} << 41}) {
    std::string file = cubin(80, {});
    put(file, 0x20, place);  // of the program headers
    CHECK_FALSE(extent_of(file.data()).ok());
    file = cubin(80, {});
    put(file, 0x28, place);  // of the section headers
    CHECK_FALSE(extent_of(file.data()).ok());
  }
  std::string many = cubin(80, {});
  std::uint64_t sections = 0;
  std::memcpy(&sections, many.data() + 0x28, sizeof sections);
  put(many, 0x3c, std::uint16_t{0});                   // the count stands in the first section's size
  put(many, sections + 0x20, std::uint64_t{1} << 58);  // and times 64 it wraps around
  CHECK_FALSE(extent_of(many.data()).ok());
  std::string far = cubin(80, {});
  put(far, sections + 64 + 0x18, ~std::uint64_t{0});  // a section beyond the end of the address space
  CHECK_FALSE(extent_of(far.data()).ok());
}

TEST_CASE("containers are found in whatever section they lie") {
  const std::string a = container({{1, 80, ".version 8.0\n"}}), b = container({{2, 90, "x"}}), c = container({});
  std::string loose(40, 'q');
  loose += b + std::string(24, 'q') + a;
  // Not containers: too long for their section, or with another header size.
  std::string too_long = a, other_header = a;
  put(too_long, 8, std::uint64_t{1} << 20);
  put(other_header, 6, std::uint16_t{24});
  const Exact file(elf(62, 0,
                       {{".text", 1, 6, 0, 0, a},  // code isn't searched
                        {".nv_fatbin", 1, 2, 0, 0, a + b + c},
                        {"__nv_relfatbin", 1, 2, 0, 0, c + a},
                        {".rodata", 1, 2, 0, 0, loose},
                        {".ldata", 1, 2, 0, 0, too_long + other_header + b}}));
  const auto found = containers_in_elf(file.bytes());
  REQUIRE(found.ok());
  const std::string expected[] = {a, b, c, c, a, b, a, b};
  REQUIRE(found->size() == std::size(expected));
  for (std::size_t i = 0; i < found->size(); ++i) {
    const std::string bytes(reinterpret_cast<const char*>((*found)[i].data()), (*found)[i].size());
    CHECK(bytes == expected[i]);
  }
}

TEST_CASE("a host file that was cut anywhere gives nothing from outside of it") {
  const std::string whole = elf(62, 0, {{".nv_fatbin", 1, 2, 0, 0, container({{1, 80, ".version 8.0\n"}})}, {".data", 1, 3, 0, 0, "abc"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Exact cut(std::string_view(whole).substr(0, size));
    const auto found = containers_in_elf(cut.bytes());
    if (!found.ok()) continue;
    for (const Bytes b : *found) {
      REQUIRE(b.data() >= cut.bytes().data());
      REQUIRE(b.data() + b.size() <= cut.bytes().data() + size);
    }
  }
}
