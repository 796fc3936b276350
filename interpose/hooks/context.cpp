// Contexts that end, with all that is in them.
#include "interpose/hooks/hook.h"

using namespace tessera;
using namespace tessera::interpose;

namespace {

// Nothing of ours may still read or write memory of a context that is about to go.
void finish_all(Engine& engine, CUcontext context) {
  std::vector<order::Ticket> users;
  {
    const std::lock_guard lock(engine.lock());
    users = engine.coherence().users_in(reinterpret_cast<coherence::ContextId>(context));
  }
  for (const order::Ticket& user : users) {
    if (!engine.mover().finish(user).ok()) break;
  }
}

void forget(Engine& engine, CUcontext context) {
  const std::lock_guard lock(engine.lock());
  engine.mover().context_gone(context);
  for (const order::StreamId stream : engine.streams().of_context(context)) {
    engine.coherence().streams().gone(stream);
    engine.mover().close(stream);
    engine.streams().forget(stream);
  }
  engine.coherence().context_gone(reinterpret_cast<coherence::ContextId>(context));
}

template <Entry E>
CUresult destroy(CUcontext context) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr || context == nullptr) return call<E>(context);
  return hooks::guarded([&] {
    finish_all(*engine, context);
    const CUresult result = call<E>(context);
    if (result == CUDA_SUCCESS) forget(*engine, context);
    return result;
  });
}

bool is_active(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  return call<Entry::cuDevicePrimaryCtxGetState>(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// The device's primary context if it is alive; the count of its users is as before.
CUcontext primary_of(CUdevice device) {
  CUcontext context = nullptr;
  if (!is_active(device) || call<Entry::cuDevicePrimaryCtxRetain>(&context, device) != CUDA_SUCCESS) return nullptr;
  call<Entry::cuDevicePrimaryCtxRelease_v2>(device);
  return context;
}

template <Entry E>
CUresult release_primary(CUdevice device) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return call<E>(device);
  return hooks::guarded([&] {
    const CUcontext context = primary_of(device);
    if (context != nullptr) finish_all(*engine, context);
    const CUresult result = call<E>(device);
    if (result == CUDA_SUCCESS && context != nullptr && !is_active(device)) forget(*engine, context);
    return result;
  });
}

// A reset takes the context from everybody who uses it, us included.
template <Entry E>
CUresult reset_primary(CUdevice device) noexcept {
  const Inside inside;
  Engine* engine = hooks::engine_for(inside);
  if (engine == nullptr) return call<E>(device);
  return hooks::guarded([&] {
    const CUcontext context = primary_of(device);
    if (context != nullptr) {
      std::vector<order::Ticket> pending;
      {
        const std::lock_guard lock(engine->lock());
        const bool helps = device < engine->helpers().count() && engine->helpers().existing_context(device) == context;
        if (helps) {
          auto settled = engine->coherence().settle(engine->streams().id_of({}));
          if (settled.ok()) pending = std::move(settled).value();
        }
      }
      for (const order::Ticket& ticket : pending) static_cast<void>(engine->mover().finish(ticket));
      finish_all(*engine, context);
    }
    const CUresult result = call<E>(device);
    if (result != CUDA_SUCCESS || context == nullptr) return result;
    {
      const std::lock_guard lock(engine->lock());
      if (engine->helpers().existing_context(device) == context) {
        engine->helpers().retire(device, "the program reset the GPU");
        engine->coherence().helper_gone(device);
      }
    }
    forget(*engine, context);
    return result;
  });
}

}  // namespace

TESSERA_EXPORT CUresult CUDAAPI cuCtxDestroy(CUcontext context) { return destroy<Entry::cuCtxDestroy>(context); }
TESSERA_EXPORT CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context) { return destroy<Entry::cuCtxDestroy_v2>(context); }
TESSERA_EXPORT CUresult CUDAAPI cuCtxDetach(CUcontext context) { return destroy<Entry::cuCtxDetach>(context); }
TESSERA_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary<Entry::cuDevicePrimaryCtxRelease>(device);
}
TESSERA_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary<Entry::cuDevicePrimaryCtxRelease_v2>(device);
}
TESSERA_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device) { return reset_primary<Entry::cuDevicePrimaryCtxReset>(device); }
TESSERA_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return reset_primary<Entry::cuDevicePrimaryCtxReset_v2>(device);
}
