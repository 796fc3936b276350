// A driver that computes nothing: two GPUs, handles that are given out again at once, and a record of every call.
//
// libcuda.so.1 made of it stands in for NVIDIA's in the tests of the preloaded library; its extra exports are these. GPU 0 is of compute
// capability 9.0, GPU 1 of 8.9 with at most 64 KiB of dynamic shared memory and no code for a `.target sm_90a`.
// Threads: one lock.
#pragma once

extern "C" {
// How often an exported function was called since the last fake_reset().
unsigned fake_calls(const char* symbol);
// The launches since then: for each the device, the kernel's name, the stream, and the first 8 bytes of the first parameter.
struct FakeLaunch {
  int device;
  char kernel[64];
  void* stream;
  unsigned long long first_param;
  unsigned shared;
};
unsigned fake_launches(FakeLaunch* list, unsigned capacity);
void fake_reset();
// From now on nothing is recorded: launches cost next to nothing, for measuring what is put in front of them.
void fake_quiet();
// The symbol that the driver's own cuGetProcAddress answers with, or null.
const char* fake_answer(const char* stem, int version, unsigned long long flags);
void* fake_address(const char* symbol);
// The next `count` allocations on a device fail.
void fake_fail_allocations(int device, unsigned count);
}
