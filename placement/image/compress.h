// Decompression of fat binary entries: LZ4 blocks without a frame, and Zstandard frames.
#pragma once

#include <cstdint>
#include <string>

#include "placement/image/image.h"

namespace tessera::image {

// Exactly `size` bytes, or bad_data. Allocates `size` bytes, which the caller has bounded.
[[nodiscard]] Result<std::string> decompress(Compression method, Bytes stored, std::uint64_t size);

}  // namespace tessera::image
