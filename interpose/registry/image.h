// One device image that the program loaded, kept so that it can be loaded and read again for other GPUs.
//
// The bytes are a copy, since the program may free its own after the call. The PTX that a GPU's driver would take is parsed when first
// asked for, once for each text in the image, and each kernel's accesses are analysed once.
// Invariant: immutable but for that cache. Ownership: shared by the modules loaded from it. Threads: any; the cache has its own lock,
// and no driver call is made under it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "placement/access/pointer_flow.h"
#include "placement/image/image.h"
#include "placement/ptx/ir.h"
#include "profiles/kernel_key.h"
#include "profiles/predict.h"

namespace tessera::interpose {

// Where each parameter lies in the parameter block.
struct ParamSlot {
  std::uint32_t offset = 0, size = 0;
};
struct ParamLayout {
  std::vector<ParamSlot> slots;
  std::uint32_t bytes = 0;
};

// A kernel as one PTX text has it.
struct KernelText {
  access::KernelAccess access;
  ParamLayout layout;
  ContentHash hash;
  WorkEstimate thread_work;  // for prediction
  bool asserts = false;      // prints, traps or asserts: what it says must come from home
};

class Image {
 public:
  explicit Image(std::vector<std::byte> bytes);

  [[nodiscard]] const void* data() const { return bytes_.data(); }
  [[nodiscard]] image::Form form() const { return form_; }
  // The kernel as a GPU of `sm` would be given it in PTX; null when the image has no PTX for it, or no such kernel.
  [[nodiscard]] const KernelText* kernel(const std::string& name, unsigned sm);

 private:
  struct Program {
    std::string text;
    ptx::Module module;
    std::map<std::string, std::unique_ptr<KernelText>> kernels;
  };
  [[nodiscard]] Program* program_for(unsigned sm);
  [[nodiscard]] static KernelText read_kernel(const Program& program, const ptx::Function& function);

  std::vector<std::byte> bytes_;
  image::Form form_;
  std::vector<image::Entry> entries_;
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<Program>> programs_;  // by where their text begins
};

// A copy of the image at a pointer without a length, as load calls take it. Null when its form isn't known.
[[nodiscard]] std::shared_ptr<Image> copy_image(const void* image);
// The same of a file.
[[nodiscard]] std::shared_ptr<Image> read_image(const char* path);

}  // namespace tessera::interpose
