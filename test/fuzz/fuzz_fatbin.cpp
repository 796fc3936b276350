// Any bytes as a fat binary: entries and payloads stay inside the bytes and below the cap, and so does what is chosen of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "placement/image/image.h"
#include "placement/image/select.h"

namespace {

using namespace tessera::image;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool is_inside(Bytes whole, const void* begin, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(begin);
  return size == 0 || (first >= whole.data() && first + size <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  // A wrapper is an address in this process: what it points to can't be made up.
  if (form_of(bytes) == Form::fatbin_wrapper) return 0;
  std::string damage;
  const auto entries = entries_of(bytes, &damage);
  if (!entries.ok()) return 0;
  constexpr std::size_t cap = 1 << 20;
  for (const Entry& e : *entries) {
    require(is_inside(bytes, e.stored.data(), e.stored.size()), "an entry's bytes lie outside");
    require(is_inside(bytes, e.options.data(), e.options.size()), "an entry's options lie outside");
    require(is_inside(bytes, e.identifier.data(), e.identifier.size()), "an entry's name lies outside");
    const auto payload = payload_of(e, cap);
    require(!payload.ok() || payload->size() <= cap, "a payload is larger than the cap");
  }
  for (const unsigned sm : {75u, 80u, 90u, 120u}) {
    const Entry* best = best_for(*entries, sm);
    require(best == nullptr || runs_on(*best, sm), "the best entry doesn't run");
  }
  return 0;
}
