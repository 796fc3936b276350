#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "profiles/database_json.h"
#include "test/profiles/random_database.h"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tessera-profiles-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

Database some(std::uint64_t seed) { return testing::RandomDatabase(seed).make(); }

void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("what is saved loads again, and nothing else is left in the folder") {
  const Folder folder;
  const std::string path = folder.file("p.json");
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    REQUIRE(save_database(some(seed), path).ok());
    CHECK(load_database(path).value() == some(seed));
    CHECK(folder.files() == 1);
  }
}

TEST_CASE("an existing file keeps its mode") {
  const Folder folder;
  const std::string path = folder.file("p.json");
  for (const mode_t mode : {0600, 0640, 0664}) {
    put(path, "");
    REQUIRE(chmod(path.c_str(), mode) == 0);
    REQUIRE(save_database(some(1), path).ok());
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == mode);
  }
}

TEST_CASE("links, folders and missing folders are refused, and what they name stays") {
  const Folder folder;
  const std::string target = folder.file("target.json"), link = folder.file("link.json");
  put(target, "precious");
  fs::create_symlink(target, link);
  CHECK_FALSE(save_database(some(1), link).ok());
  CHECK(fs::is_symlink(link));
  std::ifstream stream(target);
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "precious");
  fs::create_directory(folder.file("sub"));
  CHECK_FALSE(save_database(some(1), folder.file("sub")).ok());
  const auto missing = save_database(some(1), folder.file("none/p.json"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message().find("none/p.json") != std::string::npos);
}

TEST_CASE("what can't be read says so, with the name of the file") {
  const Folder folder;
  const auto missing = load_database(folder.file("none.json"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::not_found);
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const auto pipe = load_database(folder.file("pipe"));
  REQUIRE_FALSE(pipe.ok());
  CHECK(pipe.error().code == ErrorCode::environment);
  CHECK_FALSE(load_database(folder.file(".")).ok());
  put(folder.file("empty.json"), "");
  const auto empty = load_database(folder.file("empty.json"));
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().code == ErrorCode::bad_data);
  CHECK(empty.error().message().find("empty.json") != std::string::npos);
}

TEST_CASE("a reader sees the old file or the new one, never a part") {
  const Folder folder;
  const std::string path = folder.file("p.json");
  const Database a = some(1), b = some(2);
  REQUIRE(a != b);
  REQUIRE(save_database(a, path).ok());
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      if (!save_database(i % 2 == 0 ? b : a, path).ok()) return;
    }
  });
  bool whole = true;
  for (int i = 0; i < 200; ++i) {
    const auto seen = load_database(path);
    whole = whole && seen.ok() && (*seen == a || *seen == b);
  }
  writer.join();
  CHECK(whole);
}
