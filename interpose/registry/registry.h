// What the program has loaded: modules and libraries, and the kernels behind its handles.
//
// A kernel handle may be a CUfunction or a CUkernel (also one cast to the other); both lead to the KernelRecord. Records are shared, so a
// launch keeps the one that it looked up while another thread unloads the module; handles are forgotten before the driver can give
// them out again, so a recycled handle never shows the old kernel.
// Invariant: a handle leads to one record. Ownership: records keep their image. Threads: any; no lock of this
// class is held while anything else is called.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/launch/stats.h"
#include "interpose/registry/image.h"
#include "interpose/resolve/cuda_api.h"

namespace tessera::interpose {

struct ModuleRecord {
  std::shared_ptr<Image> image;  // null: not understood, or nothing can move in this process
  bool is_library = false;
  std::vector<CUmodule> there;       // by device: the same image loaded by us; null where it isn't
  std::vector<const void*> handles;  // of kernels, as given out; guarded by Registry
};

// A kernel on one GPU.
struct KernelThere {
  CUfunction function = nullptr;    // in our context; null: see `why`
  Reason why = Reason::not_loaded;  // it can't run there
  std::map<int, int> refused;       // attributes that this GPU didn't take
};

struct KernelRecord {
  KernelRecord(std::string kernel_name, std::shared_ptr<ModuleRecord> of, KernelStats& counts, std::size_t devices)
      : name(std::move(kernel_name)), module(std::move(of)), stats(counts), texts(devices), there(devices) {}

  // Its PTX as the GPU would be given it; null when there is none.
  [[nodiscard]] const KernelText* text(std::size_t device, unsigned sm);

  const std::string name;
  const std::shared_ptr<ModuleRecord> module;
  KernelStats& stats;
  CUkernel library_kernel = nullptr;
  std::atomic<std::uint64_t> found_from{0};  // bit = ordinal of a home from which it was looked for on the other GPUs

 private:
  struct TextSlot {
    std::atomic<bool> known{false};
    std::atomic<const KernelText*> text{nullptr};
  };
  std::vector<TextSlot> texts;

 public:
  // Order of locks: preparing, the engine's, mutex.
  std::mutex preparing;            // one thread at a time finds it on helpers or sets attributes there; held while the driver does
  std::map<int, int> attributes;   // set by the program, to be set there too; guarded by `preparing`
  std::mutex mutex;                // guards what follows; nothing is called under it
  std::vector<KernelThere> there;  // by device
};
using KernelRef = std::shared_ptr<KernelRecord>;

class Registry {
 public:
  void loaded(CUmodule module, std::shared_ptr<ModuleRecord> record);
  void loaded(CUlibrary library, std::shared_ptr<ModuleRecord> record);
  [[nodiscard]] std::shared_ptr<ModuleRecord> module_of(const void* module_or_library);
  // `module` is the library's module in some context.
  void same_module(CUmodule module, CUlibrary library);

  // `handle` names `kernel` from now on.
  void found(const void* handle, const KernelRef& kernel);
  // The kernel of that name in the module, if one of its handles is known.
  [[nodiscard]] KernelRef find_in(ModuleRecord& module, const std::string& name);
  [[nodiscard]] KernelRef kernel_of(const void* handle);
  // For counting alone: null when the handle isn't known.
  [[nodiscard]] KernelStats* stats_of(const void* handle);

  // About to be unloaded: forgets its handles, and gives the record back.
  std::shared_ptr<ModuleRecord> unloading(const void* module_or_library);

 private:
  // Readers take their thread's lock, so that launching threads don't meet; a writer takes all of them.
  struct alignas(64) ReaderLock {
    std::mutex mutex;
  };
  class WriterLock {
   public:
    explicit WriterLock(Registry& registry) : registry_(registry) {
      for (ReaderLock& lock : registry_.readers_) lock.mutex.lock();
    }
    ~WriterLock() {
      for (ReaderLock& lock : registry_.readers_) lock.mutex.unlock();
    }
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

   private:
    Registry& registry_;
  };
  [[nodiscard]] std::mutex& reader_lock() { return readers_[thread_slot()].mutex; }

  std::array<ReaderLock, thread_slots> readers_;
  std::unordered_map<const void*, KernelRef> kernels_;
  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<ModuleRecord>> modules_;
};

}  // namespace tessera::interpose
