// cuInit and the devices: which models there are, in which order, and what they say of themselves.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "profiles/base/log.h"
#include "profiles/base/settings.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/libcuda/peer.h"

namespace tessera::simgpu {
namespace {

constexpr int driver_version = 13000;

// A stable UUID of the n-th configured device: the same in every run.
CUuuid uuid_of(std::size_t configured, const DeviceModel& model) {
  CUuuid uuid{};
  std::snprintf(uuid.bytes, sizeof uuid.bytes, "sim%02zu-%.9s", configured, model.name.c_str());
  return uuid;
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

struct Configured {
  const DeviceModel* model;
  CUuuid uuid;
};

// CUDA_VISIBLE_DEVICES: indices or (prefixes of) UUIDs; an entry that names nothing hides itself and all behind it.
std::vector<Configured> visible(const std::vector<Configured>& all) {
  const char* setting = std::getenv("CUDA_VISIBLE_DEVICES");
  if (setting == nullptr) return all;
  std::vector<Configured> chosen;
  std::string_view rest = setting;
  while (true) {
    const auto comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    const Configured* found = nullptr;
    if (item.rfind("GPU-", 0) == 0) {
      for (const Configured& c : all) {
        if (uuid_text(c.uuid).rfind(item, 0) == 0) found = &c;
      }
    } else {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), index);
      if (error == std::errc() && end == item.data() + item.size() && index < all.size()) found = &all[index];
    }
    if (found == nullptr) break;
    const bool repeated = std::any_of(chosen.begin(), chosen.end(),
                                      [&](const Configured& c) { return std::memcmp(&c.uuid, &found->uuid, sizeof c.uuid) == 0; });
    if (repeated) return {};  // the real driver shows no device then
    chosen.push_back(*found);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return chosen;
}

CUresult make_devices(World& w) {
  const Settings settings = Settings::from_environment();
  auto models = parse_device_list(settings.sim.empty() ? "a100" : settings.sim);
  if (!models) {
    log::notice("TESSERA_SIM=" + settings.sim + ": " + models.error().message());
    return CUDA_ERROR_NO_DEVICE;
  }
  const auto order = Scheduler::order_of(settings.sim_order);
  if (!order) {
    log::notice(order.error().message());
    return CUDA_ERROR_NO_DEVICE;
  }
  w.scheduler.set_order(*order);
  const auto peers = peer_mode_of(settings.sim_peers);
  if (!peers) {
    log::notice(peers.error().message());
    return CUDA_ERROR_NO_DEVICE;
  }
  w.peers = *peers;
  if (!observe(w, settings)) return CUDA_ERROR_NO_DEVICE;
  if (!settings.sim_faults.empty()) {
    auto faults = Faults::load(settings.sim_faults);
    if (!faults) {
      log::notice(faults.error().message());
      return CUDA_ERROR_NO_DEVICE;
    }
    w.faults = std::move(*faults);
  }
  std::vector<Configured> all;
  for (const DeviceModel* model : *models) all.push_back({model, uuid_of(all.size(), *model)});
  for (const Configured& c : visible(all)) {
    auto d = std::make_unique<SimDevice>();
    d->ordinal = static_cast<int>(w.devices.size());
    d->model = c.model;
    d->uuid = c.uuid;
    DeviceTraits traits;
    traits.ordinal = static_cast<unsigned>(d->ordinal);
    traits.model = c.model->name;
    traits.compute_major = c.model->cc_major;
    traits.compute_minor = c.model->cc_minor;
    traits.sm_count = c.model->sm_count;
    traits.memory_bytes = c.model->memory_bytes;
    traits.shared_per_block_max = c.model->shared_per_block_optin;
    auto device = Device::create(traits);
    if (!device) {
      log::notice(device.error().message());
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    d->device = std::move(*device);
    w.devices.push_back(std::move(d));
  }
  return w.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

SimDevice* device_at(CUdevice ordinal) {
  auto& devices = world().devices;
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size() ? devices[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

struct AttributeRow {
  CUdevice_attribute attribute;
  int (*value)(const SimDevice&);
};
#define SIM_ATTRIBUTE(name, expression)                         \
  {                                                             \
    CU_DEVICE_ATTRIBUTE_##name, [](const SimDevice& d) -> int { \
      const DeviceModel& m = *d.model;                          \
      (void)m;                                                  \
      return static_cast<int>(expression);                      \
    }                                                           \
  }
constexpr AttributeRow attributes[] = {
    SIM_ATTRIBUTE(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
    SIM_ATTRIBUTE(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
    SIM_ATTRIBUTE(MAX_THREADS_PER_BLOCK, 1024),
    SIM_ATTRIBUTE(MAX_BLOCK_DIM_X, 1024),
    SIM_ATTRIBUTE(MAX_BLOCK_DIM_Y, 1024),
    SIM_ATTRIBUTE(MAX_BLOCK_DIM_Z, 64),
    SIM_ATTRIBUTE(MAX_GRID_DIM_X, 2147483647),
    SIM_ATTRIBUTE(MAX_GRID_DIM_Y, 65535),
    SIM_ATTRIBUTE(MAX_GRID_DIM_Z, 65535),
    SIM_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, m.shared_per_block),
    SIM_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, m.shared_per_block_optin),
    SIM_ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024),
    SIM_ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, m.shared_per_sm),
    SIM_ATTRIBUTE(TOTAL_CONSTANT_MEMORY, 65536),
    SIM_ATTRIBUTE(WARP_SIZE, 32),
    SIM_ATTRIBUTE(MAX_PITCH, 2147483647),
    SIM_ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, 65536),
    SIM_ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, m.registers_per_sm),
    SIM_ATTRIBUTE(CLOCK_RATE, m.boost_clock_hz / 1000),
    SIM_ATTRIBUTE(TEXTURE_ALIGNMENT, 512),
    SIM_ATTRIBUTE(TEXTURE_PITCH_ALIGNMENT, 32),
    SIM_ATTRIBUTE(MULTIPROCESSOR_COUNT, m.sm_count),
    SIM_ATTRIBUTE(CAN_MAP_HOST_MEMORY, 1),
    SIM_ATTRIBUTE(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT),
    SIM_ATTRIBUTE(CONCURRENT_KERNELS, 1),
    SIM_ATTRIBUTE(PCI_BUS_ID, d.ordinal + 1),
    SIM_ATTRIBUTE(MEMORY_CLOCK_RATE, 1000000),
    SIM_ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH, m.memory_byte_per_s * 8 / 2e9),
    SIM_ATTRIBUTE(L2_CACHE_SIZE, m.l2_bytes),
    SIM_ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR, m.max_threads_per_sm),
    SIM_ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR, m.max_blocks_per_sm),
    SIM_ATTRIBUTE(ASYNC_ENGINE_COUNT, 2),
    SIM_ATTRIBUTE(GPU_OVERLAP, 1),
    SIM_ATTRIBUTE(UNIFIED_ADDRESSING, 1),
    SIM_ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR, m.cc_major),
    SIM_ATTRIBUTE(COMPUTE_CAPABILITY_MINOR, m.cc_minor),
    SIM_ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED, 1),
    SIM_ATTRIBUTE(GLOBAL_L1_CACHE_SUPPORTED, 1),
    SIM_ATTRIBUTE(LOCAL_L1_CACHE_SUPPORTED, 1),
    SIM_ATTRIBUTE(MANAGED_MEMORY, 1),
    SIM_ATTRIBUTE(CONCURRENT_MANAGED_ACCESS, 1),
    SIM_ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    SIM_ATTRIBUTE(HOST_REGISTER_SUPPORTED, 1),
    SIM_ATTRIBUTE(COOPERATIVE_LAUNCH, 1),
    SIM_ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED, 1),
    SIM_ATTRIBUTE(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, m.fp64_flop_per_s > 0 ? m.fp32_flop_per_s / m.fp64_flop_per_s : 0),
    SIM_ATTRIBUTE(MEMORY_POOLS_SUPPORTED, 1),
};
#undef SIM_ATTRIBUTE

}  // namespace
}  // namespace tessera::simgpu

using namespace tessera::simgpu;

// Programs and tools that must label simulated results look for this symbol.
SIM_EXPORT int tessera_simulated_driver() SIM_NOEXCEPT { return 1; }

SIM_EXPORT CUresult cuInit(unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  World& w = world();
  if (w.init_result != CUDA_SUCCESS && w.devices.empty()) w.init_result = make_devices(w);
  return w.init_result;
}

SIM_EXPORT CUresult cuDriverGetVersion(int* version) SIM_NOEXCEPT {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = driver_version;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetCount(int* count) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(world().devices.size());
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device_at(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<std::size_t>(length), "%s (simulated)", d->model->cuda_name.c_str());
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *uuid = d->uuid;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) SIM_NOEXCEPT { return cuDeviceGetUuid(uuid, device); }

SIM_EXPORT CUresult cuDeviceGetLuid(char* luid, unsigned int* mask, CUdevice device) SIM_NOEXCEPT {
  (void)luid, (void)mask;
  const Entry entry;
  return device_at(device) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_SUPPORTED;  // a Windows notion, as on Linux
}

SIM_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = d->model->memory_bytes;
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  *value = 0;  // features that aren't offered
  for (const AttributeRow& row : attributes) {
    if (row.attribute == attribute) *value = row.value(*d);
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = static_cast<int>(d->model->cc_major);
  *minor = static_cast<int>(d->model->cc_minor);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = {1024,
                 {1024, 1024, 64},
                 {2147483647, 65535, 65535},
                 static_cast<int>(d->model->shared_per_block),
                 65536,
                 32,
                 2147483647,
                 65536,
                 static_cast<int>(d->model->boost_clock_hz / 1000),
                 512};
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  const SimDevice* d = device_at(device);
  if (d == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (text == nullptr || length < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(d->ordinal + 1) & 0xffu);
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) SIM_NOEXCEPT {
  const Entry entry;
  if (entry.initialized() != CUDA_SUCCESS) return entry.initialized();
  if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& d : world().devices) {
    if (fmt::format("0000:{:02x}:00.0", d->ordinal + 1) == text) {
      *device = d->ordinal;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

SIM_EXPORT CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format, unsigned channels,
                                                       CUdevice device) SIM_NOEXCEPT {
  (void)format, (void)channels;
  const Entry entry;
  if (device_at(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (width == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *width = std::size_t{1} << 28;
  return CUDA_SUCCESS;
}
