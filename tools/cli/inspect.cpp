// tessera inspect: what a file holds for GPUs, and what its kernels do with their pointers.
#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/inspect_image.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string file;
  InspectQuestion question;
  bool json = false;
};

// A file's bytes, mapped: libraries are larger than what is read of them.
class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path) {
    const auto fail = [&](int code) { return Error{ErrorCode::environment, std::strerror(code), path, ""}; };
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail(errno);
    struct stat about {};
    void* bytes = nullptr;
    int error = fstat(file, &about) == 0 ? 0 : errno;
    if (error == 0 && S_ISDIR(about.st_mode)) error = EISDIR;
    if (error == 0 && about.st_size > 0) {
      bytes = mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes == MAP_FAILED) error = errno;
    }
    close(file);
    if (error != 0) return fail(error);
    return std::unique_ptr<MappedFile>(new MappedFile(bytes, static_cast<std::size_t>(about.st_size)));
  }
  ~MappedFile() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] image::Bytes bytes() const { return {static_cast<const std::byte*>(bytes_), size_}; }

 private:
  MappedFile(void* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  void* bytes_;
  std::size_t size_;
};

std::string use_of(const InspectedPointer& p) {
  std::string use = p.read && p.written ? "read and written" : p.written ? "written" : "read";
  return p.alone ? "pointer, " + use : "pointer or offset, " + use;
}

// As C++ spells it; "" when the name isn't mangled.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : "";
}

void print_kernel(const InspectedKernel& k) {
  fmt::print("  kernel {}{}\n", k.name, k.line != 0 ? fmt::format(" (line {})", k.line) : "");
  if (const std::string name = demangled(k.name); !name.empty()) fmt::print("    {}\n", name);
  for (std::size_t i = 0; i < k.params.size(); ++i) {
    const InspectedParam& p = k.params[i];
    fmt::print("    parameter {:<3} offset {:<5} {:>4} bytes  {:<10}", i, p.offset, p.size, p.type);
    const char* separator = "";
    for (const InspectedPointer& pointer : k.pointers) {
      if (pointer.offset < p.offset || pointer.offset >= p.offset + p.size) continue;
      fmt::print("{}{}{}", separator, p.size > 8 ? fmt::format("+{}: ", pointer.offset - p.offset) : "", use_of(pointer));
      separator = "; ";
    }
    fmt::print("\n");
  }
  if (!k.analysed) {
    fmt::print("    machine code only: what it touches isn't known, it stays on its GPU\n");
  } else if (!k.access.understood()) {
    fmt::print("    stays on its GPU: {} (line {})\n", k.access.reason, k.access.line);
  }
}

void print_text(const Options& options, const Inspection& inspection) {
  fmt::print("{}: {}", options.file, inspection.form);
  if (inspection.containers > 1) fmt::print(", {} fat binaries", inspection.containers);
  fmt::print("\n");
  std::size_t kernels = 0, shown = 0;
  for (const InspectedImage& image : inspection.images) {
    kernels += image.kernel_names.size();
    shown += image.kernels.size();
    if (!options.question.kernel.empty() && image.kernels.empty() && image.problems.empty()) continue;
    fmt::print("{} {}{}{}, {} bytes", image.kind, image.arch, image.version.empty() ? "" : ", ISA ", image.version, image.bytes);
    if (image.compression != "none") fmt::print(" ({} stored, {})", image.stored_bytes, image.compression);
    fmt::print(", {} kernel{}\n", image.kernel_names.size(), image.kernel_names.size() == 1 ? "" : "s");
    for (const InspectedKernel& k : image.kernels) print_kernel(k);
    for (const std::string& problem : image.problems) complain(options.file + ": " + problem);
  }
  for (const std::string& problem : inspection.problems) complain(options.file + ": " + problem);
  if (shown < kernels && options.question.kernel.empty()) {
    fmt::print("{} kernels, {} shown; --kernel NAME shows those whose name contains NAME, --all shows all\n", kernels, shown);
  }
}

nlohmann::json json_of(const InspectedKernel& k) {
  nlohmann::json params = nlohmann::json::array(), pointers = nlohmann::json::array();
  for (const InspectedParam& p : k.params) params.push_back({{"offset", p.offset}, {"size", p.size}, {"type", p.type}});
  for (const InspectedPointer& p : k.pointers) {
    pointers.push_back({{"offset", p.offset}, {"read", p.read}, {"written", p.written}, {"certain", p.alone}});
  }
  nlohmann::json object{{"name", k.name}, {"line", k.line}, {"analysed", k.analysed}, {"params", params}, {"pointers", pointers}};
  object["understood"] = k.analysed && k.access.understood();
  if (k.analysed && !k.access.understood()) {
    object["refusal"] = {{"id", access::name_of(k.access.refusal)}, {"reason", k.access.reason}, {"line", k.access.line}};
  }
  return object;
}

void print_json(const Options& options, const Inspection& inspection) {
  nlohmann::json images = nlohmann::json::array();
  for (const InspectedImage& image : inspection.images) {
    nlohmann::json kernels = nlohmann::json::array();
    for (const InspectedKernel& k : image.kernels) kernels.push_back(json_of(k));
    images.push_back({{"kind", image.kind},
                      {"arch", image.arch},
                      {"version", image.version},
                      {"compression", image.compression},
                      {"stored_bytes", image.stored_bytes},
                      {"bytes", image.bytes},
                      {"container", image.container},
                      {"kernel_names", image.kernel_names},
                      {"kernels", kernels},
                      {"problems", image.problems}});
  }
  const nlohmann::json document{{"schema_version", 1},     {"file", options.file},
                                {"form", inspection.form}, {"containers", inspection.containers},
                                {"images", images},        {"problems", inspection.problems}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool has_problems(const Inspection& inspection) {
  bool any = !inspection.problems.empty();
  for (const InspectedImage& image : inspection.images) any |= !image.problems.empty();
  return any;
}

int show(const Options& options) {
  auto file = MappedFile::open(options.file);
  if (!file) return fail(file.error());
  auto inspection = inspect((*file)->bytes(), options.question);
  if (!inspection) {
    Error error = inspection.error();
    error.where = options.file;
    return fail(error);
  }
  bool found = options.question.kernel.empty();
  for (const InspectedImage& image : inspection->images) found |= !image.kernels.empty();
  if (!found) return fail(Error{ErrorCode::not_found, "no kernel's name contains '" + options.question.kernel + "'", options.file, ""});
  if (options.json)
    print_json(options, *inspection);
  else
    print_text(options, *inspection);
  return has_problems(*inspection) ? exit_status::bad_data : exit_status::ok;
}

}  // namespace

Action declare_inspect(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_option("FILE", options->file, "PTX text, cubin, fat binary, or a program or library built by nvcc")->required();
  parser.add_option("--kernel", options->question.kernel, "Only kernels whose (mangled) name contains this");
  parser.add_flag("--all", options->question.all, "Look into every kernel, however many there are");
  parser.add_flag("--json", options->json, "One JSON document on stdout");
  parser.footer(
      "Shows each image with its architecture, each kernel with its parameters, and through which of them it reads or writes memory; or\n"
      "the instruction and line for which a kernel can't be moved to another GPU.\n"
      "Examples:\n"
      "  tessera inspect ./my_program\n"
      "  tessera inspect --kernel gemm --json libcublas.so.13\n"
      "Exit status: 0, 2 usage, 3 damaged or not device code, 4 the file can't be read.");
  return [options](const std::vector<std::string>&) { return show(*options); };
}

}  // namespace tessera::cli
