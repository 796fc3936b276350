// What a wmma instruction works on, packed into the op when it is decoded. Always inlined: semantics are compiled for several instruction
// sets, and no copy of theirs may be shared.
//
// Fragments are opaque to programs. Here: element t of a matrix (row by row, whatever its layout in memory) lies in lane t / E, place
// t % E, with E elements a lane; f16 inputs are there twice, as their fragments have room for.
#pragma once

#include <cstdint>

namespace tessera::simgpu {

enum class WmmaType : std::uint8_t { f16, bf16, tf32, f32, f64, s8, u8, s32 };
enum class WmmaMatrix : std::uint8_t { a, b, c };
struct WmmaShape {
  std::uint8_t m, n, k;
};
inline constexpr WmmaShape wmma_shapes[] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8}, {8, 8, 4}};

// Bits 0…2 the shape's index, 3…5 the type, 6…7 the matrix, 8 whether it lies column by column; for a product: 3…5 the inputs' type,
// 6…8 the accumulator's, 9…11 the result's, 12 saturating.
struct WmmaPlan {
  std::uint16_t bits = 0;
  [[nodiscard, gnu::always_inline]] constexpr unsigned field(unsigned at, unsigned width) const { return bits >> at & ((1u << width) - 1); }
  [[nodiscard, gnu::always_inline]] constexpr const WmmaShape& shape() const { return wmma_shapes[field(0, 3)]; }
  [[nodiscard, gnu::always_inline]] constexpr WmmaType type() const { return static_cast<WmmaType>(field(3, 3)); }
};

[[gnu::always_inline]] constexpr unsigned bytes_of(WmmaType t) {
  constexpr std::uint8_t bytes[] = {2, 2, 4, 4, 8, 1, 1, 4};
  return bytes[static_cast<unsigned>(t)];
}
[[gnu::always_inline]] constexpr unsigned rows_of(const WmmaShape& s, WmmaMatrix m) { return m == WmmaMatrix::b ? s.k : s.m; }
[[gnu::always_inline]] constexpr unsigned columns_of(const WmmaShape& s, WmmaMatrix m) { return m == WmmaMatrix::a ? s.k : s.n; }
[[gnu::always_inline]] constexpr unsigned elements_of(const WmmaShape& s, WmmaMatrix m) { return rows_of(s, m) * columns_of(s, m); }
// Elements that a lane holds.
[[gnu::always_inline]] constexpr unsigned lane_elements(const WmmaShape& s, WmmaMatrix m, WmmaType t) {
  return t == WmmaType::f16 && m != WmmaMatrix::c ? 16 : elements_of(s, m) / 32;
}
// Registers of 32 bits (of 64 for f64) that a lane's part takes.
[[gnu::always_inline]] constexpr unsigned lane_registers(const WmmaShape& s, WmmaMatrix m, WmmaType t) {
  const unsigned bytes = lane_elements(s, m, t) * bytes_of(t);
  return t == WmmaType::f64 ? bytes / 8 : bytes / 4;
}

}  // namespace tessera::simgpu
