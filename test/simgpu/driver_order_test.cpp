// The order in which the simulated driver runs what a program queued: any order that streams and events allow gives the same bytes, and
// what they don't order shows.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

extern "C" long long tessera_sim_races();

namespace {

using tessera::simgpu::Random;
using tessera::test::in_child;

// out[i] = 3 × out[i] + in[i]; writes depend on the order, so every swapped pair shows.
const char* const mix_ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry mix(.param .u64 out, .param .u64 in)
{
  .reg .b64 %rd<6>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.global.u32 %r7, [%rd5];
  mad.lo.u32 %r6, %r7, 3, %r6;
  st.global.u32 [%rd5], %r6;
  ret;
}
.visible .entry ticket(.param .u64 counter, .param .u64 out)
{
  .reg .b64 %rd<6>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [out];
  mov.u32 %r2, %ctaid.x;
  atom.global.add.u32 %r3, [%rd1], 1;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r3;
  ret;
}
.visible .entry look_back(.param .u64 flags)
{
  .reg .b64 %rd<6>;
  .reg .b32 %r<8>;
  .reg .pred %p;
  ld.param.u64 %rd1, [flags];
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
AGAIN:
  ld.acquire.gpu.global.u32 %r3, [%rd4];
  setp.eq.u32 %p, %r3, 0;
  @%p bra AGAIN;
  add.u32 %r3, %r3, 1;
  st.release.gpu.global.u32 [%rd4+4], %r3;
  ret;
}
)";

constexpr unsigned threads = 64, ctas = 4, count = threads * ctas;

// A context with the kernels, in a child process: nothing is given back.
struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction mix = nullptr, ticket = nullptr, look_back = nullptr;
  Gpu() {
    cuInit(0);
    cuCtxCreate(&context, nullptr, 0, 0);
    cuModuleLoadData(&module, mix_ptx);
    cuModuleGetFunction(&mix, module, "mix");
    cuModuleGetFunction(&ticket, module, "ticket");
    cuModuleGetFunction(&look_back, module, "look_back");
  }
  CUdeviceptr buffer(unsigned value) const {
    CUdeviceptr p = 0;
    cuMemAlloc(&p, count * 4);
    cuMemsetD32(p, value, count);
    cuCtxSynchronize();
    return p;
  }
  void launch_mix(CUdeviceptr out, CUdeviceptr in, CUstream stream) const {
    void* params[] = {&out, &in};
    cuLaunchKernel(mix, ctas, 1, 1, threads, 1, 1, 0, stream, params, nullptr);
  }
  void launch(CUfunction f, unsigned blocks, std::vector<CUdeviceptr> arguments, CUstream stream) const {
    std::vector<void*> params;
    for (CUdeviceptr& a : arguments) params.push_back(&a);
    cuLaunchKernel(f, blocks, 1, 1, 1, 1, 1, 0, stream, params.data(), nullptr);
  }
};

std::string words(CUdeviceptr p, unsigned n = count) {
  std::vector<unsigned> values(n);
  const CUresult code = cuMemcpyDtoH(values.data(), p, n * 4);
  return code == CUDA_SUCCESS ? std::string(reinterpret_cast<const char*>(values.data()), n * 4) : "error " + std::to_string(code);
}

std::map<std::string, std::string> order(std::uint64_t seed) { return {{"TESSERA_SIM_ORDER", std::to_string(seed)}}; }

// A random program over some buffers and streams in which every pair of conflicting operations is ordered by an event; with `forget`, about
// three waits in four are left out.
std::string random_program(std::uint64_t program, bool forget) {
  const Gpu gpu;
  Random random(program);
  constexpr std::size_t buffers = 4, streams = 3, operations = 24;
  std::vector<CUdeviceptr> buffer;
  for (unsigned i = 0; i < buffers; ++i) buffer.push_back(gpu.buffer(i + 1));
  std::vector<CUstream> stream(streams);
  for (CUstream& s : stream) cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
  std::vector<std::vector<CUevent>> touched(buffers);  // events of all operations that touched it
  for (std::size_t n = 0; n < operations; ++n) {
    const std::size_t out = random.below(buffers), in = (out + 1 + random.below(buffers - 1)) % buffers;
    CUstream s = stream[random.below(streams)];
    for (const std::size_t b : {out, in}) {
      for (CUevent e : touched[b]) {
        if (!forget || random.once_in(4)) cuStreamWaitEvent(s, e, 0);
      }
    }
    if (random.once_in(4))
      cuMemcpyDtoDAsync(buffer[out], buffer[in], count * 2, s);
    else
      gpu.launch_mix(buffer[out], buffer[in], s);
    CUevent e = nullptr;
    cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    cuEventRecord(e, s);
    touched[out].push_back(e);
    touched[in].push_back(e);
  }
  cuCtxSynchronize();
  std::string all;
  for (CUdeviceptr b : buffer) all += words(b);
  return all;
}

}  // namespace

TEST_CASE("a program that orders what conflicts gives the same bytes in any order") {
  for (std::uint64_t program = 1; program <= 4; ++program) {
    const std::string expected = in_child({}, [&] { return random_program(program, false); });
    REQUIRE(expected.size() == 4 * count * 4);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      INFO("program " << program << ", order " << seed);
      CHECK((in_child(order(seed), [&] { return random_program(program, false); }) == expected));
    }
  }
}

TEST_CASE("a missing dependency shows as different bytes, the same ones for the same seed") {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const std::string first = in_child(order(seed), [] { return random_program(7, true); });
    CHECK((in_child(order(seed), [] { return random_program(7, true); }) == first));
    outcomes.insert(first);
  }
  CHECK(outcomes.size() > 1);
}

TEST_CASE("the legacy default stream orders blocking streams, and leaves out those that don't block") {
  const auto program = [](unsigned flags) {
    const Gpu gpu;
    CUdeviceptr a = gpu.buffer(1), b = gpu.buffer(2), c = gpu.buffer(5);
    CUstream one = nullptr, two = nullptr;
    cuStreamCreate(&one, flags);
    cuStreamCreate(&two, flags);
    gpu.launch_mix(a, b, one);
    gpu.launch_mix(b, a, nullptr);
    gpu.launch_mix(a, c, two);
    gpu.launch_mix(c, b, two);
    cuCtxSynchronize();
    return words(a) + words(b) + words(c);
  };
  const std::string expected = in_child({}, [&] { return program(CU_STREAM_DEFAULT); });
  std::set<std::string> loose;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CHECK((in_child(order(seed), [&] { return program(CU_STREAM_DEFAULT); }) == expected));
    loose.insert(in_child(order(seed), [&] { return program(CU_STREAM_NON_BLOCKING); }));
  }
  CHECK(loose.size() > 1);
}

TEST_CASE("blocks of one kernel run in an order that the seed picks") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    orders.insert(in_child(order(seed), [] {
      const Gpu gpu;
      CUdeviceptr counter = gpu.buffer(0), out = gpu.buffer(0);
      gpu.launch(gpu.ticket, 64, {counter, out}, nullptr);
      return words(out, 64);
    }));
  }
  CHECK(orders.size() > 1);
}

TEST_CASE("a block that waits for one that hasn't begun makes progress in any order") {
  for (std::uint64_t seed = 0; seed <= 4; ++seed) {
    const std::string last = in_child(seed == 0 ? std::map<std::string, std::string>{} : order(seed), [] {
      const Gpu gpu;
      CUdeviceptr flags = gpu.buffer(0);
      cuMemsetD32(flags, 1, 1);
      gpu.launch(gpu.look_back, 40, {flags}, nullptr);
      unsigned value = 0;
      cuMemcpyDtoH(&value, flags + 160, 4);
      return std::to_string(value);
    });
    CHECK(last == "41");
  }
}

TEST_CASE("asynchronous copies read pinned memory when they run and pageable memory when they are called") {
  std::set<std::string> pinned_seen;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::string answer = in_child(order(seed), [] {
      const Gpu gpu;
      CUdeviceptr a = gpu.buffer(0), b = gpu.buffer(0);
      CUstream stream = nullptr;
      cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
      void* pinned = nullptr;
      cuMemAllocHost(&pinned, 4);
      unsigned pageable = 1, got[2] = {};
      *static_cast<unsigned*>(pinned) = 1;
      cuMemcpyHtoDAsync(a, pinned, 4, stream);
      cuMemcpyHtoDAsync(b, &pageable, 4, stream);
      *static_cast<unsigned*>(pinned) = 2;
      pageable = 2;
      cuMemcpyDtoHAsync(&got[1], b, 4, stream);  // pageable: complete when it returns
      const unsigned at_once = got[1];
      cuMemcpyDtoHAsync(&got[0], a, 4, stream);
      cuStreamSynchronize(stream);
      return std::to_string(got[0]) + " " + std::to_string(at_once);
    });
    CHECK(answer.substr(2) == "1");
    pinned_seen.insert(answer.substr(0, 1));
  }
  CHECK(pinned_seen == std::set<std::string>{"1", "2"});
}

TEST_CASE("asking again and again whether an event has come is answered at last, and times are known only then") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CHECK(in_child(order(seed), [] {
            const Gpu gpu;
            CUdeviceptr a = gpu.buffer(1), b = gpu.buffer(1);
            CUevent begin = nullptr, end = nullptr;
            cuEventCreate(&begin, 0);
            cuEventCreate(&end, 0);
            cuEventRecord(begin, nullptr);
            for (int i = 0; i < 50; ++i) gpu.launch_mix(a, b, nullptr);
            cuEventRecord(end, nullptr);
            float ms = 0;
            if (cuEventElapsedTime(&ms, begin, end) != CUDA_ERROR_NOT_READY) return std::string("known too early");
            CUresult code;
            int asked = 0;
            while ((code = cuEventQuery(end)) == CUDA_ERROR_NOT_READY) ++asked;
            if (code != CUDA_SUCCESS || asked == 0) return "query " + std::to_string(code);
            return std::string(cuEventElapsedTime(&ms, begin, end) == CUDA_SUCCESS && ms > 0 ? "fine" : "no time");
          }) == "fine");
  }
}

TEST_CASE("host functions run in stream order, without the driver's lock, and may not call the driver") {
  for (std::uint64_t seed = 0; seed <= 4; ++seed) {
    CHECK(in_child(seed == 0 ? std::map<std::string, std::string>{} : order(seed), [] {
            const Gpu gpu;
            struct Seen {
              unsigned* value;
              unsigned at_call = 0;
              CUresult inside = CUDA_SUCCESS;
              std::atomic<bool> other_done{false};
            } seen;
            void* pinned = nullptr;
            cuMemAllocHost(&pinned, 4);
            seen.value = static_cast<unsigned*>(pinned);
            CUdeviceptr a = gpu.buffer(0);
            CUstream stream = nullptr;
            cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            cuMemsetD32Async(a, 42, 1, stream);
            cuMemcpyDtoHAsync(pinned, a, 4, stream);
            std::thread other([&] {
              cuCtxSetCurrent(gpu.context);
              CUdeviceptr p = 0;
              cuMemAlloc(&p, 16);
              seen.other_done = true;
            });
            cuLaunchHostFunc(
                stream,
                [](void* data) {
                  auto& s = *static_cast<Seen*>(data);
                  s.at_call = *s.value;
                  CUdeviceptr p = 0;
                  s.inside = cuMemAlloc(&p, 4);
                  while (!s.other_done) std::this_thread::yield();  // another thread can use the driver meanwhile
                },
                &seen);
            cuStreamSynchronize(stream);
            other.join();
            return std::to_string(seen.at_call) + " " + std::to_string(seen.inside);
          }) == "42 800");
  }
}

TEST_CASE("a stream waits for a value that another one, or the host, writes") {
  for (std::uint64_t seed = 0; seed <= 4; ++seed) {
    CHECK(in_child(seed == 0 ? std::map<std::string, std::string>{} : order(seed), [] {
            const Gpu gpu;
            CUdeviceptr flag = gpu.buffer(0), a = gpu.buffer(1), b = gpu.buffer(2);
            CUstream one = nullptr, two = nullptr;
            cuStreamCreate(&one, CU_STREAM_NON_BLOCKING);
            cuStreamCreate(&two, CU_STREAM_NON_BLOCKING);
            cuStreamWaitValue32(one, flag, 5, CU_STREAM_WAIT_VALUE_GEQ);
            gpu.launch_mix(a, b, one);  // behind the wait
            gpu.launch_mix(b, a, two);  // a is still 1
            cuStreamWriteValue32(two, flag, 6, 0);
            cuStreamSynchronize(one);
            cuStreamSynchronize(two);
            unsigned got[2] = {};
            cuMemcpyDtoH(&got[0], a, 4);
            cuMemcpyDtoH(&got[1], b, 4);
            return std::to_string(got[0]) + " " + std::to_string(got[1]);
          }) == "10 7");
  }
}

TEST_CASE("races are found in every order, and none where everything that conflicts is ordered") {
  const auto races = [](std::uint64_t program, bool forget) {
    random_program(program, forget);
    return std::to_string(tessera_sim_races());
  };
  CHECK(in_child({}, [&] { return races(1, false); }) == "-1");
  for (std::uint64_t seed = 0; seed <= 4; ++seed) {
    std::map<std::string, std::string> environment{{"TESSERA_SIM_RACES", "1"}, {"TESSERA_LOG", "off"}};
    if (seed != 0) environment["TESSERA_SIM_ORDER"] = std::to_string(seed);
    CHECK(in_child(environment, [&] { return races(seed, false); }) == "0");
    CHECK(std::stoi(in_child(environment, [&] { return races(7, true); })) > 0);
  }
}

TEST_CASE("what a launch touched is written byte for byte") {
  char path[] = "/tmp/tessera-touched-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  close(file);
  const std::string bases = in_child({{"TESSERA_SIM_TOUCHED", path}}, [] {
    const Gpu gpu;
    CUdeviceptr a = gpu.buffer(1), b = gpu.buffer(2), from = b + 256;
    void* params[] = {&a, &from};
    cuLaunchKernel(gpu.mix, 3, 1, 1, threads, 1, 1, 0, nullptr, params, nullptr);
    cuCtxSynchronize();
    return std::to_string(a) + " " + std::to_string(b);
  });
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  unlink(path);
  const std::string a = bases.substr(0, bases.find(' ')), b = bases.substr(bases.find(' ') + 1);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK_THAT(
      text, Catch::Contains(R"("kernel":"mix","grid":[3,1,1],"block":[64,1,1],"ranges":[{"allocation":)" + a +
                            R"(,"allocation_bytes":1024,"offset":0,"bytes":768,"read":true,"written":true,"atomic":false},{"allocation":)" +
                            b + R"(,"allocation_bytes":1024,"offset":256,"bytes":768,"read":true,"written":false,"atomic":false}]})"));
}

TEST_CASE("a bad order is refused when the driver starts") {
  CHECK(in_child({{"TESSERA_SIM_ORDER", "sideways"}}, [] { return std::to_string(cuInit(0)); }) == std::to_string(CUDA_ERROR_NO_DEVICE));
}
