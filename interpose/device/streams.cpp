#include "interpose/device/streams.h"

#include <atomic>

#include "interpose/resolve/real.h"

namespace tessera::interpose {
namespace {

CUcontext context_now() {
  CUcontext context = nullptr;
  call<Entry::cuCtxGetCurrent>(&context);
  return context;
}

}  // namespace

std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

Streams::Key Streams::key_of(StreamArgument stream, StreamInfo& info) {
  info.handle = stream.handle;
  if (stream.handle == nullptr) info.handle = stream.null_is_per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  info.thread = info.handle == CU_STREAM_PER_THREAD ? this_thread() : 0;
  if (info.handle != CU_STREAM_PER_THREAD && info.handle != CU_STREAM_LEGACY) return {nullptr, info.handle, 0};
  info.context = context_now();
  return {info.context, info.handle, info.thread};
}

std::optional<order::StreamId> Streams::known(StreamArgument stream) {
  StreamInfo info;
  const auto found = ids_.find(key_of(stream, info));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

order::StreamId Streams::id_of(StreamArgument stream) {
  StreamInfo info;
  const Key key = key_of(stream, info);
  const auto [entry, is_new] = ids_.try_emplace(key, next_);
  if (!is_new) return entry->second;
  if (info.context == nullptr && call<Entry::cuStreamGetCtx>(info.handle, &info.context) != CUDA_SUCCESS) info.context = context_now();
  infos_[next_] = info;
  return next_++;
}

const StreamInfo* Streams::info(order::StreamId id) const {
  const auto found = infos_.find(id);
  return found == infos_.end() ? nullptr : &found->second;
}

void Streams::forget(order::StreamId id) {
  infos_.erase(id);
  std::erase_if(ids_, [&](const auto& entry) { return entry.second == id; });
}

std::vector<order::StreamId> Streams::of_context(CUcontext context) const {
  std::vector<order::StreamId> found;
  for (const auto& [id, info] : infos_) {
    if (info.context == context) found.push_back(id);
  }
  return found;
}

}  // namespace tessera::interpose
