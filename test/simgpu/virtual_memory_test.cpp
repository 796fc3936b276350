// Virtual memory management: what is mapped where, who may touch it, and what is given back.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "test/simgpu/graph_fixture.h"
#include "test/simgpu/in_child.h"
#include "tools/simgpu/machine/random.h"

namespace {

using namespace tessera::test;
using tessera::simgpu::Random;

constexpr std::size_t page = std::size_t{2} << 20;

CUmemAllocationProp prop_of(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}
CUmemGenericAllocationHandle create(std::size_t size, int device = 0) {
  const CUmemAllocationProp prop = prop_of(device);
  CUmemGenericAllocationHandle handle = 0;
  ok(cuMemCreate(&handle, size, &prop, 0));
  return handle;
}
CUdeviceptr reserve(std::size_t size) {
  CUdeviceptr p = 0;
  ok(cuMemAddressReserve(&p, size, 0, 0, 0));
  return p;
}
CUresult allow(CUdeviceptr p, std::size_t size, int device, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  access.flags = flags;
  return cuMemSetAccess(p, size, &access, 1);
}
std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  ok(cuMemGetInfo(&free, &total));
  return free;
}

// The codes of a launch on device 0 that reads memory of device 1, mapped; before and after device 0 has got the access.
std::string foreign_memory() {
  GraphMachine m;
  const CUdeviceptr ours = GraphMachine::buffer(1), theirs = reserve(page);
  ok(cuMemMap(theirs, page, 0, create(page, 1), 0));
  ok(allow(theirs, page, 1));
  ok(cuMemsetD32(theirs, 5, GraphMachine::count));
  const CUresult allowed = allow(theirs, page, 0);
  m.launch_mix(ours, theirs, m.stream);
  const CUresult code = cuStreamSynchronize(m.stream);
  std::string text = std::to_string(allowed) + " " + std::to_string(code);
  if (code == CUDA_SUCCESS) text += " " + std::to_string(GraphMachine::one(ours));
  return text;
}

// A child process that imports what it gets through the socket, adds 1 to the first word, and ends with the word.
std::string import_in_child(int socket) {
  return in_child({}, [socket] {
    GraphMachine m;
    int file = -1;
    char byte = 0, control[CMSG_SPACE(sizeof file)];
    iovec data{&byte, 1};
    msghdr message{};
    message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control, message.msg_controllen = sizeof control;
    if (recvmsg(socket, &message, 0) != 1) return std::string("nothing received");
    std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    CUmemGenericAllocationHandle handle = 0;
    ok(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    const CUdeviceptr p = reserve(page);
    ok(cuMemMap(p, page, 0, handle, 0));
    ok(allow(p, page, 0));
    const std::vector<unsigned> before = GraphMachine::read(p, 1);
    ok(cuMemsetD32(p, before[0] + 1, 1));
    ok(cuCtxSynchronize());
    return std::to_string(before[0]);
  });
}
void send_file(int socket, int file) {
  char byte = 0, control[CMSG_SPACE(sizeof file)] = {};
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  REQUIRE(sendmsg(socket, &message, 0) == 1);
}

}  // namespace

TEST_CASE("virtual memory: another device touches it only with access, which peers alone get") {
  CHECK(in_child({{"TESSERA_SIM_PEERS", "none"}}, foreign_memory) == "101 700");
  CHECK(in_child({{"TESSERA_SIM_PEERS", "all"}}, foreign_memory) == "0 0 8");
}

TEST_CASE("virtual memory: another process maps the same bytes through a file descriptor") {
  int sockets[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const std::string ours = in_child({}, [&] {
    // The exporting process is a child, too, so that both begin with a fresh driver.
    const pid_t other = fork();
    if (other == 0) {
      const std::string text = import_in_child(sockets[1]);
      _exit(text == "41" ? 0 : 1);
    }
    GraphMachine m;
    const CUdeviceptr p = reserve(page);
    const CUmemGenericAllocationHandle handle = create(page);
    ok(cuMemMap(p, page, 0, handle, 0));
    ok(allow(p, page, 0));
    ok(cuMemsetD32(p, 41, 1));
    ok(cuCtxSynchronize());
    int file = -1, status = -1;
    ok(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_file(sockets[0], file);
    waitpid(other, &status, 0);
    return std::to_string(status) + " " + std::to_string(GraphMachine::read(p, 1)[0]);
  });
  CHECK(ours == "0 42");
}

TEST_CASE("virtual memory: random mappings hold what was written, count on their device, and go without a rest") {
  GraphMachine m;
  Random random(11);
  const std::size_t all = free_bytes();
  constexpr std::size_t slots = 8;
  const CUdeviceptr base = reserve(slots * page);
  std::map<std::size_t, unsigned> mapped;  // slot → the value of every word
  for (int step = 0; step < 200; ++step) {
    const std::size_t slot = random.below(slots);
    const CUdeviceptr p = base + slot * page;
    if (mapped.count(slot) == 0) {
      const CUmemGenericAllocationHandle handle = create(page);
      CHECK(cuMemsetD32(p, 1, 4) == CUDA_ERROR_INVALID_VALUE);  // nothing there
      ok(cuMemMap(p, page, 0, handle, 0));
      CHECK(cuMemMap(p, page, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
      CHECK(cuMemsetD32(p, 1, 4) == CUDA_ERROR_INVALID_VALUE);  // no access yet
      ok(cuMemRelease(handle));                                 // the mapping keeps it
      ok(allow(p, page, 0));
      mapped[slot] = static_cast<unsigned>(step);
      ok(cuMemsetD32(p, mapped[slot], page / 4));
    } else if (random.below(2) == 0) {
      ok(cuMemUnmap(p, page));
      mapped.erase(slot);
    } else {
      const std::vector<unsigned> got = GraphMachine::read(p, page / 4);
      CHECK(std::count(got.begin(), got.end(), mapped[slot]) == static_cast<std::ptrdiff_t>(got.size()));
    }
    CHECK(free_bytes() == all - mapped.size() * page);
  }
  CHECK((mapped.empty() || cuMemAddressFree(base, slots * page) == CUDA_ERROR_INVALID_VALUE));
  for (const auto& [slot, value] : mapped) ok(cuMemUnmap(base + slot * page, page));
  CHECK(free_bytes() == all);
  ok(cuMemAddressFree(base, slots * page));
  CHECK(cuMemAddressFree(base, slots * page) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("virtual memory: neighbours are one range for copies, kernels and fills; two mappings of one handle are the same bytes") {
  GraphMachine m;
  const CUdeviceptr p = reserve(4 * page);
  const CUmemGenericAllocationHandle first = create(page), second = create(2 * page);
  ok(cuMemMap(p, page, 0, first, 0));
  ok(cuMemMap(p + page, page, page, second, 0));
  ok(cuMemMap(p + 2 * page, page, 0, first, 0));
  ok(allow(p, 3 * page, 0));
  std::vector<unsigned> values(64);
  for (unsigned i = 0; i < 64; ++i) values[i] = i;
  const CUdeviceptr across = p + page - 128;
  ok(cuMemcpyHtoD(across, values.data(), 256));
  CHECK(GraphMachine::read(across, 64) == values);
  CHECK(GraphMachine::read(p + 3 * page - 128, 32) == std::vector<unsigned>(values.begin(), values.begin() + 32));
  CHECK(cuMemcpyHtoD(p + 3 * page - 128, values.data(), 256) == CUDA_ERROR_INVALID_VALUE);
  m.launch_mix(across, across, m.stream);
  ok(cuStreamSynchronize(m.stream));
  for (unsigned& v : values) v *= 4;
  CHECK(GraphMachine::read(across, 64) == values);
  CUmemGenericAllocationHandle again = 0;
  ok(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(p + 100)));
  CHECK(again == first);
  unsigned long long flags = 0;
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, there{CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  ok(cuMemGetAccess(&flags, &here, p));
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  ok(cuMemGetAccess(&flags, &there, p));
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  int ordinal = -1;
  ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p + 5));
  CHECK(ordinal == 0);
  ok(allow(p, page, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  m.launch_mix(across, across, m.stream);
  CHECK(cuStreamSynchronize(m.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("virtual memory: sizes, places, handles and rights that can't be answer a code") {
  const GraphMachine m;
  CUmemAllocationProp prop = prop_of(0);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr p = 0;
  std::size_t granularity = 0;
  ok(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CHECK(granularity == page);
  CHECK(cuMemCreate(&handle, 100, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(nullptr, page, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, page, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, std::size_t{1} << 45, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  prop.location.id = 7;
  CHECK(cuMemCreate(&handle, page, &prop, 0) == CUDA_ERROR_INVALID_DEVICE);
  prop.location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
  CHECK(cuMemCreate(&handle, page, &prop, 0) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuMemAddressReserve(&p, 100, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&p, page, 3, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemAddressReserve(&p, page, std::size_t{64} << 20, 0, 0));
  CHECK(p % (std::size_t{64} << 20) == 0);
  handle = create(page);
  CHECK(cuMemMap(p + 1, page, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(p, 2 * page, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(p + page, page, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(p, page, 0, 12345, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(p, page, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(p, page) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemMap(p, page, 0, handle, 0));
  CHECK(allow(p, page / 2, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(allow(p, page, 9) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemRelease(handle));
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(std::intptr_t{0}), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
        CUDA_ERROR_INVALID_VALUE);
  ok(cuMemUnmap(p, page));
}
