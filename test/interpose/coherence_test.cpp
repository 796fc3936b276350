// Random programs over a byte-exact model: whatever is redirected, whatever order the queues allow, the bytes are those of home.
#include "interpose/coherence/coherence.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "test/fake/fake_mover.h"

using namespace tessera;
using coherence::Coherence;
using coherence::Touch;
using order::program_lane;
using order::shadow_lane;

namespace {

constexpr std::uint64_t part_bytes = 24, parts = 3;
constexpr unsigned streams = 4;
constexpr int devices = 3;  // 0 = home

struct Part {
  int writer = -1;           // stream of the last write, -1 = none since the last full stop
  std::vector<int> readers;  // streams that have read since
};

struct Buffer {
  coherence::Address address = 0;
  std::vector<std::byte> expected;
  std::array<Part, parts> state;
};

// One random program. Streams are ordered by events exactly where its operations conflict, as a correct program would.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed), mover_(seed * 7 + 1), coherence_(mover_) {
    for (int i = 0; i < 3; ++i) allocate();
  }

  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      step();
      INFO("step " << i);
      REQUIRE(coherence_.check() == "");
      REQUIRE(mover_.violations.empty());
      mover_.run_some(static_cast<unsigned>(random_() % 12));
    }
    compare();
  }
  [[nodiscard]] std::uint64_t copies() const { return mover_.copies; }
  void fail_allocation_after(int successes) { mover_.allocations_until_failure = successes; }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void allocate() {
    Buffer buffer;
    buffer.address = mover_.program_memory(0, part_bytes * parts);
    buffer.expected.assign(part_bytes * parts, std::byte{0xcd});
    coherence_.allocated({0, 1, buffer.address}, part_bytes * parts);
    buffers_.push_back(std::move(buffer));
  }

  // The program orders `stream` behind what conflicts with its access.
  void order(unsigned stream, Part& part, bool write) {
    std::vector<int> behind;
    if (part.writer >= 0) behind.push_back(part.writer);
    if (write) behind.insert(behind.end(), part.readers.begin(), part.readers.end());
    for (const int other : behind) {
      if (other == static_cast<int>(stream)) continue;
      const auto event = mover_.record(program_lane(static_cast<unsigned>(other)));
      REQUIRE(mover_.wait(program_lane(stream), event.value()).ok());
    }
    if (write) {
      part.writer = static_cast<int>(stream);
      part.readers.clear();
    } else {
      part.readers.push_back(static_cast<int>(stream));
    }
  }

  struct Kernel {
    std::size_t in, out, in_part, out_part;
    std::uint64_t salt;
  };
  static void compute(const Kernel& kernel, const std::byte* in, std::byte* out) {
    for (std::uint64_t i = 0; i < part_bytes; ++i) {
      const auto mixed = std::to_integer<std::uint64_t>(in[i]) * 31 + kernel.salt + i;
      out[i] = static_cast<std::byte>(mixed ^ (mixed >> 3));
    }
  }
  void compute_at(int device, const Kernel& kernel, coherence::Address in, coherence::Address out) {
    const std::byte* from = mover_.memory(device, in, part_bytes);
    std::byte* to = mover_.memory(device, out, part_bytes);
    if (from != nullptr && to != nullptr) compute(kernel, from, to);
  }

  void launch() {
    const unsigned stream = pick(streams);
    const Kernel kernel{pick(static_cast<unsigned>(buffers_.size())), pick(static_cast<unsigned>(buffers_.size())), pick(parts),
                        pick(parts), random_()};
    Buffer &in = buffers_[kernel.in], &out = buffers_[kernel.out];
    order(stream, in.state[kernel.in_part], false);
    order(stream, out.state[kernel.out_part], true);
    std::vector<std::byte> input(in.expected.begin() + static_cast<long>(kernel.in_part * part_bytes),
                                 in.expected.begin() + static_cast<long>((kernel.in_part + 1) * part_bytes));
    compute(kernel, input.data(), out.expected.data() + kernel.out_part * part_bytes);

    const coherence::Address in_address = in.address + kernel.in_part * part_bytes,
                             out_address = out.address + kernel.out_part * part_bytes;
    const Touch touches[] = {{in_address, true, false}, {out_address, true, true}};
    const int device = static_cast<int>(pick(devices));
    std::vector<coherence::Address> there;
    if (device > 0 && coherence_.enter_remote(stream, device, touches, there) == coherence::Refusal::none) {
      mover_.work(shadow_lane(stream, device), [this, device, kernel, there] { compute_at(device, kernel, there[0], there[1]); });
      REQUIRE(coherence_.leave_remote(stream, device, touches).ok());
      return;
    }
    coherence::HomeVisit visit;
    REQUIRE(coherence_.enter_home(stream, false, touches, visit).ok());
    mover_.work(program_lane(stream), [=, this] { compute_at(0, kernel, in_address, out_address); });
    REQUIRE(coherence_.leave_home(visit).ok());
  }

  // Reads and writes everything that the program has, as a kernel that isn't understood might.
  void opaque() {
    const unsigned stream = pick(streams);
    for (Buffer& buffer : buffers_) {
      for (Part& part : buffer.state) order(stream, part, true);
    }
    coherence::HomeVisit visit;
    REQUIRE(coherence_.enter_home_with_everything(stream, pick(2) == 0, visit).ok());
    for (Buffer& buffer : buffers_) {
      for (std::byte& byte : buffer.expected) byte ^= std::byte{0x5a};
      mover_.work(program_lane(stream), [this, address = buffer.address] {
        std::byte* data = mover_.memory(0, address, part_bytes * parts);
        for (std::uint64_t i = 0; data != nullptr && i < part_bytes * parts; ++i) data[i] ^= std::byte{0x5a};
      });
    }
    REQUIRE(coherence_.leave_home(visit).ok());
    REQUIRE(coherence_.streams().block(stream, order::Blocker::opaque).ok());
  }

  void full_stop() {
    for (unsigned stream = 0; stream < streams; ++stream) {
      REQUIRE(mover_.finish(mover_.record(program_lane(stream)).value()).ok());
    }
    for (Buffer& buffer : buffers_) buffer.state = {};
  }

  void free_one() {
    full_stop();
    const std::size_t index = pick(static_cast<unsigned>(buffers_.size()));
    const coherence::Address address = buffers_[index].address;
    for (const auto& user : coherence_.users_of(address)) REQUIRE(mover_.finish(user).ok());
    mover_.free_program_memory(0, address);
    coherence_.freed(address, coherence_.being_freed(address));
    buffers_.erase(buffers_.begin() + static_cast<long>(index));
    allocate();
  }

  void step() {
    switch (pick(24)) {
      case 0:
        return free_one();
      case 1:
        return opaque();
      case 2: {
        const auto pending = coherence_.settle(pick(streams));
        REQUIRE(pending.ok());
        for (const auto& ticket : pending.value()) REQUIRE(mover_.finish(ticket).ok());
        return;
      }
      case 3:
        REQUIRE(coherence_.streams().closing(pick(streams)).ok());
        return;
      case 4:
        REQUIRE((pick(8) != 0 || coherence_.keep_home(pick(streams), buffers_.front().address).ok()));
        return;
      default:
        return launch();
    }
  }

  void compare() {
    for (Buffer& buffer : buffers_) {
      const unsigned stream = pick(streams);
      for (Part& part : buffer.state) order(stream, part, false);
      const Touch touch[] = {{buffer.address, true, false}};
      coherence::HomeVisit visit;
      REQUIRE(coherence_.enter_home(stream, false, touch, visit).ok());
      std::vector<std::byte> seen;
      mover_.work(program_lane(stream), [&] {
        const std::byte* data = mover_.memory(0, buffer.address, part_bytes * parts);
        if (data != nullptr) seen.assign(data, data + part_bytes * parts);
      });
      REQUIRE(coherence_.leave_home(visit).ok());
      REQUIRE(mover_.finish(mover_.record(program_lane(stream)).value()).ok());
      REQUIRE(seen == buffer.expected);
    }
    REQUIRE(mover_.violations.empty());
  }

  std::mt19937_64 random_;
  fake::FakeMover mover_;
  Coherence coherence_;
  std::vector<Buffer> buffers_;
};

}  // namespace

TEST_CASE("any placement in any order gives the bytes of home", "[coherence]") {
  std::uint64_t copies = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    INFO("seed " << seed);
    Program program(seed);
    program.run(60);
    copies += program.copies();
  }
  REQUIRE(copies > 3000);  // something did move
}

TEST_CASE("a helper that runs out of memory changes nothing but the place", "[coherence]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    Program program(seed);
    program.fail_allocation_after(static_cast<int>(seed % 5));
    program.run(40);
  }
}

TEST_CASE("memory is found from any address inside, and not beyond", "[coherence]") {
  fake::FakeMover mover(1);
  Coherence coherence(mover);
  coherence.allocated({0, 1, 0x1000}, 0x100);
  coherence.allocated({0, 1, 0x1100}, 0x10);
  REQUIRE(coherence.find(0xfff) == nullptr);
  REQUIRE(coherence.find(0x1000) == coherence.find(0x10ff));
  REQUIRE(coherence.find(0x1100) != coherence.find(0x10ff));
  REQUIRE(coherence.find(0x1110) == nullptr);
  coherence.allocated({0, 1, 0x1080}, 0x10);  // the driver has given freed addresses out again
  REQUIRE(coherence.find(0x1000) == nullptr);
  REQUIRE(coherence.find(0x1080) != nullptr);
  REQUIRE(coherence.check() == "");
}

TEST_CASE("a launch isn't redirected while something may wait for it", "[coherence]") {
  fake::FakeMover mover(1);
  Coherence coherence(mover);
  coherence.allocated({0, 1, mover.program_memory(0, 64)}, 64);
  const Touch touch[] = {{0x10000, true, true}};
  REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::none);

  SECTION("a kernel that isn't understood, in another stream") {
    REQUIRE(coherence.streams().block(2, order::Blocker::opaque).ok());
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::blocked);
    REQUIRE(coherence.refusal(2, 1, touch) == coherence::Refusal::none);
  }
  SECTION("a host function, in any stream") {
    REQUIRE(coherence.streams().block(1, order::Blocker::waiting).ok());
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::blocked);
    mover.run_some(10);
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::none);
  }
  SECTION("a home write on its way into its stream") {
    coherence::HomeVisit visit;
    REQUIRE(coherence.enter_home(2, false, touch, visit).ok());
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::busy);
    REQUIRE(coherence.leave_home(visit).ok());
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::none);
  }
  SECTION("memory that others can see") {
    REQUIRE(coherence.keep_home(1, 0x10000).ok());
    REQUIRE(coherence.refusal(1, 1, touch) == coherence::Refusal::home_only);
  }
  SECTION("memory that isn't tracked") {
    const Touch elsewhere[] = {{0x90000000, true, false}};
    REQUIRE(coherence.refusal(1, 1, elsewhere) == coherence::Refusal::not_tracked);
  }
}
