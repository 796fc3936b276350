// A simulated GPU with a kernel on it, in few words: for the tests of the PTX machine.
//
// Machine owns a device; load() parses PTX and puts its kernels there; launch() runs one. Failures of the set-up end the test.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "placement/ptx/parse.h"
#include "tools/simgpu/exec/launch.h"
#include "tools/simgpu/exec/module.h"

namespace tessera::simgpu {

class Machine {
 public:
  explicit Machine(unsigned ordinal = 0) {
    DeviceTraits traits;
    traits.ordinal = ordinal;
    traits.model = "test";
    auto made = Device::create(traits);
    REQUIRE(made.ok());
    device_ = std::move(made).value();
  }

  ExecModule& load(std::string_view text) {
    auto parsed = std::make_shared<ptx::Module>(ptx::parse(text));
    for (const ptx::Diagnostic& d : parsed->diagnostics) INFO(d.place.line << ": " << d.message);
    REQUIRE(parsed->diagnostics.empty());
    auto loaded = simgpu::load(std::move(parsed), *device_);
    REQUIRE(loaded.ok());
    modules_.push_back(std::move(loaded).value());
    return *modules_.back();
  }

  // An allocation with these bytes.
  template <typename T>
  std::uint64_t put(const std::vector<T>& values) {
    auto got = device_->memory->allocate(std::max<std::size_t>(values.size(), 1) * sizeof(T));
    REQUIRE(got.ok());
    if (!values.empty()) std::memcpy(reinterpret_cast<void*>(*got), values.data(), values.size() * sizeof(T));
    return *got;
  }
  template <typename T>
  std::vector<T> get(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address), count * sizeof(T));
    return values;
  }

  [[nodiscard]] Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<ExecModule>> modules_;
};

// Kernel parameters, packed with their natural alignment.
class Params {
 public:
  template <typename T>
  Params& add(T value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

inline LaunchOutcome launch(const ExecKernel& kernel, std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                            const Params& params, std::uint32_t dynamic_shared = 0, unsigned threads = 0) {
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.params = params.bytes();
  config.dynamic_shared = dynamic_shared;
  config.threads = threads;
  config.capture_output = true;
  return run(kernel, config);
}

// Whether it ran to its end; says why not.
inline void require_ok(const LaunchOutcome& outcome) {
  if (outcome.refused) FAIL(outcome.refused->message());
  if (outcome.fault) FAIL(outcome.fault->text());
}

}  // namespace tessera::simgpu
