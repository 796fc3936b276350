#include "placement/image/compress.h"

#include <fmt/core.h>
#include <lz4.h>
#include <zstd.h>

#include <limits>

namespace tessera::image {
namespace {

// No method packs much better: a block that claims more is a bomb, and is refused before memory is taken for it.
constexpr std::uint64_t lz4_best_ratio = 256, zstd_best_ratio = 1 << 15;

Error damaged(std::string_view method) { return Error{ErrorCode::bad_data, fmt::format("damaged {} data", method), "", ""}; }

}  // namespace

Result<std::string> decompress(Compression method, Bytes stored, std::uint64_t size) {
  const auto* source = reinterpret_cast<const char*>(stored.data());
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  switch (method) {
    case Compression::lz4: {
      if (stored.size() > most || size > most || size / lz4_best_ratio > stored.size()) return damaged("LZ4");
      std::string out(size, '\0');
      const int got = LZ4_decompress_safe(source, out.data(), static_cast<int>(stored.size()), static_cast<int>(size));
      if (got < 0 || static_cast<std::uint64_t>(got) != size) return damaged("LZ4");
      return out;
    }
    case Compression::zstd: {
      if (size / zstd_best_ratio > stored.size()) return damaged("Zstandard");
      std::string out(size, '\0');
      const std::size_t got = ZSTD_decompress(out.data(), size, source, stored.size());
      if (ZSTD_isError(got) != 0 || got != size) return damaged("Zstandard");
      return out;
    }
    default:
      return Error{ErrorCode::unsupported, "an entry compressed by an unknown method", "", ""};
  }
}

}  // namespace tessera::image
