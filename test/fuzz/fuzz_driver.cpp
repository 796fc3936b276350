// Reads bytes as a sequence of calls to the simulated driver, with live, stale, null and made-up handles and pointers.
//
// Whatever the calls: nothing crashes, every code is one of the toolkit's, and when all that was made has been destroyed, all of the
// devices' memory is free again. Pointers to memory that a call reads or writes are always good, as the real driver would crash, too.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

const char* const kernels = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 word = 7;
.visible .entry store(.param .u64 out, .param .u64 value)
{
  .reg .b64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [value];
  and.b64 %rd3, %rd1, 7;
  setp.ne.u64 %p, %rd3, 0;
  @%p ret;
  setp.eq.u64 %p, %rd1, 0;
  @%p ret;
  st.global.u64 [%rd1], %rd2;
  ret;
}
.visible .entry nothing() { ret; }
)";

constexpr std::size_t elements = 64;  // of every array that a call may be told a count for

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_driver: %s\n", what);
  std::abort();
}

void check_code(CUresult code, const char* call) {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) == CUDA_SUCCESS && name != nullptr) return;
  std::fprintf(stderr, "fuzz_driver: %s answered %d\n", call, code);
  std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const { return left_ == 0; }
  std::uint8_t next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::size_t below(std::size_t n) { return next() % n; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// Every handle of one kind that a call has given, the destroyed ones too.
template <typename T>
struct Seen {
  std::vector<T> values;
};
template <typename T>
concept Handle =
    std::is_pointer_v<T> && !std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, void> &&
    !std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, char> && !std::is_function_v<std::remove_pointer_t<T>> && requires {
  sizeof(T);
}
&&(!requires { sizeof(std::remove_pointer_t<T>); });

class Session {
 public:
  explicit Session(Bytes& bytes) : bytes_(bytes) {
    seen<CUdeviceptr>().values = {0, 8, reinterpret_cast<CUdeviceptr>(host_)};
    for (auto*& f : dummies_) f = reinterpret_cast<void*>(host_);
  }

  template <typename... Parameters>
  void call(const char* name, CUresult (*function)(Parameters...)) {
    next_area_ = 0;
    for (std::size_t i = 0; i < elements; ++i) arguments_[i] = &values_[i];  // the last call may have written there
    std::tuple<Parameters...> arguments{make<Parameters>()...};
    for (std::size_t i = 0; i < 2; ++i) values_[i] = make<CUdeviceptr>();  // more than that, no kernel here has
    const CUresult code = std::apply(function, arguments);
    check_code(code, name);
    if (code != CUDA_SUCCESS) return;
    std::apply([&](auto... a) { (keep(a), ...); }, arguments);
  }

  template <typename T>
  Seen<T>& seen() {
    static Seen<T> all;
    return all;
  }
  template <typename T>
  void forget() {
    seen<T>().values.clear();
  }

 private:
  // An argument of each type that the calls have.
  template <typename T>
  T make() {
    using Pointed = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_same_v<T, CUdeviceptr>) {
      return device_pointer();
    } else if constexpr (Handle<T>) {
      return handle<T>();
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(bytes_.below(bytes_.below(4) == 0 ? 24 : 3));
    } else if constexpr (std::is_same_v<T, CUhostFn>) {
      return bytes_.below(8) == 0 ? nullptr : static_cast<CUhostFn>([](void*) {});
    } else if constexpr (std::is_integral_v<T>) {
      static constexpr T sizes[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 8, 16, elements};
      return sizes[bytes_.below(std::size(sizes))];
    } else if constexpr (std::is_same_v<T, void**>) {
      return bytes_.below(8) == 0 ? nullptr : arguments_.data();
    } else if constexpr (std::is_same_v<Pointed, void> || std::is_same_v<Pointed, char>) {
      return bytes_.below(16) == 0 ? nullptr : reinterpret_cast<T>(area());
    } else if constexpr (std::is_pointer_v<T>) {
      return array<T, Pointed>();
    } else {
      static_assert(sizeof(T) == 0, "a type that no argument is made for");
    }
  }

  CUdeviceptr device_pointer() {
    const auto& known = seen<CUdeviceptr>().values;
    const CUdeviceptr base = known[bytes_.below(known.size())];
    const std::size_t what = bytes_.below(8);
    return what == 7 ? base + bytes_.next() : what == 6 ? base + 4096 : base;
  }
  template <typename T>
  T handle() {
    const auto& known = seen<T>().values;
    const std::size_t what = bytes_.below(16);
    if (what == 0) return nullptr;
    if (what == 1 || known.empty()) return reinterpret_cast<T>(dummies_.data());
    if (what == 2) return known[bytes_.below(known.size())];
    return known[known.size() - 1 - bytes_.below(std::min<std::size_t>(known.size(), 4))];
  }
  // An array that is read or written: handles as they come, structures of small numbers, zeros.
  template <typename T, typename Pointed>
  T array() {
    if (bytes_.below(16) == 0) return nullptr;
    auto* place = reinterpret_cast<Pointed*>(area());
    static_assert(sizeof(Pointed) * elements <= area_bytes);
    if constexpr (Handle<Pointed>) {
      for (std::size_t i = 0; i < 4; ++i) place[i] = handle<Pointed>();
    } else if constexpr (std::is_same_v<Pointed, CUdeviceptr>) {
      place[0] = device_pointer();
    } else if constexpr (std::is_same_v<Pointed, CUDA_MEMCPY2D> || std::is_same_v<Pointed, CUDA_MEMCPY3D>) {
      fill_copy(*place);
    } else if constexpr (std::is_same_v<Pointed, CUDA_KERNEL_NODE_PARAMS>) {
      fill_kernel(*place);
    } else if constexpr (std::is_same_v<Pointed, CUDA_MEMSET_NODE_PARAMS>) {
      *place = {device_pointer(), make<size_t>(), make<unsigned>(), make<unsigned>(), make<size_t>(), make<size_t>()};
    } else if constexpr (std::is_same_v<Pointed, CUDA_HOST_NODE_PARAMS>) {
      *place = {make<CUhostFn>(), nullptr};
    } else if constexpr (std::is_same_v<Pointed, CUDA_MEM_ALLOC_NODE_PARAMS>) {
      place->poolProps.allocType = static_cast<CUmemAllocationType>(bytes_.below(3));
      place->poolProps.location = {static_cast<CUmemLocationType>(bytes_.below(3)), {static_cast<int>(bytes_.below(4))}};
      place->bytesize = make<size_t>();
    } else if constexpr (std::is_same_v<Pointed, CUmemPoolProps>) {
      place->allocType = static_cast<CUmemAllocationType>(bytes_.below(3));
      place->location = {static_cast<CUmemLocationType>(bytes_.below(3)), {static_cast<int>(bytes_.below(4))}};
      place->maxSize = bytes_.below(2) * 4096;
    } else if constexpr (std::is_same_v<Pointed, CUmemLocation>) {
      *place = {static_cast<CUmemLocationType>(bytes_.below(3)), {static_cast<int>(bytes_.below(4))}};
    } else if constexpr (std::is_same_v<Pointed, CUgraphNodeParams>) {
      fill_node(*place);
    } else if constexpr (std::is_integral_v<Pointed>) {
      place[0] = static_cast<Pointed>(bytes_.below(elements));
    }
    return place;
  }
  template <typename Copy>
  void fill_copy(Copy& p) {
    p.srcMemoryType = static_cast<CUmemorytype>(1 + bytes_.below(4));
    p.dstMemoryType = static_cast<CUmemorytype>(1 + bytes_.below(4));
    p.srcHost = host_;
    p.dstHost = host_ + sizeof host_ / 2;
    p.srcDevice = p.srcMemoryType == CU_MEMORYTYPE_UNIFIED ? allocated() : device_pointer();
    p.dstDevice = p.dstMemoryType == CU_MEMORYTYPE_UNIFIED ? allocated() : device_pointer();
    p.srcPitch = make<size_t>(), p.dstPitch = make<size_t>();
    p.srcXInBytes = bytes_.below(4), p.srcY = bytes_.below(4), p.dstXInBytes = bytes_.below(4), p.dstY = bytes_.below(4);
    p.WidthInBytes = make<size_t>(), p.Height = bytes_.below(9);
    if constexpr (std::is_same_v<Copy, CUDA_MEMCPY3D>) {
      p.srcHeight = bytes_.below(9), p.dstHeight = bytes_.below(9);
      p.srcZ = bytes_.below(3), p.dstZ = bytes_.below(3);
      p.Depth = bytes_.below(4);
    }
  }
  void fill_kernel(CUDA_KERNEL_NODE_PARAMS& p) {
    p.func = handle<CUfunction>();
    p.gridDimX = make<unsigned>(), p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = make<unsigned>(), p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = bytes_.below(8) == 0 ? nullptr : arguments_.data();
  }
  void fill_node(CUgraphNodeParams& p) {
    p.type = static_cast<CUgraphNodeType>(bytes_.below(16));
    if (p.type == CU_GRAPH_NODE_TYPE_KERNEL) {
      CUDA_KERNEL_NODE_PARAMS kernel{};
      fill_kernel(kernel);
      std::memcpy(&p.kernel, &kernel, sizeof kernel);
    } else if (p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
      const auto& known = seen<CUgraphConditionalHandle>().values;
      p.conditional.handle = known.empty() ? bytes_.next() : known.back();
      p.conditional.type = static_cast<CUgraphConditionalNodeType>(bytes_.below(4));
      p.conditional.size = make<unsigned>();
    } else if (p.type == CU_GRAPH_NODE_TYPE_MEMCPY) {
      fill_copy(p.memcpy.copyParams);
    } else if (p.type == CU_GRAPH_NODE_TYPE_GRAPH) {
      p.graph.graph = handle<CUgraph>();
    } else if (p.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
      p.free.dptr = device_pointer();
    }
  }
  // An address that isn't taken for pageable host memory, unless it is.
  CUdeviceptr allocated() {
    const CUdeviceptr p = device_pointer();
    return p >> 44 == 2 ? p : reinterpret_cast<CUdeviceptr>(host_);  // simulated devices have the addresses 0x2…
  }

  // Memory for one array, zeroed.
  std::uint8_t* area() {
    std::uint8_t* place = areas_[next_area_++ % std::size(areas_)];
    std::memset(place, 0, area_bytes);
    return place;
  }

  // What a call has given through a pointer is known from now on.
  template <typename T>
  void keep(T argument) {
    if constexpr (std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>) {
      using Pointed = std::remove_pointer_t<T>;
      if constexpr (Handle<Pointed>) {
        if (argument != nullptr && argument[0] != nullptr) seen<Pointed>().values.push_back(argument[0]);
      } else if constexpr (std::is_same_v<Pointed, CUdeviceptr>) {
        if (argument != nullptr) seen<CUdeviceptr>().values.push_back(argument[0]);
      } else if constexpr (std::is_same_v<Pointed, CUDA_MEM_ALLOC_NODE_PARAMS>) {
        if (argument != nullptr && argument->dptr != 0) seen<CUdeviceptr>().values.push_back(argument->dptr);
      }
    }
  }

  static constexpr std::size_t area_bytes = 64 * 1024;
  Bytes& bytes_;
  std::array<std::uint64_t, elements> values_{};
  std::array<void*, elements> arguments_{};
  std::array<void*, elements> dummies_{};
  std::size_t next_area_ = 0;
  alignas(64) static inline std::uint8_t host_[64 * 1024];
  alignas(64) static inline std::uint8_t areas_[12][area_bytes];
};

// Calls whose arguments would seldom be right together.
CUresult launch(CUfunction function, unsigned blocks, CUstream stream, void** params) {
  return cuLaunchKernel(function, blocks + 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}
CUresult launch_kernel(CUkernel kernel, unsigned blocks, CUstream stream) {
  return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), blocks + 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}
CUresult add_kernel(CUgraphNode* node, CUgraph graph, CUgraphNode after, CUfunction function, void** params) {
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = function;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = params;
  return cuGraphAddKernelNode(node, graph, &after, after == nullptr ? 0 : 1, &p);
}
CUresult set_exec_kernel(CUgraphExec exec, CUgraphNode node, CUfunction function, void** params) {
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = function;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = params;
  return cuGraphExecKernelNodeSetParams(exec, node, &p);
}
CUresult add_allocation(CUgraphNode* node, CUgraph graph, CUgraphNode after, CUdeviceptr* address) {
  if (address == nullptr) return CUDA_SUCCESS;
  CUDA_MEM_ALLOC_NODE_PARAMS p{};
  p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  p.bytesize = 64;
  const CUresult code = cuGraphAddMemAllocNode(node, graph, &after, after == nullptr ? 0 : 1, &p);
  *address = p.dptr;
  return code;
}
CUresult add_condition(CUgraphNode* node, CUgraph graph, unsigned value, CUgraph* body) {
  CUgraphConditionalHandle handle = 0;
  if (body == nullptr) return CUDA_SUCCESS;
  if (const CUresult bad = cuGraphConditionalHandleCreate(&handle, graph, nullptr, value % 2, CU_GRAPH_COND_ASSIGN_DEFAULT); bad != 0)
    return bad;
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  p.conditional.handle = handle;
  p.conditional.type = CU_GRAPH_COND_TYPE_IF;
  p.conditional.size = 1;
  const CUresult code = cuGraphAddNode(node, graph, nullptr, nullptr, 0, &p);
  if (code == CUDA_SUCCESS) *body = p.conditional.phGraph_out[0];
  return code;
}

// Virtual memory in pages of 2 MiB, so that the cleaning up finds them.
constexpr std::size_t page = std::size_t{2} << 20;
CUresult reserve_pages(CUdeviceptr* p) { return cuMemAddressReserve(p, 2 * page, 0, 0, 0); }
CUresult create_page(CUmemGenericAllocationHandle* handle, unsigned device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {static_cast<int>(device)}};
  return cuMemCreate(handle, page, &prop, 0);
}
CUresult map_page(CUdeviceptr p, unsigned second, CUmemGenericAllocationHandle handle) {
  return cuMemMap(p + second % 2 * page, page, 0, handle, 0);
}
CUresult allow_page(CUdeviceptr p, unsigned device, unsigned rights) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {static_cast<int>(device)}};
  access.flags = rights % 4 == 0 ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemSetAccess(p, page, &access, 1);
}
CUresult unmap_page(CUdeviceptr p) { return cuMemUnmap(p, page); }

using Call = void (*)(Session&);
#define DRIVER_CALL(name) [](Session& s) { s.call(#name, name); },
const Call calls[] = {DRIVER_CALL(launch) DRIVER_CALL(launch_kernel) DRIVER_CALL(add_kernel) DRIVER_CALL(set_exec_kernel)
                          DRIVER_CALL(add_allocation) DRIVER_CALL(add_condition) DRIVER_CALL(reserve_pages) DRIVER_CALL(create_page)
                              DRIVER_CALL(map_page) DRIVER_CALL(allow_page) DRIVER_CALL(unmap_page) DRIVER_CALL(cuMemRelease)
#include "test/fuzz/driver_calls.def"
};
#undef DRIVER_CALL

// Ends every capture, graph, pool and context that the session has left.
void clean_up(Session& s) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  (void)cuThreadExchangeStreamCaptureMode(&mode);
  for (const CUgraphExec exec : s.seen<CUgraphExec>().values) (void)cuGraphExecDestroy(exec);
  for (const CUcontext context : s.seen<CUcontext>().values) (void)cuCtxDestroy(context);
  for (int device = 0; device < 3; ++device) (void)cuDevicePrimaryCtxReset(device);
  for (const CUgraph graph : s.seen<CUgraph>().values) (void)cuGraphDestroy(graph);
  for (const CUlibrary library : s.seen<CUlibrary>().values) (void)cuLibraryUnload(library);
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  require(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS, "no context any more");
  for (const CUdeviceptr p : s.seen<CUdeviceptr>().values) {
    (void)cuMemFreeAsync(p, stream);  // what pools gave has no context
    (void)unmap_page(p), (void)unmap_page(p + page);
    while (cuMemRelease(p) == CUDA_SUCCESS) {
    }
  }
  require(cuCtxSynchronize() == CUDA_SUCCESS, "work that was ordered with nothing fails");
  for (const CUmemoryPool pool : s.seen<CUmemoryPool>().values) (void)cuMemPoolTrimTo(pool, 0);
  for (int device = 0; device < 3; ++device) {
    std::size_t free = 0, total = 0;
    require(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS, "no context any more");
    require(cuMemGetInfo(&free, &total) == CUDA_SUCCESS, "the memory can't be asked");
    if (free != total) std::fprintf(stderr, "device %d: %zu bytes left\n", device, total - free);
    require(free == total, "memory is left though all that was made is destroyed");
    (void)cuDevicePrimaryCtxReset(device);
  }
  s.forget<CUgraphExec>(), s.forget<CUcontext>(), s.forget<CUgraph>(), s.forget<CUlibrary>(), s.forget<CUmemoryPool>();
  s.forget<CUstream>(), s.forget<CUevent>(), s.forget<CUmodule>(), s.forget<CUfunction>(), s.forget<CUkernel>(), s.forget<CUgraphNode>();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Session s(bytes);
  require(cuInit(0) == CUDA_SUCCESS, "cuInit fails");
  const auto make_one = [&](auto*& handle, CUresult code) {
    require(code == CUDA_SUCCESS, "a call that must succeed in a new context doesn't");
    s.seen<std::remove_reference_t<decltype(handle)>>().values.push_back(handle);
  };
  // A context with one of everything.
  const auto begin = [&] {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    CUstream stream = nullptr, blocking = nullptr;
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    CUdeviceptr memory = 0;
    make_one(context, cuCtxCreate(&context, nullptr, 0, 0));
    make_one(module, cuModuleLoadData(&module, kernels));
    make_one(function, cuModuleGetFunction(&function, module, "store"));
    make_one(library, cuLibraryLoadData(&library, kernels, nullptr, nullptr, 0, nullptr, nullptr, 0));
    make_one(kernel, cuLibraryGetKernel(&kernel, library, "nothing"));
    make_one(blocking, cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    make_one(stream, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    make_one(event, cuEventCreate(&event, 0));
    make_one(graph, cuGraphCreate(&graph, 0));
    make_one(node, cuGraphAddEmptyNode(&node, graph, nullptr, 0));
    make_one(exec, cuGraphInstantiate(&exec, graph, 0));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;  // captures that go on forbid it otherwise
    require(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS && cuMemAlloc(&memory, 4096) == CUDA_SUCCESS, "no memory");
    (void)cuThreadExchangeStreamCaptureMode(&mode);
    s.seen<CUdeviceptr>().values.push_back(memory);
  };
  begin();
  for (int n = 0; n < 400 && !bytes.empty(); ++n) {
    calls[(bytes.next() * 256u + bytes.next()) % std::size(calls)](s);
    CUcontext current = nullptr;
    if (cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr || cuStreamGetFlags(nullptr, nullptr) > CUDA_ERROR_INVALID_VALUE)
      begin();  // none, or one that an error has spoiled
  }
  clean_up(s);
  return 0;
}
