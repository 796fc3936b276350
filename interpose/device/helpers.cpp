#include "interpose/device/helpers.h"

#include <array>

#include "interpose/resolve/real.h"
#include "profiles/base/log.h"

namespace tessera::interpose {

bool Helpers::find() {
  int count = 0;
  if (call<Entry::cuDeviceGetCount>(&count) != CUDA_SUCCESS) return false;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Device device;
    std::array<char, 256> name{};
    int major = 0, minor = 0;
    if (call<Entry::cuDeviceGet>(&device.handle, ordinal) != CUDA_SUCCESS) return false;
    if (call<Entry::cuDeviceGetName>(name.data(), static_cast<int>(name.size()) - 1, device.handle) != CUDA_SUCCESS) return false;
    call<Entry::cuDeviceGetAttribute>(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device.handle);
    call<Entry::cuDeviceGetAttribute>(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device.handle);
    device.name = name.data();
    device.sm = static_cast<unsigned>(major * 10 + minor);
    devices_.push_back(std::move(device));
  }
  return true;
}

Result<CUcontext> Helpers::context(int ordinal) {
  Device& device = devices_[static_cast<std::size_t>(ordinal)];
  if (device.context != nullptr) return device.context;
  if (device.failure.empty()) {
    const CUresult result = call<Entry::cuDevicePrimaryCtxRetain>(&device.context, device.handle);
    if (result == CUDA_SUCCESS) return device.context;
    device.context = nullptr;
    retire(ordinal, fmt::format("no context there (driver error {})", static_cast<int>(result)));
  }
  return Error{ErrorCode::environment, device.failure, device.name, {}};
}

void Helpers::retire(int ordinal, std::string why) {
  Device& device = devices_[static_cast<std::size_t>(ordinal)];
  log::warn("GPU {} ({}) doesn't help any more: {}", ordinal, device.name, why);
  device.failure = std::move(why);
  device.context = nullptr;
}

}  // namespace tessera::interpose
