// Peer access: what the modes allow, whose memory kernels then touch, and how lying peers show.
#include <string>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"

namespace {

using namespace tessera::test;

// The codes of a program that has device 0 mix with a buffer of device 1, before and after it enables the access, and what it then reads.
std::string mix_with_peer() {
  GraphMachine m;
  std::string text;
  const auto say = [&](auto value) { text += std::to_string(value) + " "; };
  CUcontext other = nullptr;
  int can = -1, attribute = -1;
  ok(cuDeviceCanAccessPeer(&can, 0, 1));
  ok(cuDeviceGetP2PAttribute(&attribute, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  say(can);
  say(attribute);
  ok(cuCtxCreate(&other, nullptr, 0, 1));
  const CUdeviceptr theirs = GraphMachine::buffer(5);
  ok(cuCtxSynchronize());
  ok(cuCtxSetCurrent(m.context));
  const CUdeviceptr ours = GraphMachine::buffer(1);
  say(cuCtxEnablePeerAccess(other, 0));
  if (can == 1) {
    say(cuCtxEnablePeerAccess(other, 0));
    m.launch_mix(ours, theirs, m.stream);
    say(GraphMachine::one(ours));
    say(cuCtxDisablePeerAccess(other));
  }
  say(cuCtxDisablePeerAccess(other));
  m.launch_mix(ours, theirs, m.stream);
  say(cuCtxSynchronize());
  return text;
}

// How many bytes of a copy from device to device arrive wrong, without the access and with it.
std::string wrong_bytes() {
  GraphMachine m;
  constexpr std::size_t bytes = std::size_t{1} << 20;
  CUcontext other = nullptr;
  CUdeviceptr ours = 0, theirs = 0;
  ok(cuMemAlloc(&ours, bytes));
  ok(cuCtxCreate(&other, nullptr, 0, 1));
  ok(cuMemAlloc(&theirs, bytes));
  ok(cuMemsetD8(theirs, 7, bytes));
  ok(cuCtxSynchronize());
  ok(cuCtxSetCurrent(m.context));
  std::string text;
  for (const bool enabled : {false, true}) {
    if (enabled) (void)cuCtxEnablePeerAccess(other, 0);
    std::vector<unsigned char> got(bytes);
    ok(cuMemcpyPeer(ours, m.context, theirs, other, bytes));
    ok(cuMemcpyDtoH(got.data(), ours, bytes));
    std::size_t wrong = 0;
    for (const unsigned char b : got) wrong += b == 7 ? 0u : 1u;
    text += std::to_string(wrong) + " ";
  }
  return text;
}

std::string code(CUresult result) { return std::to_string(result) + " "; }

}  // namespace

TEST_CASE("peers: kernels touch a peer's memory while its access is enabled, and only then") {
  const std::string fault = code(CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::string none = "0 0 " + code(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) + code(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) + fault;
  CHECK(in_child({}, mix_with_peer) == none);
  CHECK(in_child({{"TESSERA_SIM_PEERS", "none"}}, mix_with_peer) == none);
  const std::string all = "1 1 " + code(CUDA_SUCCESS) + code(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) + "8 " + code(CUDA_SUCCESS) +
                          code(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) + fault;
  CHECK(in_child({{"TESSERA_SIM_PEERS", "all"}}, mix_with_peer) == all);
  CHECK(in_child({{"TESSERA_SIM_PEERS", "lying"}}, mix_with_peer) == all);
}

TEST_CASE("peers: lying ones spoil what is copied directly, and nothing else") {
  CHECK(in_child({{"TESSERA_SIM_PEERS", "none"}}, wrong_bytes) == "0 0 ");
  CHECK(in_child({{"TESSERA_SIM_PEERS", "all"}}, wrong_bytes) == "0 0 ");
  CHECK(in_child({{"TESSERA_SIM_PEERS", "lying"}}, wrong_bytes) == "0 37 ");  // of 256 pages, every seventh
}

TEST_CASE("peers: an unknown mode leaves no device") {
  CHECK(in_child({{"TESSERA_SIM_PEERS", "some"}}, [] { return code(cuInit(0)); }) == code(CUDA_ERROR_NO_DEVICE));
}

TEST_CASE("peers: wrong handles and devices answer a code") {
  const GraphMachine m;
  int value = 0;
  CHECK(cuCtxEnablePeerAccess(m.context, 0) == CUDA_ERROR_INVALID_CONTEXT);  // its own device
  CHECK(cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuDeviceCanAccessPeer(&value, 0, 9) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceCanAccessPeer(nullptr, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0) == CUDA_ERROR_INVALID_DEVICE);
}
