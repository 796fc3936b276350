// The program's streams by identity: handles are recycled, and the default streams have one handle for many streams.
//
// Invariant: an id is given to one stream only, ever. A legacy default stream is one for each context, a per-thread default stream
// one for each thread and context. Ownership: handles stay the program's. Threads: callers hold the engine's lock.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "interpose/order/ticket.h"
#include "interpose/resolve/cuda_api.h"

namespace tessera::interpose {

// A stream as the program names it in a call.
struct StreamArgument {
  CUstream handle = nullptr;
  bool null_is_per_thread = false;  // the call is of the _ptds / _ptsz kind
};

struct StreamInfo {
  CUstream handle = nullptr;  // CU_STREAM_LEGACY and CU_STREAM_PER_THREAD where null stood
  CUcontext context = nullptr;
  std::uint64_t thread = 0;  // the only one that can name it; 0 = any
};

// Identity of the calling thread; unlike the kernel's thread ids it is never reused.
[[nodiscard]] std::uint64_t this_thread();

class Streams {
 public:
  // Known, or met for the first time.
  [[nodiscard]] order::StreamId id_of(StreamArgument stream);
  // Known already, or nothing.
  [[nodiscard]] std::optional<order::StreamId> known(StreamArgument stream);
  [[nodiscard]] const StreamInfo* info(order::StreamId id) const;
  void forget(order::StreamId id);
  [[nodiscard]] std::vector<order::StreamId> of_context(CUcontext context) const;

 private:
  using Key = std::tuple<CUcontext, CUstream, std::uint64_t>;
  [[nodiscard]] static Key key_of(StreamArgument stream, StreamInfo& info);

  order::StreamId next_ = 1;
  std::map<Key, order::StreamId> ids_;
  std::map<order::StreamId, StreamInfo> infos_;
};

}  // namespace tessera::interpose
