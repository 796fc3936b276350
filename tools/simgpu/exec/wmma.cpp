// wmma: fragments are loaded, multiplied and stored. Sums as for mma: exact products, added in double from k = 0 upwards to the
// accumulator, rounded once; f64 by fused multiply-adds; integers wrap, or saturate. See wmma.h for where elements lie.
#include "tools/simgpu/exec/wmma.h"

#include "tools/simgpu/exec/access.h"
#include "tools/simgpu/exec/classes.h"
#include "tools/simgpu/exec/half_ops.h"

namespace tessera::simgpu::TESSERA_SIMEXEC_ISA {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;
using ptx::Type;
using U32 = std::uint32_t;

// One fragment of the warp: registers list[first …].
class Fragment {
 public:
  Fragment(const Warp& w, const Op& op, unsigned first, const WmmaShape& shape, WmmaMatrix matrix, WmmaType type)
      : w_(w),
        list_(w.lists + op.e.bits + first),
        type_(type),
        total_(elements_of(shape, matrix)),
        each_(lane_elements(shape, matrix, type)) {}

  [[nodiscard]] unsigned each() const { return each_; }
  // The element that place `e` of a lane holds.
  [[nodiscard]] unsigned element(unsigned lane, unsigned e) const { return (lane * each_ + e) % total_; }

  [[nodiscard]] std::uint64_t bits(unsigned lane, unsigned e) const {
    const unsigned bytes = bytes_of(type_);
    if (bytes == 8) return w_.at<const std::uint64_t>(list_[e])[lane];
    const unsigned parts = 4 / bytes;
    return w_.at<const U32>(list_[e / parts])[lane] >> (8 * bytes * (e % parts)) & mask_();
  }
  void set_bits(unsigned lane, unsigned e, std::uint64_t value) const {
    const unsigned bytes = bytes_of(type_);
    if (bytes == 8) {
      w_.at<std::uint64_t>(list_[e])[lane] = value;
      return;
    }
    const unsigned parts = 4 / bytes, shift = 8 * bytes * (e % parts);
    U32& r = w_.at<U32>(list_[e / parts])[lane];
    r = (r & ~(mask_() << shift)) | (static_cast<U32>(value) & mask_()) << shift;
  }

  // All elements in their order, from the first copy.
  template <typename T>
  void read(T* to) const {
    for (unsigned t = 0; t < total_; ++t) to[t] = static_cast<T>(value_(bits(t / each_, t % each_)));
  }
  void write(const double* from) const {
    for (unsigned t = 0; t < total_; ++t) set_bits(t / each_, t % each_, narrowed_(from[t]));
  }

 private:
  [[nodiscard]] U32 mask_() const { return bytes_of(type_) == 4 ? ~0u : (1u << (8 * bytes_of(type_))) - 1; }
  [[nodiscard]] double value_(std::uint64_t b) const {
    const auto r = static_cast<U32>(b);
    switch (type_) {
      case WmmaType::f16:
        return static_cast<double>(F16::widen(static_cast<std::uint16_t>(r)));
      case WmmaType::bf16:
        return static_cast<double>(Bf16::widen(static_cast<std::uint16_t>(r)));
      case WmmaType::tf32:
        return static_cast<double>(float_of(r & 0xffffe000u));
      case WmmaType::f32:
        return static_cast<double>(float_of(r));
      case WmmaType::f64:
        return __builtin_bit_cast(double, b);
      case WmmaType::s8:
        return static_cast<std::int8_t>(r);
      case WmmaType::u8:
        return static_cast<std::uint8_t>(r);
      default:
        return static_cast<std::int32_t>(r);
    }
  }
  [[nodiscard]] std::uint64_t narrowed_(double v) const {
    switch (type_) {
      case WmmaType::f16:
        return F16::narrow(odd_float(v));
      case WmmaType::f64:
        return __builtin_bit_cast(std::uint64_t, v);
      default:
        return bits_of(canonical(static_cast<float>(v)));
    }
  }

  const Warp& w_;
  const Slot* list_;
  WmmaType type_;
  unsigned total_, each_;
};

constexpr unsigned most = 32 * 16;  // elements of the largest matrix

void multiply_floats(const WmmaShape& s, const double* a, const double* b, const double* c, bool fused, double* d) {
  for (unsigned i = 0; i < s.m; ++i) {
    for (unsigned j = 0; j < s.n; ++j) {
      double sum = c[i * s.n + j];
      for (unsigned k = 0; k < s.k; ++k) {
        const double x = a[i * s.k + k], y = b[k * s.n + j];
        sum = fused ? __builtin_fma(x, y, sum) : sum + x * y;
      }
      d[i * s.n + j] = sum;
    }
  }
}

void multiply_integers(const Op& op, const WmmaShape& s, const double* a, const double* b, const Fragment& c, const Fragment& d) {
  std::int64_t sums[most];
  c.read(sums);
  for (unsigned i = 0; i < s.m; ++i) {
    for (unsigned j = 0; j < s.n; ++j) {
      std::int64_t sum = sums[i * s.n + j];
      for (unsigned k = 0; k < s.k; ++k) sum += static_cast<std::int64_t>(a[i * s.k + k] * b[k * s.n + j]);
      if (WmmaPlan{op.x}.field(12, 1) != 0) sum = sum > 0x7fffffff ? 0x7fffffff : sum < -0x80000000ll ? -0x80000000ll : sum;
      sums[i * s.n + j] = sum;
    }
  }
  for (unsigned t = 0; t < unsigned{s.m} * s.n; ++t) d.set_bits(t / d.each(), t % d.each(), static_cast<U32>(sums[t]));
}

void multiply(Warp& w, const Op& op) {
  const WmmaPlan plan{op.x};
  const WmmaShape& s = plan.shape();
  const WmmaType in = plan.type(), c_type = static_cast<WmmaType>(plan.field(6, 3)), d_type = static_cast<WmmaType>(plan.field(9, 3));
  const unsigned d_count = lane_registers(s, WmmaMatrix::c, d_type), a_count = lane_registers(s, WmmaMatrix::a, in);
  const unsigned b_count = lane_registers(s, WmmaMatrix::b, in);
  const Fragment d(w, op, 0, s, WmmaMatrix::c, d_type), c(w, op, d_count + a_count + b_count, s, WmmaMatrix::c, c_type);
  double a_values[most], b_values[most], c_values[most], d_values[most];
  Fragment(w, op, d_count, s, WmmaMatrix::a, in).read(a_values);
  Fragment(w, op, d_count + a_count, s, WmmaMatrix::b, in).read(b_values);
  if (d_type == WmmaType::s32) {
    multiply_integers(op, s, a_values, b_values, c, d);
    return;
  }
  c.read(c_values);
  multiply_floats(s, a_values, b_values, c_values, in == WmmaType::f64, d_values);
  d.write(d_values);
}

// a = address, b = elements from one row (or column) to the next, e = registers; x = plan.
template <typename SpacePolicy, bool Store>
void move_fragment(Warp& w, const Op& op) {
  const WmmaPlan plan{op.x};
  const auto matrix = static_cast<WmmaMatrix>(plan.field(6, 2));
  const WmmaShape& s = plan.shape();
  const unsigned columns = columns_of(s, matrix), bytes = bytes_of(plan.type());
  const bool by_column = plan.field(8, 1) != 0;
  const Fragment fragment(w, op, 0, s, matrix, plan.type());
  Addresses base;
  lane_addresses(w, op, base);
  const auto* stride = w.at<const U32>(op.b);
  for (unsigned e = 0; e < fragment.each(); ++e) {
    Addresses p;
    Pattern pattern = Pattern::scattered;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const unsigned t = fragment.element(lane, e), row = t / columns, column = t % columns;
      const std::uint64_t place = by_column ? std::uint64_t{column} * stride[lane] + row : std::uint64_t{row} * stride[lane] + column;
      p.at[lane] = base.at[lane] + place * bytes;
    }
    if (!SpacePolicy::resolve(w, op, p, bytes, Store ? Access::write : Access::read, pattern)) return;
    each_lane_of(w.exec, [&](unsigned lane) {
      std::uint64_t value = Store ? fragment.bits(lane, e) : 0u;
      if constexpr (Store) {
        __builtin_memcpy(reinterpret_cast<void*>(p.at[lane]), &value, bytes);
      } else {
        __builtin_memcpy(&value, reinterpret_cast<const void*>(p.at[lane]), bytes);
        fragment.set_bits(lane, e, value);
      }
    });
  }
}

int shape_index(const Form& f) {
  constexpr Modifier shapes[] = {Modifier::m16n16k16, Modifier::m8n32k16, Modifier::m32n8k16, Modifier::m16n16k8, Modifier::m8n8k4};
  for (unsigned i = 0; i < 5; ++i) {
    if (f.has(shapes[i])) return static_cast<int>(i);
  }
  return -1;
}
int type_index(Type t) {
  constexpr Type types[] = {Type::f16, Type::bf16, Type::tf32, Type::f32, Type::f64, Type::s8, Type::u8, Type::s32};
  for (unsigned i = 0; i < 8; ++i) {
    if (types[i] == t) return static_cast<int>(i);
  }
  return -1;
}

// Whether PTX has inputs of this type in this shape.
bool fits(int shape, WmmaType in) {
  if (shape == 3) return in == WmmaType::tf32;
  if (shape == 4) return in == WmmaType::f64;
  return in == WmmaType::f16 || in == WmmaType::bf16 || in == WmmaType::s8 || in == WmmaType::u8;
}

Choice product(const Form& f, int shape) {
  const bool halves = f.type_count == 2;
  if (!halves && (f.type_count != 4 || f.types[1] != f.types[2])) return {};
  const int in = halves ? type_index(Type::f16) : type_index(f.types[1]), d = type_index(f.types[0]),
            c = type_index(f.types[halves ? 1 : 3]);
  if (in < 0 || d < 0 || c < 0 || !fits(shape, static_cast<WmmaType>(in))) return {};
  const WmmaShape& s = wmma_shapes[shape];
  const auto registers = [&](WmmaMatrix m, int t) { return lane_registers(s, m, static_cast<WmmaType>(t)); };
  Choice choice{.fn = multiply};
  choice.imm = registers(WmmaMatrix::c, d) + registers(WmmaMatrix::a, in) + registers(WmmaMatrix::b, in) + registers(WmmaMatrix::c, c);
  choice.x = static_cast<std::uint16_t>(shape | in << 3 | c << 6 | d << 9 | (f.has(Modifier::satfinite) ? 1 << 12 : 0));
  return choice;
}

template <bool Store>
Choice movement(const Form& f, int shape, WmmaMatrix matrix) {
  const int type = type_index(f.types[0]);
  if (type < 0) return {};
  Choice choice;
  switch (f.space) {
    case Space::shared:
    case Space::shared_cta:
      choice.fn = move_fragment<SharedSpace, Store>;
      break;
    case Space::global:
      choice.fn = move_fragment<GlobalSpace, Store>;
      break;
    case Space::generic:
      choice.fn = move_fragment<GenericSpace, Store>;
      break;
    default:
      return {};
  }
  choice.imm = lane_registers(wmma_shapes[shape], matrix, static_cast<WmmaType>(type));
  choice.x = static_cast<std::uint16_t>(shape | type << 3 | static_cast<int>(matrix) << 6 | (f.has(Modifier::col) ? 1 << 8 : 0));
  return choice;
}

}  // namespace

Choice wmma_class(const Form& f) {
  const int shape = f.opcode == Opcode::wmma ? shape_index(f) : -1;
  if (shape < 0) return {};
  if (f.has(Modifier::mma)) return product(f, shape);
  if (f.has(Modifier::store)) return movement<true>(f, shape, WmmaMatrix::c);
  return movement<false>(f, shape, f.has(Modifier::a) ? WmmaMatrix::a : f.has(Modifier::b) ? WmmaMatrix::b : WmmaMatrix::c);
}

}  // namespace tessera::simgpu::TESSERA_SIMEXEC_ISA
