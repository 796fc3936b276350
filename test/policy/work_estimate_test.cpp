#include "placement/estimate/work_estimate.h"

#include <catch2/catch.hpp>
#include <string>

#include "placement/ptx/parse.h"

using namespace tessera;

namespace {

WorkEstimate estimate_of(const std::string& body) {
  const ptx::Module m = ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<8>;\n.reg .b32 %r<8>;\n.reg .f32 "
      "%f<8>;\n.reg .f64 %d<4>;\n.reg .pred %p<4>;\n" +
      body + "\nret;\n}\n");
  REQUIRE(m.diagnostics.empty());
  return estimate::work_of_thread(m, m.functions[0]);
}

}  // namespace

TEST_CASE("operations and bytes are counted by unit") {
  const WorkEstimate w = estimate_of(
      "fma.rn.f32 %f1, %f2, %f3, %f4;\nadd.f64 %d1, %d2, %d3;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\nst.global.f64 [%rd1], "
      "%d1;\nsin.approx.f32 %f1, %f2;\nadd.s32 %r1, %r2, %r3;");
  CHECK(w.fp32 == 2);
  CHECK(w.fp64 == 1);
  CHECK(w.special == 1);
  CHECK(w.integer == 1);
  CHECK(w.global_read == 16);
  CHECK(w.global_written == 8);
  CHECK(w.complete);
}

TEST_CASE("a loop multiplies by the guess, and says that it was guessed") {
  const WorkEstimate w = estimate_of("L:\nfma.rn.f32 %f1, %f2, %f3, %f4;\nsetp.lt.s32 %p1, %r1, %r2;\n@%p1 bra L;");
  CHECK(w.fp32 == 2 * estimate::guessed_trips);
  CHECK_FALSE(w.complete);
}

TEST_CASE("a launch is its threads") {
  WorkEstimate w;
  w.fp32 = 3;
  LaunchShape shape;
  shape.grid = {4, 2, 1};
  shape.block = {32, 1, 1};
  CHECK(estimate::scale(w, shape).fp32 == 3 * 256);
}
