#include "placement/ptx/constant.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace tessera::ptx {
namespace {

constexpr unsigned deepest_nesting = 64;

struct Operator {
  std::string_view text;
  Binding binding = Binding::unary;
};
// Longer ones first where one begins another.
constexpr Operator operators[] = {
    {"<<", Binding::shift},    {">>", Binding::shift},   {"<=", Binding::relation}, {">=", Binding::relation},  {"==", Binding::equality},
    {"!=", Binding::equality}, {"&&", Binding::any_and}, {"||", Binding::any_or},   {"<", Binding::relation},   {">", Binding::relation},
    {"&", Binding::bit_and},   {"|", Binding::bit_or},   {"^", Binding::bit_xor},   {"+", Binding::sum},        {"-", Binding::sum},
    {"*", Binding::product},   {"/", Binding::product},  {"%", Binding::product},   {"?", Binding::conditional}};

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

Constant of_double(double value) { return {std::bit_cast<std::uint64_t>(value), Type::f64}; }
Constant of_bool(bool value) { return {value ? 1U : 0U, Type::s64}; }

class Reader {
 public:
  Reader(Cursor& cursor, std::string& error) : c_(cursor), error_(error) {}

  bool expression(Binding weakest, Constant& result);

 private:
  bool fail(std::string_view expected) {
    if (error_.empty()) error_ = expected;
    return false;
  }
  bool operand(Constant& result);
  bool parenthesis(Constant& result);
  bool literal(Constant& result);
  bool radix_literal(int radix, Constant& result);
  bool float_bits(unsigned digits, Constant& result);
  bool decimal_float(Constant& result);
  bool end_literal(Constant& result);
  bool binary(std::string_view op, const Constant& left, const Constant& right, Constant& result);
  bool integer_binary(std::string_view op, const Constant& left, const Constant& right, Constant& result);
  bool float_binary(std::string_view op, double left, double right, Constant& result);
  [[nodiscard]] const Operator* next_operator() const;

  Cursor& c_;
  std::string& error_;
  unsigned depth_ = 0;
};

const Operator* Reader::next_operator() const {
  const char c = c_.at[0];
  if (c == ',' || c == ';' || c == '}' || c == ']' || c == ')') return nullptr;  // what nearly always stands here
  for (const Operator& op : operators) {
    if (c != op.text[0]) continue;
    if (op.text.size() == 2 && c_.at[1] != op.text[1]) continue;
    // `a %r1` can't be: a name that begins with % isn't the remainder operator.
    if (op.text == "%" && is(c_.at[1], char_class::name_start)) continue;
    return &op;
  }
  return nullptr;
}

bool Reader::expression(Binding weakest, Constant& result) {
  if (++depth_ > deepest_nesting) return fail("an expression nested less deeply");
  if (!operand(result)) return false;
  for (const Operator* op = next_operator(); op != nullptr && op->binding >= weakest; op = next_operator()) {
    c_.at += op->text.size();
    c_.skip_space();
    Constant right;
    if (op->binding == Binding::conditional) {
      Constant otherwise;
      if (!expression(Binding::conditional, right)) return false;
      if (!c_.take(':')) return fail("':'");
      if (!expression(Binding::conditional, otherwise)) return false;
      result = result.real() != 0 ? right : otherwise;
      continue;
    }
    if (!expression(static_cast<Binding>(static_cast<unsigned>(op->binding) + 1), right)) return false;
    Constant combined;
    if (!binary(op->text, result, right, combined)) return false;
    result = combined;
  }
  --depth_;
  return true;
}

bool Reader::operand(Constant& result) {
  const char sign = *c_.at;
  switch (sign) {
    case '+':
    case '-':
    case '~':
    case '!': {
      ++c_.at;
      c_.skip_space();
      if (!expression(Binding::unary, result)) return false;
      if (sign == '-') {
        if (result.type == Type::f32) {
          result.bits ^= 0x80000000U;
        } else if (result.type == Type::f64) {
          result.bits ^= std::uint64_t{1} << 63U;
        } else {
          result.bits = 0 - result.bits;
        }
      }
      if (sign == '~') result.bits = ~result.bits;
      if (sign == '!') result = of_bool(result.real() == 0);
      return true;
    }
    case '(':
      return parenthesis(result);
    default:
      break;
  }
  if (is(sign, char_class::digit)) return literal(result);
  Cursor ahead = c_;
  if (ahead.name() == "WARP_SZ") {
    c_ = ahead;
    c_.skip_space();
    result = {32, Type::s64};
    return true;
  }
  return fail("a number");
}

bool Reader::parenthesis(Constant& result) {
  c_.take('(');
  if (*c_.at == '.') {
    const Type type = find_type(c_.dot_word());
    c_.skip_space();
    if (type != Type::s64 && type != Type::u64) return fail("(.s64) or (.u64)");
    if (!c_.take(')')) return fail("')'");
    if (!expression(Binding::unary, result)) return false;
    if (result.floating()) return fail("an integer behind the cast");
    result.type = type;
    return true;
  }
  if (!expression(Binding::conditional, result)) return false;
  return c_.take(')') || fail("')'");
}

bool Reader::literal(Constant& result) {
  const char* p = c_.at;
  if (p[0] == '0' && is(p[1], char_class::name_start)) {
    switch (p[1]) {
      case 'x':
      case 'X':
        c_.at += 2;
        return radix_literal(16, result);
      case 'b':
      case 'B':
        c_.at += 2;
        return radix_literal(2, result);
      case 'f':
      case 'F':
        c_.at += 2;
        return float_bits(8, result);
      case 'd':
      case 'D':
        c_.at += 2;
        return float_bits(16, result);
      default:
        break;
    }
  }
  while (is(*p, char_class::digit)) ++p;
  if (*p == '.' || *p == 'e' || *p == 'E') return decimal_float(result);
  return radix_literal(c_.at[0] == '0' && p - c_.at > 1 ? 8 : 10, result);
}

bool Reader::radix_literal(int radix, Constant& result) {
  const char* begin = c_.at;
  std::uint64_t value = 0;
  for (int digit = digit_value(*c_.at); digit < radix; digit = digit_value(*++c_.at)) {
    if (__builtin_mul_overflow(value, static_cast<std::uint64_t>(radix), &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(digit), &value)) {
      return fail("an integer of at most 64 bits");
    }
  }
  if (c_.at == begin) return fail("a digit");
  const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  result = {value, fits ? Type::s64 : Type::u64};
  if (*c_.at == 'U') {
    ++c_.at;
    result.type = Type::u64;
  }
  return end_literal(result);
}

bool Reader::float_bits(unsigned digits, Constant& result) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < digits; ++i, ++c_.at) {
    const int digit = digit_value(*c_.at);
    if (digit > 15) return fail(digits == 8 ? "8 hexadecimal digits behind 0f" : "16 hexadecimal digits behind 0d");
    bits = bits << 4U | static_cast<unsigned>(digit);
  }
  result = {bits, digits == 8 ? Type::f32 : Type::f64};
  return end_literal(result);
}

bool Reader::decimal_float(Constant& result) {
  const char* end = c_.at;
  while (is(*end, char_class::digit) || *end == '.' || *end == 'e' || *end == 'E' ||
         ((*end == '+' || *end == '-') && (end[-1] == 'e' || end[-1] == 'E'))) {
    ++end;
  }
  double value = 0;
  const auto read = std::from_chars(c_.at, end, value);
  if (read.ec == std::errc::result_out_of_range) return fail("a floating-point number in the range of .f64");
  if (read.ec != std::errc{}) return fail("a number");
  c_.at = read.ptr;
  result = of_double(value);
  return end_literal(result);
}

bool Reader::end_literal(Constant& /*result*/) {
  if (is(*c_.at, char_class::name)) return fail("the end of the number");
  c_.skip_space();
  return true;
}

bool Reader::binary(std::string_view op, const Constant& left, const Constant& right, Constant& result) {
  if (op == "&&")
    result = of_bool(left.real() != 0 && right.real() != 0);
  else if (op == "||")
    result = of_bool(left.real() != 0 || right.real() != 0);
  else if (left.floating() || right.floating())
    return float_binary(op, left.real(), right.real(), result);
  else
    return integer_binary(op, left, right, result);
  return true;
}

bool Reader::float_binary(std::string_view op, double left, double right, Constant& result) {
  switch (op[0]) {
    case '+':
      result = of_double(left + right);
      return true;
    case '-':
      result = of_double(left - right);
      return true;
    case '*':
      result = of_double(left * right);
      return true;
    case '/':
      result = of_double(left / right);
      return true;
    case '=':
      result = of_bool(left == right);
      return true;
    case '!':
      result = of_bool(left != right);
      return true;
    case '<':
      if (op == "<<") break;
      result = of_bool(op == "<" ? left < right : left <= right);
      return true;
    case '>':
      if (op == ">>") break;
      result = of_bool(op == ">" ? left > right : left >= right);
      return true;
    default:
      break;
  }
  return fail("integers on both sides of the operator");
}

bool Reader::integer_binary(std::string_view op, const Constant& left, const Constant& right, Constant& result) {
  const bool is_unsigned = left.type == Type::u64 || right.type == Type::u64;
  const std::uint64_t a = left.bits;
  const std::uint64_t b = right.bits;
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  result.type = is_unsigned ? Type::u64 : Type::s64;
  const auto compared = [&](auto x, auto y) {
    if (op == "<") return x < y;
    if (op == ">") return x > y;
    if (op == "<=") return x <= y;
    if (op == ">=") return x >= y;
    return op == "==" ? x == y : x != y;
  };
  if (op == "<<" || op == ">>") {
    result.type = left.type;
    if (op == "<<")
      result.bits = b > 63 ? 0 : a << b;
    else if (left.type == Type::u64)
      result.bits = b > 63 ? 0 : a >> b;
    else
      result.bits = static_cast<std::uint64_t>(sa >> (b > 63 ? 63 : b));
    return true;
  }
  switch (op[0]) {
    case '+':
      result.bits = a + b;
      return true;
    case '-':
      result.bits = a - b;
      return true;
    case '*':
      result.bits = a * b;
      return true;
    case '&':
      result.bits = a & b;
      return true;
    case '|':
      result.bits = a | b;
      return true;
    case '^':
      result.bits = a ^ b;
      return true;
    case '/':
    case '%': {
      if (b == 0) return fail("a divisor other than 0");
      const bool quotient = op[0] == '/';
      if (is_unsigned)
        result.bits = quotient ? a / b : a % b;
      else if (sb == -1)
        result.bits = quotient ? 0 - a : 0;
      else
        result.bits = static_cast<std::uint64_t>(quotient ? sa / sb : sa % sb);
      return true;
    }
    default:
      result = of_bool(is_unsigned ? compared(a, b) : compared(sa, sb));
      return true;
  }
}

}  // namespace

double Constant::real() const {
  switch (type) {
    case Type::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::u64:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(static_cast<std::int64_t>(bits));
  }
}

bool parse_constant(Cursor& cursor, Binding weakest, Constant& result, std::string& error) {
  error.clear();
  return Reader{cursor, error}.expression(weakest, result);
}

}  // namespace tessera::ptx
