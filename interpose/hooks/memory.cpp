// Plain device memory: its birth and death. Memory of other kinds isn't tracked (passthrough.def), and stays home.
#include "interpose/hooks/hook.h"

using namespace tessera;
using namespace tessera::interpose;

namespace {

void allocated(Engine& engine, CUdeviceptr address, std::size_t bytes) {
  hooks::guarded([&] {
    const CUcontext context = current_context();
    const int device = current_device();
    const std::lock_guard lock(engine.lock());
    engine.coherence().allocated({device, reinterpret_cast<coherence::ContextId>(context), address}, bytes);
    return CUDA_SUCCESS;
  });
}

// The program may free what redirected work of its own still uses: wait for that first, as the driver does for work at home.
template <typename Free>
CUresult release(CUdeviceptr address, Free make) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return make();
  return hooks::guarded([&] {
    std::vector<order::Ticket> users;
    {
      const std::lock_guard lock(engine->lock());
      users = engine->coherence().users_of(address);
    }
    for (const order::Ticket& user : users) {
      if (!engine->mover().finish(user).ok()) break;  // the driver will say so
    }
    coherence::AllocationRef freed;
    {
      const std::lock_guard lock(engine->lock());
      freed = engine->coherence().being_freed(address);
    }
    const CUresult result = make();
    const std::lock_guard lock(engine->lock());
    if (result == CUDA_SUCCESS) engine->coherence().freed(address, freed);
    return result;
  });
}

CUresult share(CUdeviceptr address) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return CUDA_SUCCESS;
  return hooks::guarded([&] {
    const std::lock_guard lock(engine->lock());
    const auto stream = engine->streams().id_of({});
    return engine->coherence().keep_home(stream, address).ok() ? CUDA_SUCCESS : engine->mover().last_failure();
  });
}

}  // namespace

TESSERA_EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  const CUresult result = call<Entry::cuMemAlloc_v2>(pointer, bytes);
  if (engine != nullptr && result == CUDA_SUCCESS) allocated(*engine, *pointer, bytes);
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                                                   unsigned element) {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  const CUresult result = call<Entry::cuMemAllocPitch_v2>(pointer, pitch, width, height, element);
  if (engine != nullptr && result == CUDA_SUCCESS) allocated(*engine, *pointer, *pitch * height);
  return result;
}

TESSERA_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr pointer) {
  return release(pointer, [&] { return call<Entry::cuMemFree_v2>(pointer); });
}
TESSERA_EXPORT CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return release(pointer, [&] { return call<Entry::cuMemFreeAsync>(pointer, stream); });
}
TESSERA_EXPORT CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return release(pointer, [&] { return call<Entry::cuMemFreeAsync_ptsz>(pointer, stream); });
}

// Another process, or a device of another kind, is about to see it.
TESSERA_EXPORT CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  const CUresult shared = share(pointer);
  return shared == CUDA_SUCCESS ? call<Entry::cuIpcGetMemHandle>(handle, pointer) : shared;
}
TESSERA_EXPORT CUresult CUDAAPI cuMemGetHandleForAddressRange(void* handle, CUdeviceptr pointer, std::size_t bytes,
                                                              CUmemRangeHandleType type, unsigned long long flags) {
  const CUresult shared = share(pointer);
  return shared == CUDA_SUCCESS ? call<Entry::cuMemGetHandleForAddressRange>(handle, pointer, bytes, type, flags) : shared;
}
