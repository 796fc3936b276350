// Machine code of one architecture (an ELF file of EM_CUDA): kernels with their parameter layout, and module globals.
//
// Invariant: bounds-checked; a record that isn't understood is skipped. Offsets and sizes in bytes within the parameter block.
// Ownership: names are copies. Threads: pure functions. Source: measured, docs/file-formats.md (.nv.info records).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/image/image.h"

namespace tessera::image {

// What `.ptr` of the PTX said about a pointer parameter; none = not said (which doesn't mean "not a pointer").
enum class PointerSpace : std::uint8_t { none, local, shared, constant_or_global, generic };

struct CubinParam {
  std::uint32_t ordinal = 0, offset = 0, size = 0;
  PointerSpace space = PointerSpace::none;
};
struct CubinKernel {
  std::string name;
  std::vector<CubinParam> params;  // by ordinal
  std::uint32_t param_bytes = 0;   // end of the last parameter
};
struct CubinGlobal {
  std::string name;
  std::uint64_t size = 0;
  bool constant = false;
};
struct Cubin {
  unsigned sm = 0;
  std::vector<CubinKernel> kernels;
  std::vector<CubinGlobal> globals;
};

[[nodiscard]] Result<Cubin> read_cubin(Bytes file);

}  // namespace tessera::image
