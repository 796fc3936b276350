// Streams, events, host functions.
#include "tools/simgpu/libcudart/state.h"

using namespace tessera::simgpu::runtime;

namespace {
CUstream raw(cudaStream_t stream) { return reinterpret_cast<CUstream>(stream); }
CUevent raw(cudaEvent_t event) { return reinterpret_cast<CUevent>(event); }
}  // namespace

RUNTIME_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned int flags, int priority) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamCreateWithPriority(reinterpret_cast<CUstream*>(s), flags, priority); });
}
RUNTIME_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned int flags) RUNTIME_NOEXCEPT {
  return cudaStreamCreateWithPriority(s, flags, 0);
}
RUNTIME_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* s) RUNTIME_NOEXCEPT { return cudaStreamCreateWithPriority(s, 0, 0); }
RUNTIME_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t s) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamDestroy(raw(s)); });
}
RUNTIME_EXPORT cudaError_t cudaStreamQuery(cudaStream_t s) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamQuery(raw(s)); });
}
RUNTIME_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t s) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamSynchronize(raw(s)); });
}
RUNTIME_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamWaitEvent(raw(s), raw(e), flags); });
}
RUNTIME_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned int* flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamGetFlags(raw(s), flags); });
}
RUNTIME_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t s, int* priority) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamGetPriority(raw(s), priority); });
}
RUNTIME_EXPORT cudaError_t cudaStreamGetId(cudaStream_t s, unsigned long long* id) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamGetId(raw(s), id); });
}
RUNTIME_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t s, int* device) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuStreamGetDevice(raw(s), device); });
}
RUNTIME_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return d.cuStreamIsCapturing(raw(s), reinterpret_cast<CUstreamCaptureStatus*>(status)); });
}
RUNTIME_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return d.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)); });
}
RUNTIME_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t function, void* data) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuLaunchHostFunc(raw(s), function, data); });
}
RUNTIME_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t callback, void* data,
                                                 unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context(
      [&](const DriverTable& d) { return d.cuStreamAddCallback(raw(s), reinterpret_cast<CUstreamCallback>(callback), data, flags); });
}

RUNTIME_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventCreate(reinterpret_cast<CUevent*>(e), flags); });
}
RUNTIME_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* e) RUNTIME_NOEXCEPT { return cudaEventCreateWithFlags(e, 0); }
RUNTIME_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t e) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventDestroy(raw(e)); });
}
RUNTIME_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned int flags) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventRecordWithFlags(raw(e), raw(s), flags); });
}
RUNTIME_EXPORT cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) RUNTIME_NOEXCEPT { return cudaEventRecordWithFlags(e, s, 0); }
RUNTIME_EXPORT cudaError_t cudaEventQuery(cudaEvent_t e) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventQuery(raw(e)); });
}
RUNTIME_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t e) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventSynchronize(raw(e)); });
}
RUNTIME_EXPORT cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) RUNTIME_NOEXCEPT {
  return with_context([&](const DriverTable& d) { return d.cuEventElapsedTime(ms, raw(a), raw(b)); });
}
