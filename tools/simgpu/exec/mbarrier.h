// What an mbarrier instruction does to its object; chosen when it is decoded.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

enum class MbarrierAction : std::uint16_t {
  init,
  inval,
  expect_bytes,
  complete_bytes,
  arrive,
  arrive_drop,
  arrive_expect_bytes,
  arrive_drop_expect_bytes,
  test_state,
  test_parity,
};

}  // namespace tessera::simgpu
