#include "interpose/launch/reason.h"

namespace tessera::interpose {
namespace {

struct Row {
  const char *id, *sentence, *advice;
};
constexpr Row rows[] = {
    {"none", "", ""},
#define TESSERA_REASON(id, sentence, advice) {#id, sentence, advice},
#include "interpose/launch/reasons.def"
#undef TESSERA_REASON
};

}  // namespace

ReasonText text_of(Reason reason) {
  if (reason < Reason::first_access) {
    const Row& row = rows[static_cast<std::size_t>(reason)];
    return {row.id, row.sentence, row.advice};
  }
  const auto refusal = static_cast<access::Refusal>(static_cast<unsigned>(reason) - static_cast<unsigned>(Reason::first_access));
  return {"access_" + std::string(access::name_of(refusal)), access::sentence_of(refusal),
          "See `tessera inspect` for the instruction and its line."};
}

}  // namespace tessera::interpose
