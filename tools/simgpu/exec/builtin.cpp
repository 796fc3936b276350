// Functions that CUDA programs call and the simulator provides: vprintf, __assertfail, cudaGraphSetConditional.
#include <cstring>

#include "tools/simgpu/exec/address.h"
#include "tools/simgpu/exec/cta.h"
#include "tools/simgpu/exec/format.h"
#include "tools/simgpu/machine/conditions.h"

namespace tessera::simgpu {
namespace {

// Reads a thread's generic memory without faulting.
class ThreadMemory : public FormatMemory {
 public:
  ThreadMemory(const Cta& cta, const Warp& w, unsigned lane) : cta_(cta), w_(w), lane_(lane) {}

  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    const Windows& spaces = windows();
    if (address - spaces.local < window_bytes) return window(address - spaces.local, cta_.local_of(w_, lane_), cta_.local_bytes, to, size);
    if (address - spaces.shared < window_bytes) return window(address - spaces.shared, cta_.shared, cta_.shared_bytes, to, size);
    const Allocation* row = cta_.launch.memory->find(address);
    if (row == nullptr || size > row->end() - address) return false;
    std::memcpy(to, reinterpret_cast<const void*>(address), size);
    return true;
  }

 private:
  static bool window(std::uint64_t offset, const std::byte* base, std::uint64_t bytes, void* to, std::size_t size) {
    if (offset > bytes || size > bytes - offset) return false;
    std::memcpy(to, base + offset, size);
    return true;
  }
  const Cta& cta_;
  const Warp& w_;
  unsigned lane_;
};

std::uint64_t argument(const Cta& cta, const Warp& w, unsigned lane, const CallSite& site, std::size_t i) {
  if (i >= site.arguments.size()) return 0;
  std::uint64_t value = 0;
  const ParamCopy& a = site.arguments[i];
  std::memcpy(&value, cta.local_of(w, lane) + w.local_base + a.caller, a.bytes < 8 ? a.bytes : 8);
  return value;
}

void set_result(const Cta& cta, const Warp& w, unsigned lane, const CallSite& site, std::uint32_t value) {
  if (site.results.empty()) return;
  std::memcpy(cta.local_of(w, lane) + w.local_base + site.results[0].caller, &value, sizeof value);
}

void assert_failed(const Cta& cta, Warp& w, const Op& op, unsigned lane, const CallSite& site) {
  const ThreadMemory memory(cta, w, lane);
  const auto text = [&](std::size_t i) { return memory.text(argument(cta, w, lane, site, i)); };
  const auto line = static_cast<std::uint32_t>(argument(cta, w, lane, site, 2));
  const std::string message = text(1) + ":" + std::to_string(line) + ": " + text(3) + ": assertion `" + text(0) + "` failed";
  w.fault(FaultKind::assertion, op, lane, message.c_str());
}

}  // namespace

bool run_builtin(Cta& cta, Warp& w, const Op& op, const CallSite& site) {
  for (std::uint32_t left = w.exec; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    if (site.builtin == Builtin::assertfail) {
      assert_failed(cta, w, op, lane, site);
      return false;
    }
    if (site.builtin == Builtin::set_conditional) {
      if (set_condition(argument(cta, w, lane, site, 0), static_cast<unsigned>(argument(cta, w, lane, site, 1)))) continue;
      w.fault(FaultKind::illegal_instruction, op, lane, "cudaGraphSetConditional: no conditional node has this handle");
      return false;
    }
    const ThreadMemory memory(cta, w, lane);
    const int arguments = format(memory, argument(cta, w, lane, site, 0), argument(cta, w, lane, site, 1), cta.output);
    set_result(cta, w, lane, site, static_cast<std::uint32_t>(arguments));
  }
  return true;
}

}  // namespace tessera::simgpu
