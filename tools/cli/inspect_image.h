// What a file holds for GPUs: the images in it, and the kernels of the ones that can be read.
//
// Ownership: names and texts are copies, except where said. Memory: one decompressed text at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/access/pointer_flow.h"
#include "placement/image/image.h"
#include "profiles/base/result.h"

namespace tessera::cli {

struct InspectedParam {
  std::uint32_t offset = 0, size = 0;
  std::string type;  // ".u64", ".b8[24]"; empty where only the cubin is there
};

// A 64-bit word of the parameters through which memory is reached.
struct InspectedPointer {
  std::uint32_t offset = 0;
  bool read = false, written = false;
  bool alone = true;  // false: it is summed with other words, and the launch decides which of them is the pointer
};

struct InspectedKernel {
  std::string name;
  std::uint32_t line = 0;
  std::vector<InspectedParam> params;
  bool analysed = false;  // false: machine code only
  access::KernelAccess access;
  std::vector<InspectedPointer> pointers;
};

struct InspectedImage {
  std::string kind;  // "PTX", "cubin", "LTO-IR", "unknown"
  std::string arch;  // "sm_90a"
  std::string version;
  std::string compression;
  std::uint64_t stored_bytes = 0, bytes = 0;
  std::size_t container = 0;  // which fat binary of the file, from 0
  std::vector<std::string> kernel_names;
  std::vector<InspectedKernel> kernels;  // those asked for
  std::vector<std::string> problems;     // each ready to be shown
};

struct Inspection {
  std::string form;
  std::size_t containers = 0;
  std::vector<InspectedImage> images;
  std::vector<std::string> problems;
};

// Which kernels to look into: those whose name contains `kernel`, or all of an image that has at most `most_kernels`.
struct InspectQuestion {
  std::string kernel;  // "" = all
  bool all = false;    // however many
};
inline constexpr std::size_t most_kernels = 32;

[[nodiscard]] Result<Inspection> inspect(image::Bytes file, const InspectQuestion& question);

}  // namespace tessera::cli
