#include "profiles/base/result.h"

namespace tessera {

std::string Error::message() const {
  std::string text = what;
  if (!where.empty()) text += " (" + where + ")";
  if (!hint.empty()) text += ": " + hint;
  return text;
}

}  // namespace tessera
