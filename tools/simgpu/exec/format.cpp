#include "tools/simgpu/exec/format.h"

#include <cstdio>
#include <string_view>

namespace tessera::simgpu {
namespace {

constexpr std::size_t longest_text = 4096;

// One conversion: "%-08.3lld" → flags and sizes kept, length letters dropped.
struct Conversion {
  std::string spec;  // up to the length letters
  unsigned stars = 0;
  bool wide = false;  // l, ll, j, z, t: 8 bytes
  char letter = 0;
  std::size_t length = 0;  // characters of the format that it takes
};

Conversion parse(std::string_view at) {
  Conversion c;
  std::size_t i = 0;
  constexpr std::string_view kept = "%-+ #0123456789.*", lengths = "hlLqjzt";
  while (i < at.size() && (i == 0 || kept.find(at[i]) != std::string_view::npos)) {
    if (i > 0 && at[i] == '%') break;
    c.stars += at[i] == '*' ? 1 : 0;
    c.spec += at[i++];
  }
  while (i < at.size() && lengths.find(at[i]) != std::string_view::npos) c.wide |= at[i++] != 'h';
  c.letter = i < at.size() ? at[i++] : '\0';
  c.length = i;
  return c;
}

class Arguments {
 public:
  Arguments(const FormatMemory& memory, std::uint64_t at) : memory_(memory), at_(at) {}
  template <typename T>
  T next() {
    T value{};
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    (void)memory_.read(at_, &value, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  const FormatMemory& memory_;
  std::uint64_t at_;
  int count_ = 0;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
template <typename T>
void print(std::string& out, const Conversion& c, const std::string& length, const int (&stars)[2], T value) {
  const std::string spec = c.spec + length + c.letter;
  const auto once = [&](char* to, std::size_t size) {
    switch (c.stars) {
      case 0:
        return std::snprintf(to, size, spec.c_str(), value);
      case 1:
        return std::snprintf(to, size, spec.c_str(), stars[0], value);
      default:
        return std::snprintf(to, size, spec.c_str(), stars[0], stars[1], value);
    }
  };
  const int size = once(nullptr, 0);
  if (size <= 0) return;
  const std::size_t old = out.size();
  out.resize(old + static_cast<std::size_t>(size) + 1);
  once(out.data() + old, static_cast<std::size_t>(size) + 1);
  out.pop_back();
}
#pragma GCC diagnostic pop

void convert(const FormatMemory& memory, Arguments& arguments, const Conversion& c, std::string& out) {
  int stars[2] = {0, 0};
  for (unsigned i = 0; i < c.stars && i < 2; ++i) stars[i] = arguments.next<std::int32_t>();
  switch (c.letter) {
    case 'd':
    case 'i':
      if (c.wide)
        print(out, c, "ll", stars, static_cast<long long>(arguments.next<std::int64_t>()));
      else
        print(out, c, "", stars, arguments.next<std::int32_t>());
      return;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      if (c.wide)
        print(out, c, "ll", stars, static_cast<unsigned long long>(arguments.next<std::uint64_t>()));
      else
        print(out, c, "", stars, arguments.next<std::uint32_t>());
      return;
    case 'c':
      print(out, c, "", stars, arguments.next<std::int32_t>());
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      print(out, c, "", stars, arguments.next<double>());
      return;
    case 's': {
      const std::string text = memory.text(arguments.next<std::uint64_t>());
      print(out, c, "", stars, text.c_str());
      return;
    }
    case 'p':
      print(out, c, "", stars, reinterpret_cast<const void*>(arguments.next<std::uint64_t>()));
      return;
    default:
      out.append(c.spec);
      out.push_back(c.letter);
      return;  // not a conversion: as it stands
  }
}

}  // namespace

std::string FormatMemory::text(std::uint64_t address) const {
  std::string out;
  char c = 0;
  while (out.size() < longest_text && read(address + out.size(), &c, 1) && c != '\0') out.push_back(c);
  return out;
}

int format(const FormatMemory& memory, std::uint64_t format_address, std::uint64_t arguments_address, std::string& out) {
  char first = 0;
  if (!memory.read(format_address, &first, 1)) return -1;
  const std::string text = memory.text(format_address);
  Arguments arguments(memory, arguments_address);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '%') {
      out.push_back(text[i++]);
    } else if (i + 1 < text.size() && text[i + 1] == '%') {
      out.push_back('%');
      i += 2;
    } else {
      const Conversion c = parse(std::string_view(text).substr(i));
      if (c.letter == '\0') break;
      convert(memory, arguments, c, out);
      i += c.length;
    }
  }
  return arguments.count();
}

}  // namespace tessera::simgpu
