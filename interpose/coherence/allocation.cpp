#include "interpose/coherence/allocation.h"

#include <algorithm>

namespace tessera::coherence {

Copy* Allocation::at(DeviceId device, ContextId context) {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [&](const Copy& copy) { return copy.place.device == device && copy.place.context == context; });
  return found == copies.end() ? nullptr : &*found;
}

Copy* Allocation::newest() {
  const auto found = std::find_if(copies.begin(), copies.end(), [](const Copy& copy) { return copy.valid; });
  return found == copies.end() ? nullptr : &*found;
}

bool Allocation::replicated() const {
  if (!home().valid || home().ready || !home().uses.empty()) return true;
  return std::any_of(copies.begin() + 1, copies.end(), [](const Copy& copy) { return copy.valid; });
}

std::string Allocation::check() const {
  if (copies.empty()) return "an allocation has a home copy";
  const auto valid = std::count_if(copies.begin(), copies.end(), [](const Copy& copy) { return copy.valid; });
  if (valid == 0) return "some copy holds the newest bytes";
  if (home_writers > 0 && (valid != 1 || !home().valid)) return "while home memory is being written, no other copy is valid";
  if (home_only && (valid != 1 || !home().valid)) return "home-only memory has no replica";
  for (std::size_t i = 0; i < copies.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (copies[i].place.device == copies[j].place.device && copies[i].place.context == copies[j].place.context) {
        return "one copy in each place";
      }
    }
  }
  return {};
}

}  // namespace tessera::coherence
