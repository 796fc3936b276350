#include "interpose/registry/image.h"

#include <cstdio>
#include <utility>

#include "placement/estimate/work_estimate.h"
#include "placement/image/select.h"
#include "placement/ptx/parse.h"
#include "profiles/base/log.h"

namespace tessera::interpose {
namespace {

std::string text_of(image::Bytes bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::char_traits<char>::length(text.c_str()));
  return text;
}

ParamLayout layout_of(const ptx::Function& function) {
  ParamLayout layout;
  for (const ptx::Variable& param : function.params) {
    layout.slots.push_back({param.offset, static_cast<std::uint32_t>(param.size())});
  }
  layout.bytes = function.param_bytes;
  return layout;
}

// What the kernel says through the driver (text, traps) has to come from the GPU that the program watches.
bool speaks(const ptx::Module& module, const ptx::Function& function) {
  for (const ptx::Instr& instr : function.instrs) {
    if (instr.opcode == ptx::Opcode::trap || instr.opcode == ptx::Opcode::brkpt) return true;
    if (instr.opcode != ptx::Opcode::call) continue;
    for (const ptx::Operand& operand : function.operands_of(instr)) {
      if (operand.kind != ptx::OperandKind::function) continue;
      const std::string_view callee = module.name_of(module.functions[operand.ref]);
      if (callee == "vprintf" || callee == "__assertfail") return true;
    }
  }
  return false;
}

}  // namespace

Image::Image(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), form_(image::form_of(bytes_)) {
  if (form_ != image::Form::fatbin_container) return;
  std::string damage;
  if (auto entries = image::entries_of(bytes_, &damage); entries.ok()) entries_ = std::move(entries).value();
  if (!damage.empty()) log::info("fat binary: {}", damage);
}

Image::Program* Image::program_for(unsigned sm) {
  const void* key = bytes_.data();
  const image::Entry* entry = nullptr;
  if (form_ == image::Form::fatbin_container) {
    entry = image::best_ptx_for(entries_, sm);
    if (entry == nullptr) return nullptr;
    key = entry->stored.data();
  } else if (form_ != image::Form::ptx_text) {
    return nullptr;
  }
  auto& program = programs_[key];
  if (program) return program.get();
  program = std::make_unique<Program>();
  if (entry == nullptr) {
    program->text = text_of(bytes_);
  } else if (auto payload = image::payload_of(*entry); payload.ok()) {
    program->text = std::move(payload).value();
  } else {
    log::info("fat binary: {}", payload.error().message());
  }
  program->module = ptx::parse(program->text);
  return program.get();
}

KernelText Image::read_kernel(const Program& program, const ptx::Function& function) {
  KernelText kernel;
  kernel.access = access::analyse(program.module, function);
  kernel.layout = layout_of(function);
  kernel.thread_work = estimate::work_of_thread(program.module, function);
  kernel.asserts = speaks(program.module, function);
  for (const ptx::EntryIndex& entry : ptx::index_entries(program.text)) {
    if (entry.is_entry && entry.name == program.module.name_of(function)) {
      kernel.hash = content_hash(std::string_view(program.text).substr(entry.begin, entry.end - entry.begin));
    }
  }
  return kernel;
}

const KernelText* Image::kernel(const std::string& name, unsigned sm) {
  const std::lock_guard lock(mutex_);
  Program* program = program_for(sm);
  if (program == nullptr) return nullptr;
  const auto known = program->kernels.find(name);
  if (known != program->kernels.end()) return known->second.get();
  auto& kernel = program->kernels[name];
  for (const ptx::Function& function : program->module.functions) {
    if (function.is_entry && function.has_body && program->module.name_of(function) == name) {
      kernel = std::make_unique<KernelText>(read_kernel(*program, function));
      break;
    }
  }
  return kernel.get();
}

std::shared_ptr<Image> copy_image(const void* image) {
  const auto extent = image::extent_of(image);
  if (!extent.ok()) {
    log::info("an image that isn't understood: {}", extent.error().message());
    return nullptr;
  }
  std::vector<std::byte> bytes(extent.value().begin(), extent.value().end());
  bytes.push_back(std::byte{0});  // a PTX text ends with NUL
  return std::make_shared<Image>(std::move(bytes));
}

std::shared_ptr<Image> read_image(const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rbe"), &std::fclose);
  if (!file) return nullptr;
  std::vector<std::byte> bytes;
  std::vector<std::byte> piece(1 << 16);
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file.get())) {
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (image::form_of(bytes) == image::Form::unknown) return nullptr;
  bytes.push_back(std::byte{0});
  return std::make_shared<Image>(std::move(bytes));
}

}  // namespace tessera::interpose
