// A kernel launch of the program, from the call to where it runs.
//
// decide() says what the launch touches and where it should go; submit() queues it on a helper with translated pointers. What a launch is:
// docs/architecture.md, "What a redirected launch does". Invariant: the program gets the code that its own call would have returned; when a
// helper refuses, the launch is made at home. Threads: any.
#pragma once

#include <optional>
#include <vector>

#include "interpose/engine.h"

namespace tessera::interpose {

struct LaunchCall {
  CUfunction function = nullptr;
  LaunchShape shape;
  StreamArgument stream;
  void** params = nullptr;     // kernelParams
  void** extra = nullptr;      // packed form
  Reason kind = Reason::none;  // why a launch of this kind stays home
};

// One pointer of the launch.
struct LaunchTouch {
  coherence::Touch touch;    // address of a byte inside the allocation
  std::uint16_t offset = 0;  // of the pointer in the parameter block
  std::uint8_t behind = 0;   // the pointer is one behind that byte
};

struct Decision {
  KernelRef kernel;
  int home = -1;
  int target = -1;               // home, or a helper
  Reason reason = Reason::none;  // why home, when the policy could have moved it
  bool everything = true;        // what it touches isn't known
  bool may_wait = false;         // not understood, and talks to others while it runs
  CUfunction there = nullptr;    // on the helper
  std::vector<LaunchTouch> touches;
  std::vector<std::byte> block;  // the parameter block
  std::vector<ParamSlot> slots;
};

// Under the engine's lock.
void decide(Engine& engine, const LaunchCall& launch, Decision& decision);

// The program's parameters as one block. False when they can't be read.
[[nodiscard]] bool gather(const LaunchCall& launch, const ParamLayout& layout, std::vector<std::byte>& block);

// Redirects the launch; nothing when it has to be made at home (the decision then says why). Under the engine's lock.
[[nodiscard]] std::optional<CUresult> submit(Engine& engine, const LaunchCall& launch, order::StreamId stream, Decision& decision);

}  // namespace tessera::interpose
