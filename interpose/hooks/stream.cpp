// Streams: their end, capture, and what waits for something outside its stream.
#include <set>

#include "interpose/device/own_calls.h"
#include "interpose/hooks/hook.h"

using namespace tessera;
using namespace tessera::interpose;

namespace {

template <Entry E>
CUresult destroy(CUstream stream) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr || stream == nullptr) return call<E>(stream);
  return hooks::guarded([&] {
    {
      const std::lock_guard lock(engine->lock());
      if (const auto id = engine->streams().known({stream, false})) {
        static_cast<void>(engine->coherence().streams().closing(*id));  // an invalid handle: the driver will say so
        engine->mover().close(*id);
        engine->streams().forget(*id);
      }
    }
    return call<E>(stream);
  });
}

// Before a capture begins everything comes home and has arrived; while one is open nothing is redirected.
template <Entry E, typename... Args>
CUresult begin_capture(bool per_thread, CUstream stream, Args... args) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return call<E>(stream, args...);
  return hooks::guarded([&] {
    std::vector<order::Ticket> pending;
    {
      const std::lock_guard lock(engine->lock());
      auto settled = engine->coherence().settle(engine->streams().id_of({stream, per_thread}));
      if (!settled.ok()) return engine->mover().last_failure();
      pending = std::move(settled).value();
      open_captures.fetch_add(1, std::memory_order_relaxed);
    }
    for (const order::Ticket& ticket : pending) {
      if (!engine->mover().finish(ticket).ok()) break;  // the capture's own error follows
    }
    const CUresult result = call<E>(stream, args...);
    if (result != CUDA_SUCCESS) open_captures.fetch_sub(1, std::memory_order_relaxed);
    return result;
  });
}

template <Entry E>
CUresult end_capture(CUstream stream, CUgraph* graph) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  const CUresult result = call<E>(stream, graph);
  // These leave a capture open, or say that there was none; any other answer ends it.
  const bool still_open = result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD || result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
                          result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_ILLEGAL_STATE || result == CUDA_ERROR_INVALID_HANDLE;
  if (engine != nullptr && !still_open && open_captures.load(std::memory_order_relaxed) != 0) {
    open_captures.fetch_sub(1, std::memory_order_relaxed);
  }
  return result;
}

// A memory operation of the stream: whoever else reads or writes the word has to find it at home.
template <Entry E, typename... Args>
CUresult memory_operation(StreamArgument stream, std::initializer_list<CUdeviceptr> addresses, Args... args) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return call<E>(args...);
  return hooks::guarded([&] {
    HomeCall scope(*engine, stream, {});
    scope.leaves_blocker(order::Blocker::waiting);
    {
      const std::lock_guard lock(engine->lock());
      for (const CUdeviceptr address : addresses) {
        if (!engine->coherence().keep_home(engine->streams().id_of(stream), address).ok()) return engine->mover().last_failure();
      }
    }
    return call<E>(args...);
  });
}

template <Entry E>
CUresult memory_operations(CUstream stream, bool per_thread, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr || list == nullptr) return call<E>(stream, count, list, flags);
  return hooks::guarded([&] {
    HomeCall scope(*engine, StreamArgument{stream, per_thread}, {});
    scope.leaves_blocker(order::Blocker::waiting);
    {
      const std::lock_guard lock(engine->lock());
      const auto id = engine->streams().id_of({stream, per_thread});
      for (unsigned i = 0; i < count; ++i) {
        // Every kind that has an address has it at the same place.
        if (!engine->coherence().keep_home(id, list[i].waitValue.address).ok()) return engine->mover().last_failure();
      }
    }
    return call<E>(stream, count, list, flags);
  });
}

}  // namespace

TESSERA_EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream) { return destroy<Entry::cuStreamDestroy>(stream); }
TESSERA_EXPORT CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) { return destroy<Entry::cuStreamDestroy_v2>(stream); }

TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCapture(CUstream q) { return begin_capture<Entry::cuStreamBeginCapture>(false, q); }
TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCapture_ptsz(CUstream q) { return begin_capture<Entry::cuStreamBeginCapture_ptsz>(true, q); }
TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream q, CUstreamCaptureMode mode) {
  return begin_capture<Entry::cuStreamBeginCapture_v2>(false, q, mode);
}
TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2_ptsz(CUstream q, CUstreamCaptureMode mode) {
  return begin_capture<Entry::cuStreamBeginCapture_v2_ptsz>(true, q, mode);
}
TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream q, CUgraph graph, const CUgraphNode* nodes,
                                                            const CUgraphEdgeData* data, std::size_t count, CUstreamCaptureMode mode) {
  return begin_capture<Entry::cuStreamBeginCaptureToGraph>(false, q, graph, nodes, data, count, mode);
}
TESSERA_EXPORT CUresult CUDAAPI cuStreamBeginCaptureToGraph_ptsz(CUstream q, CUgraph graph, const CUgraphNode* nodes,
                                                                 const CUgraphEdgeData* data, std::size_t count, CUstreamCaptureMode mode) {
  return begin_capture<Entry::cuStreamBeginCaptureToGraph_ptsz>(true, q, graph, nodes, data, count, mode);
}
TESSERA_EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream q, CUgraph* graph) { return end_capture<Entry::cuStreamEndCapture>(q, graph); }
TESSERA_EXPORT CUresult CUDAAPI cuStreamEndCapture_ptsz(CUstream q, CUgraph* graph) {
  return end_capture<Entry::cuStreamEndCapture_ptsz>(q, graph);
}

#define TESSERA_WAITING(ptsz, own)                                                                                               \
  TESSERA_EXPORT CUresult CUDAAPI cuLaunchHostFunc##ptsz(CUstream q, CUhostFn function, void* data) {                            \
    return hooks::waiting<Entry::cuLaunchHostFunc##ptsz>({q, own}, q, function, data);                                           \
  }                                                                                                                              \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamAddCallback##ptsz(CUstream q, CUstreamCallback function, void* data, unsigned flags) { \
    return hooks::waiting<Entry::cuStreamAddCallback##ptsz>({q, own}, q, function, data, flags);                                 \
  }                                                                                                                              \
  TESSERA_EXPORT CUresult CUDAAPI cuWaitExternalSemaphoresAsync##ptsz(                                                           \
      const CUexternalSemaphore* list, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params, unsigned count, CUstream q) {          \
    return hooks::waiting<Entry::cuWaitExternalSemaphoresAsync##ptsz>({q, own}, list, params, count, q);                         \
  }
TESSERA_WAITING(, false)
TESSERA_WAITING(_ptsz, true)
#undef TESSERA_WAITING

#define TESSERA_MEMORY_OPERATIONS(suffix, own)                                                                                             \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamWaitValue32##suffix(CUstream q, CUdeviceptr a, cuuint32_t v, unsigned flags) {                   \
    return memory_operation<Entry::cuStreamWaitValue32##suffix>({q, own}, {a}, q, a, v, flags);                                            \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamWaitValue64##suffix(CUstream q, CUdeviceptr a, cuuint64_t v, unsigned flags) {                   \
    return memory_operation<Entry::cuStreamWaitValue64##suffix>({q, own}, {a}, q, a, v, flags);                                            \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamWriteValue32##suffix(CUstream q, CUdeviceptr a, cuuint32_t v, unsigned flags) {                  \
    return memory_operation<Entry::cuStreamWriteValue32##suffix>({q, own}, {a}, q, a, v, flags);                                           \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamWriteValue64##suffix(CUstream q, CUdeviceptr a, cuuint64_t v, unsigned flags) {                  \
    return memory_operation<Entry::cuStreamWriteValue64##suffix>({q, own}, {a}, q, a, v, flags);                                           \
  }                                                                                                                                        \
  TESSERA_EXPORT CUresult CUDAAPI cuStreamBatchMemOp##suffix(CUstream q, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags) { \
    return memory_operations<Entry::cuStreamBatchMemOp##suffix>(q, own, count, list, flags);                                               \
  }
TESSERA_MEMORY_OPERATIONS(, false)
TESSERA_MEMORY_OPERATIONS(_ptsz, true)
TESSERA_MEMORY_OPERATIONS(_v2, false)
TESSERA_MEMORY_OPERATIONS(_v2_ptsz, true)
#undef TESSERA_MEMORY_OPERATIONS
