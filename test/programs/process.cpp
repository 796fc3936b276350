#include "test/programs/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace tessera::test {
namespace {

// The folder of temporary_file().
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

bool is_ours(std::string_view variable) {
  for (const std::string_view prefix : {"TESSERA_", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "CUDA_VISIBLE_DEVICES="}) {
    if (variable.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::string> environment_of_child(const Environment& added) {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_ours(*variable)) lines.emplace_back(*variable);
  }
  for (const auto& [name, value] : added) {
    lines.push_back(name);
    lines.back().append("=").append(value);
  }
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& lines) {
  std::vector<char*> pointers;
  for (std::string& line : lines) pointers.push_back(line.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string temporary_file(const std::string& name) {
  static const Folder folder;
  return (folder.path() / name).string();
}

std::string read_file(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + path);
  std::ostringstream contents;
  contents << in.rdbuf();
  return contents.str();
}

Outcome run_process(const std::vector<std::string>& command, const Environment& environment) {
  const std::string out = temporary_file("stdout");
  const std::string err = temporary_file("stderr");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment_of_child(environment);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, command[0].c_str(), &actions, nullptr, pointers_to(arguments).data(), pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("can't start " + command[0] + ": " + std::strerror(error));

  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(out), read_file(err)};
}

}  // namespace tessera::test
