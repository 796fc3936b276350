#include <cstdio>

#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"

namespace tessera::cli {

void complain(std::string_view message) { std::fprintf(stderr, "tessera: %.*s\n", static_cast<int>(message.size()), message.data()); }

int fail(const Error& error) {
  complain(error.message());
  return status_of(error.code);
}

}  // namespace tessera::cli
