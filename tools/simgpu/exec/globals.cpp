#include "tools/simgpu/exec/globals.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

namespace tessera::simgpu {
namespace {

using Kind = ptx::InitValue::Kind;

}  // namespace

Status initialise(const ptx::Module& module, const ptx::Variable& v, std::byte* to,
                  const std::function<std::optional<std::uint64_t>(std::string_view)>& symbol) {
  const std::uint64_t size = v.size(), element = ptx::bytes_of(v.type);
  std::memset(to, 0, size);
  std::uint64_t at = 0;
  for (const ptx::InitValue& value : v.init) {
    if (at + element > size)
      return Error{ErrorCode::bad_data, fmt::format("initialiser of {} is longer than the variable", module.text(v.name)), "", ""};
    std::uint64_t bits = value.bits;
    if (value.kind == Kind::address || value.kind == Kind::masked_address) {
      const auto address = symbol(module.text(value.symbol));
      if (!address) {
        return Error{ErrorCode::unsupported,
                     fmt::format("initialiser of {} names {}, which has no address", module.text(v.name), module.text(value.symbol)), "",
                     ""};
      }
      bits += *address;
      if (value.kind == Kind::masked_address && value.mask != 0) bits = (bits & value.mask) >> std::countr_zero(value.mask);
    }
    std::memcpy(to + at, &bits, element);
    at += element;
  }
  return {};
}

}  // namespace tessera::simgpu
