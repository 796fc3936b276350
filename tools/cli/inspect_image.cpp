#include "tools/cli/inspect_image.h"

#include <fmt/core.h>

#include <algorithm>

#include "placement/image/cubin.h"
#include "placement/ptx/parse.h"

namespace tessera::cli {
namespace {

const char* name_of(image::EntryKind kind) {
  switch (kind) {
    case image::EntryKind::ptx:
      return "PTX";
    case image::EntryKind::cubin:
      return "cubin";
    case image::EntryKind::lto_ir:
      return "LTO-IR";
    case image::EntryKind::other:
      break;
  }
  return "unknown";
}

const char* name_of(image::Compression compression) {
  switch (compression) {
    case image::Compression::none:
      return "none";
    case image::Compression::lz4:
      return "LZ4";
    case image::Compression::zstd:
      return "Zstandard";
    case image::Compression::unknown:
      break;
  }
  return "unknown";
}

std::string type_text(const ptx::Variable& v) {
  std::string text = "." + std::string(ptx::text_of(v.type));
  for (const std::uint64_t n : v.dims) text += fmt::format("[{}]", n);
  return text;
}

std::vector<InspectedPointer> pointers_of(const access::KernelAccess& access) {
  std::vector<InspectedPointer> pointers;
  for (const access::PointerAccess& a : access.accesses) {
    for (const std::uint16_t offset : a.words) {
      auto known = std::find_if(pointers.begin(), pointers.end(), [&](const InspectedPointer& p) { return p.offset == offset; });
      if (known == pointers.end()) known = pointers.insert(pointers.end(), {offset, false, false, true});
      known->read |= a.read;
      known->written |= a.written;
      known->alone &= a.words.size() == 1;
    }
  }
  std::sort(pointers.begin(), pointers.end(), [](const InspectedPointer& a, const InspectedPointer& b) { return a.offset < b.offset; });
  return pointers;
}

InspectedKernel look_into(const ptx::Module& module, const ptx::Function& f) {
  InspectedKernel kernel;
  kernel.name = std::string(module.name_of(f));
  kernel.line = f.place.line;
  for (const ptx::Variable& p : f.params) kernel.params.push_back({p.offset, static_cast<std::uint32_t>(p.size()), type_text(p)});
  kernel.access = access::analyse(module, f);
  kernel.pointers = pointers_of(kernel.access);
  kernel.analysed = true;
  return kernel;
}

bool wanted(const std::string& name, const InspectQuestion& question) { return name.find(question.kernel) != std::string::npos; }

void read_ptx(std::string_view text, const InspectQuestion& question, InspectedImage& image) {
  std::vector<std::string_view> bodies;
  for (const ptx::EntryIndex& e : ptx::index_entries(text)) {
    if (!e.is_entry) continue;
    image.kernel_names.emplace_back(e.name);
    if (wanted(image.kernel_names.back(), question)) bodies.push_back(e.name);
  }
  const bool look = question.all || !question.kernel.empty() || image.kernel_names.size() <= most_kernels;
  if (!look || (bodies.empty() && !image.kernel_names.empty())) return;
  ptx::ParseOptions options;
  options.only_bodies_of = bodies;
  const ptx::Module module = ptx::parse(text, options);
  if (image.arch.empty() && !module.targets.empty()) {  // a text of its own: no fat binary says what it is for
    image.arch = module.targets.front();
    image.version = fmt::format("{}.{}", module.version_major, module.version_minor);
  }
  for (const ptx::Diagnostic& d : module.diagnostics) {
    image.problems.push_back(fmt::format("PTX line {}, column {}: {}", d.place.line, d.place.column, d.message));
  }
  for (const ptx::Function& f : module.functions) {
    if (f.is_entry && f.has_body && wanted(std::string(module.name_of(f)), question)) image.kernels.push_back(look_into(module, f));
  }
}

void read_cubin(image::Bytes bytes, const InspectQuestion& question, InspectedImage& image) {
  auto cubin = image::read_cubin(bytes);
  if (!cubin) {
    image.problems.push_back(cubin.error().message());
    return;
  }
  image.arch = fmt::format("sm_{}", cubin->sm);
  const bool look = question.all || !question.kernel.empty() || cubin->kernels.size() <= most_kernels;
  for (const image::CubinKernel& k : cubin->kernels) {
    image.kernel_names.push_back(k.name);
    if (!look || !wanted(k.name, question)) continue;
    InspectedKernel kernel;
    kernel.name = k.name;
    for (const image::CubinParam& p : k.params) kernel.params.push_back({p.offset, p.size, ""});
    image.kernels.push_back(std::move(kernel));
  }
}

image::Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

InspectedImage look_into(const image::Entry& entry, std::size_t container, const InspectQuestion& question) {
  InspectedImage image;
  image.kind = name_of(entry.kind);
  image.arch = fmt::format("sm_{}", entry.sm);
  if (entry.arch_suffix != '\0') image.arch += entry.arch_suffix;
  if (entry.kind == image::EntryKind::ptx) image.version = fmt::format("{}.{}", entry.version_major, entry.version_minor);
  image.compression = name_of(entry.compression);
  image.stored_bytes = entry.stored.size();
  image.bytes = entry.stored.size();
  image.container = container;
  if (entry.kind != image::EntryKind::ptx && entry.kind != image::EntryKind::cubin) return image;
  auto payload = image::payload_of(entry);
  if (!payload) {
    image.problems.push_back(payload.error().message());
    return image;
  }
  image.bytes = payload->size();
  const std::string arch = image.arch;
  if (entry.kind == image::EntryKind::ptx)
    read_ptx(*payload, question, image);
  else
    read_cubin(bytes_of(*payload), question, image);
  image.arch = arch;  // the entry knows the suffix
  return image;
}

Status look_into_container(image::Bytes bytes, const InspectQuestion& question, Inspection& result) {
  std::string damage;
  TRY(entries, image::entries_of(bytes, &damage));
  for (const image::Entry& entry : entries) result.images.push_back(look_into(entry, result.containers, question));
  if (!damage.empty()) result.problems.push_back(fmt::format("fat binary {}: {}", result.containers, damage));
  ++result.containers;
  return {};
}

InspectedImage alone(const char* kind, image::Bytes file) {
  InspectedImage image;
  image.kind = kind;
  image.compression = "none";
  image.stored_bytes = image.bytes = file.size();
  return image;
}

}  // namespace

Result<Inspection> inspect(image::Bytes file, const InspectQuestion& question) {
  Inspection result;
  const image::Form form = image::form_of(file);
  result.form = std::string(image::name_of(form));
  switch (form) {
    case image::Form::ptx_text: {
      InspectedImage image = alone("PTX", file);
      read_ptx({reinterpret_cast<const char*>(file.data()), file.size()}, question, image);
      result.images.push_back(std::move(image));
      return result;
    }
    case image::Form::cubin: {
      InspectedImage image = alone("cubin", file);
      read_cubin(file, question, image);
      result.images.push_back(std::move(image));
      return result;
    }
    case image::Form::fatbin_container:
      TRY_STATUS(look_into_container(file, question, result));
      return result;
    case image::Form::host_elf: {
      TRY(containers, image::containers_in_elf(file));
      if (containers.empty()) return Error{ErrorCode::bad_data, "an ELF file without device code", "", "was it compiled by nvcc?"};
      for (const image::Bytes container : containers) {
        if (const Status read = look_into_container(container, question, result); !read) result.problems.push_back(read.error().message());
      }
      return result;
    }
    case image::Form::fatbin_wrapper:
    case image::Form::unknown:
      break;
  }
  return Error{ErrorCode::bad_data, file.empty() ? "an empty file" : "not PTX text, a cubin, a fat binary or an ELF file with device code",
               "", ""};
}

}  // namespace tessera::cli
