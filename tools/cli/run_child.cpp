#include "tools/cli/run_child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"

namespace tessera::cli {
namespace {

volatile std::sig_atomic_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) ::kill(child_pid, signal);
}

std::vector<std::string> environment_lines(const Environment& added) {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string line = *variable;
    if (added.count(line.substr(0, line.find('='))) == 0) lines.push_back(line);
  }
  for (const auto& [name, value] : added) lines.push_back(std::string(name).append("=").append(value));
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& lines) {
  std::vector<char*> pointers;
  pointers.reserve(lines.size() + 1);
  for (std::string& line : lines) pointers.push_back(line.data());
  pointers.push_back(nullptr);
  return pointers;
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

// posix_spawnp's error; signals that we handle start as they are by default in the child.
int spawn(std::vector<std::string> command, const Environment& added, pid_t* child) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> lines = environment_lines(added);
  const std::string program = command[0];
  const int error = ::posix_spawnp(child, program.c_str(), nullptr, &attributes, pointers_to(command).data(), pointers_to(lines).data());
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// ENOENT for a program that is there is about its interpreter: say so, as a shell does.
std::string why_not_started(const std::string& program, int error) {
  if (error != ENOENT || program.find('/') == std::string::npos || ::access(program.c_str(), F_OK) != 0) return std::strerror(error);
  return "it is there, but the interpreter that its first line or its ELF header names isn't";
}

}  // namespace

int run_child(const std::vector<std::string>& command, const Environment& added) {
  for (const int signal : {SIGINT, SIGQUIT}) set_handler(signal, SIG_IGN);
  for (const int signal : {SIGTERM, SIGHUP}) set_handler(signal, pass_on);
  pid_t child = 0;
  if (const int error = spawn(command, added, &child); error != 0) {
    complain("can't start " + command[0] + ": " + why_not_started(command[0], error));
    return error == ENOENT ? exit_status::command_not_found : exit_status::not_executable;
  }
  child_pid = child;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  child_pid = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : exit_status::killed + WTERMSIG(status);
}

}  // namespace tessera::cli
