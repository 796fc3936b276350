// What a program can put into a stream or a graph, described; and the way from a description to an operation that is ordered and runs.
//
// A Work holds everything that its operation needs, copied when the program called, except the memory that it names. enqueue() is the one
// door: it captures the work while the stream is being captured, and else orders it behind the stream, by the default-stream rules too.
// Invariant: a Work refers to modules, devices and contexts only; those drain before they go. Threads: guarded by the driver's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "tools/simgpu/libcuda/driver.h"

namespace tessera::simgpu {

struct KernelWork {
  Function* function = nullptr;
  CUkernel kernel = nullptr;  // as the program named it, where it did
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  unsigned dynamic_shared = 0;
  bool cooperative = false;
  std::vector<std::byte> params;  // laid out as the kernel's attributes say
};

// A box of `width` bytes × `height` rows × `depth` slices. Addresses of the first byte; pitches in bytes from row to row and slice to
// slice.
struct CopyWork {
  struct End {
    SimDevice* device = nullptr;  // nullptr = host memory
    std::uint64_t address = 0, pitch = 0, slice = 0;
    bool pageable = false;  // host memory that isn't the driver's
  };
  End to, from;
  std::uint64_t width = 0, height = 1, depth = 1;
  [[nodiscard]] std::uint64_t bytes() const { return width * height * depth; }
};

struct FillWork {
  SimDevice* device = nullptr;
  std::uint64_t to = 0, pitch = 0;
  std::uint32_t value = 0;
  unsigned element = 1;                 // bytes: 1, 2 or 4
  std::uint64_t width = 0, height = 1;  // elements, rows
};

struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

// cuStreamAddCallback's form.
struct CallbackWork {
  CUstreamCallback function = nullptr;
  CUstream stream = nullptr;
  void* data = nullptr;
};

struct FreeWork {
  SimDevice* device = nullptr;
  std::uint64_t address = 0;
};

// Nothing but a place in the order.
struct MarkWork {};

// 32 or 64 bits at `address`: write them, or wait until they compare (CU_STREAM_WAIT_VALUE_*).
struct WriteValueWork {
  std::uint64_t address = 0, value = 0;
  unsigned bytes = 4;
};
struct WaitValueWork {
  std::uint64_t address = 0, value = 0;
  unsigned bytes = 4, flags = 0;
};

using Work = std::variant<MarkWork, KernelWork, CopyWork, FillWork, HostWork, CallbackWork, FreeWork, WriteValueWork, WaitValueWork>;

// An operation that does it, not yet ordered or submitted. `context` gets the errors that it meets.
[[nodiscard]] OperationPtr operation_of(Work work, Context& context);

// What must have ended before the next operation on `stream` may begin.
[[nodiscard]] std::vector<OperationPtr> before_next_on(const Stream& stream);
// Orders the operation behind the stream, makes it the stream's last, and submits it. The host's call takes its time.
void order_behind(Stream& stream, const OperationPtr& operation);

// Captures or submits `work`. `blocking`: returns when it has ended, and the host's clock with it; not allowed in a capture.
// `submitted`, where given, gets the operation (null when captured).
CUresult enqueue(Stream& stream, Work work, bool blocking = false, OperationPtr* submitted = nullptr);

// Returns when everything has ended that was submitted to the stream (and what the default-stream rules put before its next operation),
// or to the context; the host's clock waits, too. The answer is the context's error, if it has one now.
CUresult finish_stream(Stream& stream);
CUresult finish_context(Context& context);

// What a launch of `handle` in this context does: `work` has the shape, and gets the function and the parameters. Checked as documented.
[[nodiscard]] CUresult complete(KernelWork& work, CUfunction handle, Context& context, void** params, void** extra);

// Kernels (launch.cpp), copies and fills (copy_work.cpp).
void describe(const KernelWork& work, Context& context, Operation& operation);
void describe(const CopyWork& work, Context& context, Operation& operation);
void describe(const FillWork& work, Context& context, Operation& operation);
// Reads the copy's pageable source now, so that the program may overwrite it.
void stage(const CopyWork& work, Operation& operation);

}  // namespace tessera::simgpu
