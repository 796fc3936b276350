#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "profiles/database_json.h"

namespace tessera {
namespace {

constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] bool ok() const { return number_ >= 0; }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

Error failed(std::string_view doing, const std::string& path, int number) {
  return Error{number == ENOENT ? ErrorCode::not_found : ErrorCode::environment,
               fmt::format("can't {} the profile database: {}", doing, std::generic_category().message(number)), path, ""};
}

Result<std::string> read_file(const std::string& path) {
  // Not blocking: opening a pipe without a writer would wait for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.ok()) return failed("open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed("read", path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::environment, "the profile database isn't a regular file", path, ""};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > largest_file) return Error{ErrorCode::bad_data, fmt::format("a profile database of {} bytes", size), path, "at most 1 GiB"};
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + got, text.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", path, errno);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

// The mode of the file that will be replaced; nothing when there is none.
Result<std::optional<mode_t>> mode_to_keep(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<mode_t>();
    return failed("write", path, errno);
  }
  if (S_ISLNK(status.st_mode)) {
    return Error{ErrorCode::environment, "the profile database is a symbolic link, which writing would replace", path,
                 "name the file that it points to"};
  }
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::environment, "the profile database isn't a regular file", path, ""};
  return std::optional<mode_t>(status.st_mode & 07777);
}

Status write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// A new file beside the target; removed again unless it was moved into place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) {
    constexpr int attempts = 64;  // leftovers of processes that died with our id
    for (int i = 0; i < attempts && number_ < 0; ++i) {
      path_ = target.parent_path() / fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), i);
      number_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (number_ < 0 && errno != EEXIST) return;
    }
  }
  ~TemporaryFile() {
    if (number_ < 0) return;
    ::close(number_);
    if (!moved_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] bool ok() const { return number_ >= 0; }
  [[nodiscard]] int get() const { return number_; }
  bool move_to(const std::string& target) { return moved_ = ::rename(path_.c_str(), target.c_str()) == 0; }

 private:
  std::filesystem::path path_;
  int number_ = -1;
  bool moved_ = false;
};

}  // namespace

Result<Database> load_database(const std::string& path) {
  TRY(text, read_file(path));
  return parse_database(text, path);
}

Status save_database(const Database& database, const std::string& path) {
  TRY(mode, mode_to_keep(path));
  const std::string text = write_database(database);
  const std::filesystem::path target(path);
  TemporaryFile file(target);
  if (!file.ok()) return failed("write", path, errno);
  if (mode && ::fchmod(file.get(), *mode) != 0) return failed("write", path, errno);
  TRY_STATUS(write_all(file.get(), text, path));
  if (::fsync(file.get()) != 0) return failed("write", path, errno);
  if (!file.move_to(path)) return failed("write", path, errno);
  // The new name must survive a power cut as well; where a folder can't be synced, the file itself is safe already.
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.ok()) ::fsync(opened.get());
  return {};
}

}  // namespace tessera
