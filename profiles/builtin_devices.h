// The device files of profiles/devices/, embedded at build time.
#pragma once

#include <span>
#include <string_view>

namespace tessera {

struct BuiltinDevice {
  std::string_view file;
  std::string_view json;
};
[[nodiscard]] std::span<const BuiltinDevice> builtin_devices();

}  // namespace tessera
