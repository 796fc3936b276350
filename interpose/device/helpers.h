// The GPUs of this process, and our context on each one that helps.
//
// A helper's context is the device's primary context, retained when a module is first loaded for it and kept until the process ends.
// Invariant: no context is made on a GPU that the policy doesn't use. Threads: callers hold the engine's lock, except for the
// functions on plain facts (count, name, sm), which are fixed once found.
#pragma once

#include <string>
#include <vector>

#include "interpose/resolve/cuda_api.h"
#include "profiles/base/result.h"

namespace tessera::interpose {

class Helpers {
 public:
  // Asks the driver which GPUs the program sees. False when it can't say.
  bool find();
  [[nodiscard]] int count() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] const std::string& name(int device) const { return devices_[static_cast<std::size_t>(device)].name; }
  [[nodiscard]] unsigned sm(int device) const { return devices_[static_cast<std::size_t>(device)].sm; }

  // Our context there, made on first use. Error: why the GPU can't help; asked once, remembered.
  [[nodiscard]] Result<CUcontext> context(int device);
  // The context if there is one; makes nothing.
  [[nodiscard]] CUcontext existing_context(int device) const { return devices_[static_cast<std::size_t>(device)].context; }
  // Never use it again.
  void retire(int device, std::string why);

 private:
  struct Device {
    std::string name;
    unsigned sm = 0;
    CUdevice handle = 0;
    CUcontext context = nullptr;
    std::string failure;  // why it can't help; empty = it can, or wasn't tried
  };
  std::vector<Device> devices_;
};

}  // namespace tessera::interpose
