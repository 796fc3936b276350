// The simulated driver's state: devices, contexts, streams, events, modules; and the guard that every entry point begins with.
//
// Invariant: a handle that a program holds is the address of an object in its registry, or it is not valid; entry points look up before
// they follow. An error that a kernel caused is sticky in its context, as documented. Ownership: World owns everything and lives until the
// process ends. Threads: one lock, taken by Entry; kernels run under it.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "profiles/device_catalog.h"
#include "tools/simgpu/exec/module.h"
#include "tools/simgpu/sched/clock.h"
#include "tools/simgpu/sched/faults.h"
#include "tools/simgpu/sched/scheduler.h"

// No exception leaves an entry point. Clang refuses to say so where the toolkit's own declaration doesn't.
#ifdef __clang__
#define SIM_NOEXCEPT
#else
#define SIM_NOEXCEPT noexcept
#endif
#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace tessera::simgpu {

struct CapturePoint;
struct Context;
struct Library;
struct Pool;

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  OperationPtr last;                              // submitted to it, or null
  std::shared_ptr<CapturePoint> capturing;        // null while it isn't captured
  std::map<int, CUstreamAttrValue> attributes{};  // as set
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  OperationPtr mark;                       // its latest record, or null
  std::shared_ptr<CapturePoint> captured;  // set when the latest record was captured
};

struct Function;

// The managed variables of a module, or of a library's modules: name → address.
using ManagedVariables = std::map<std::string, std::uint64_t, std::less<>>;

struct Module {
  Context* context = nullptr;
  Library* library = nullptr;  // when it is a library's instance in this context
  std::unique_ptr<ExecModule> exec;
  ManagedVariables managed;  // empty when it is a library's
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
};

struct Function {
  Module* module = nullptr;
  const ExecKernel* kernel = nullptr;
  std::string name;
  int max_dynamic_shared = 0;
  int preferred_carveout = -1;
};

struct Kernel {
  Library* library = nullptr;
  std::string name;
};

struct Library {
  std::string image;  // bytes as loaded
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::map<Context*, Module*> instances;
  ManagedVariables managed;
  std::map<std::pair<std::string, int>, int> max_dynamic_shared;  // kernel, device ordinal
};

struct SimDevice {
  int ordinal = 0;  // as the program sees it
  const DeviceModel* model = nullptr;
  std::unique_ptr<Device> device;
  DeviceClock clock;
  CUuuid uuid{};
  Context* primary = nullptr;
  Pool* pool = nullptr;  // that allocations in streams come from; null = the device's default one
  unsigned primary_count = 0;
  unsigned primary_flags = 0;
  std::uint64_t kernels = 0;
};

struct Context {
  SimDevice* device = nullptr;
  unsigned flags = 0;
  unsigned api_version = 3020;
  std::uint64_t id = 0;
  bool primary = false;
  CUresult sticky = CUDA_SUCCESS;
  Stream legacy, per_thread;
  std::vector<OperationPtr> of_destroyed_streams;  // their last ones
  std::array<std::size_t, CU_LIMIT_MAX> limits{};
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  std::unordered_set<Context*> peers;  // whose memory its kernels may touch
};

enum class HostKind : std::uint8_t { pinned, registered, managed };
struct HostAllocation {
  std::uint64_t base = 0, size = 0;
  HostKind kind = HostKind::pinned;
  unsigned flags = 0;
  Context* context = nullptr;  // null for managed variables, which belong to their module
};

// Live objects of one kind; tells a handle from a stale or made-up pointer.
template <typename T>
class Registry {
 public:
  template <typename... Args>
  T* make(Args&&... args) {
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* object = owned.get();
    objects_[object] = std::move(owned);
    return object;
  }
  [[nodiscard]] T* find(const void* handle) const {
    const auto found = objects_.find(const_cast<T*>(static_cast<const T*>(handle)));
    return found == objects_.end() ? nullptr : found->first;
  }
  void erase(T* object) { objects_.erase(object); }
  [[nodiscard]] auto begin() const { return objects_.begin(); }
  [[nodiscard]] auto end() const { return objects_.end(); }

 private:
  std::map<T*, std::unique_ptr<T>> objects_;
};

// What TESSERA_SIM_PEERS says.
enum class PeerMode : std::uint8_t { none, all, lying };

struct CopyTotal {
  std::uint64_t bytes = 0, count = 0;
};

struct World {
  DriverLock lock;
  CUresult init_result = CUDA_ERROR_NOT_INITIALIZED;
  std::vector<std::unique_ptr<SimDevice>> devices;
  Clock clock;
  Scheduler scheduler{lock, clock};
  Faults faults;
  PeerMode peers = PeerMode::none;
  Registry<Context> contexts;
  Registry<Stream> streams;
  Registry<Event> events;
  Registry<Module> modules;
  Registry<Library> libraries;
  std::unordered_set<const void*> functions, kernels;
  std::map<std::uint64_t, HostAllocation> host_allocations;
  std::map<std::uint64_t, Context*> owners;   // of device memory that goes with its context, by address
  std::unordered_set<std::uint64_t> freeing;  // given to cuMemFreeAsync, not yet free
  std::uint64_t next_id = 1;
  std::uint64_t launches = 0;
  std::map<std::pair<int, int>, CopyTotal> copies;  // from, to; -1 = host

  // The device whose range, or mapped physical memory, holds `address`; or nullptr.
  [[nodiscard]] SimDevice* device_of(std::uint64_t address);
  [[nodiscard]] HostAllocation* host_allocation_of(std::uint64_t address);
};

// Lives until the process ends, and past it: never destroyed.
World& world();

// The contexts that the calling thread has pushed; back = current.
std::vector<Context*>& context_stack();

// Whether the calling thread is inside a host function or a stream callback, which may not call the driver.
bool& in_host_function();

// Locks the driver, lets time pass for what is queued, and answers what every entry point must ask first.
class Entry {
 public:
  Entry() : lock_(world().lock) {
    if (!in_host_function()) world().scheduler.drift();
  }
  // CUDA_SUCCESS once cuInit has succeeded.
  [[nodiscard]] CUresult initialized() const { return in_host_function() ? CUDA_ERROR_NOT_PERMITTED : world().init_result; }
  // The current context, alive and without a sticky error; else the code to return is in `error`.
  [[nodiscard]] Context* context(CUresult& error) const;

 private:
  std::lock_guard<DriverLock> lock_;
};

// The stream that a handle means: 0 and CU_STREAM_LEGACY the legacy one, CU_STREAM_PER_THREAD the other default; nullptr = not valid.
[[nodiscard]] Stream* stream_of(CUstream handle, Context& current);
// The same in the calling thread's current context; nullptr with the code to return.
[[nodiscard]] Stream* find_stream(const Entry& entry, CUstream handle, CUresult& error);

// Makes `code` the error of every context on the device that has none yet.
void fail_device(const SimDevice& device, CUresult code);

[[nodiscard]] Context* make_context(SimDevice& device, unsigned flags, bool primary);
void destroy_context(Context* context);
void write_report();

}  // namespace tessera::simgpu
