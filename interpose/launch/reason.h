// Why a launch stayed home, as data: one enumerator a row of reasons.def, then the access analysis's refusals.
//
// Invariant: ids are stable; the report counts by them. Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "placement/access/pointer_flow.h"

namespace tessera::interpose {

enum class Reason : std::uint8_t {
  none,
#define TESSERA_REASON(id, sentence, advice) id,
#include "interpose/launch/reasons.def"
#undef TESSERA_REASON
  first_access,  // + access::Refusal
};
inline constexpr std::size_t reason_count =
    static_cast<std::size_t>(Reason::first_access) + static_cast<std::size_t>(access::Refusal::too_complex) + 1;

[[nodiscard]] inline Reason reason_of(access::Refusal refusal) {
  return static_cast<Reason>(static_cast<unsigned>(Reason::first_access) + static_cast<unsigned>(refusal));
}

struct ReasonText {
  std::string id;
  std::string_view sentence, advice;
};
[[nodiscard]] ReasonText text_of(Reason reason);

}  // namespace tessera::interpose
