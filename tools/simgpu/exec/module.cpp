#include "tools/simgpu/exec/module.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "tools/simgpu/exec/decode.h"
#include "tools/simgpu/exec/footprint.h"
#include "tools/simgpu/exec/function_address.h"
#include "tools/simgpu/exec/globals.h"

namespace tessera::simgpu {

struct ExecKernel::Lazy {
  std::mutex mutex;
  std::optional<Result<std::unique_ptr<Program>>> program;
};

ExecKernel::~ExecKernel() = default;

Result<const Program*> ExecKernel::program() const {
  const std::lock_guard lock(lazy_->mutex);
  if (!lazy_->program) {
    const auto address_of = [this](const ptx::Variable& v) { return module_->address_of(v); };
    lazy_->program.emplace(decode(module_->ptx(), *function_, address_of, best_semantics(), module_->code_base()));
  }
  if (!lazy_->program->ok()) return lazy_->program->error();
  return static_cast<const Program*>((**lazy_->program).get());
}

ExecModule::ExecModule(std::shared_ptr<const ptx::Module> module, Device& device)
    : ptx_(std::move(module)), device_(device), code_base_(new_code_base()) {}

ExecModule::~ExecModule() {
  for (const ExecGlobal& g : globals_) {
    // Only fails for an address that isn't ours any more, which nothing here can cause.
    if (!g.managed) (void)device_.memory->free(g.address);
  }
}

Result<std::unique_ptr<ExecModule>> ExecModule::load(std::shared_ptr<const ptx::Module> module, Device& device,
                                                     const ManagedPlaces& managed) {
  if (module->address_size != 64) {
    return Error{ErrorCode::unsupported, fmt::format("a module with {}-bit addresses", module->address_size), "",
                 "simulated GPUs have 64-bit addresses only"};
  }
  std::unique_ptr<ExecModule> made(new ExecModule(std::move(module), device));
  TRY_STATUS(made->make_globals(managed));
  made->make_kernels();
  return made;
}

std::optional<std::uint64_t> ExecModule::address_of(const ptx::Variable& v) const {
  const auto it = addresses_.find(&v);
  if (it != addresses_.end()) return it->second;
  // A declaration: the definition of that name is what it means.
  const ExecGlobal* g = global(ptx_->text(v.name));
  return g == nullptr ? std::nullopt : std::optional(g->address);
}

Status ExecModule::make_globals(const ManagedPlaces& managed) {
  std::vector<const ptx::Variable*> made;
  const auto allocate = [&](const ptx::Variable& v) -> Status {
    if (v.space != ptx::Space::global && v.space != ptx::Space::const_) return {};
    if (v.linkage == ptx::Linkage::external) return {};
    const std::string name(ptx_->text(v.name));
    const std::uint64_t size = std::max<std::uint64_t>(v.size(), 1);
    const bool shared = v.managed && managed;
    ManagedPlace place;
    if (shared) {
      TRY(given, managed(name, size));
      place = given;
    } else {
      TRY(address, device_.memory->allocate(size, v.alignment(), "module variable " + name));
      place.address = address;
    }
    addresses_.emplace(&v, place.address);
    globals_.push_back({name, place.address, v.size(), v.space, shared});
    if (place.is_new) made.push_back(&v);
    return {};
  };
  for (const ptx::Variable& v : ptx_->variables) TRY_STATUS(allocate(v));
  for (const ptx::Function& f : ptx_->functions) {
    for (const ptx::Variable& v : f.variables) TRY_STATUS(allocate(v));
  }
  for (const ptx::Variable* v : made) {
    const auto symbol = [this](std::string_view name) -> std::optional<std::uint64_t> {
      if (const ExecGlobal* g = global(name)) return g->address;
      const ptx::Function* f = function_named(*ptx_, name);
      return f == nullptr ? std::nullopt : std::optional(function_address(*ptx_, *f, code_base_));
    };
    TRY_STATUS(initialise(*ptx_, *v, reinterpret_cast<std::byte*>(addresses_.at(v)), symbol));
  }
  return {};
}

namespace {

std::uint32_t registers_of(const ptx::Function& f) {
  // Half of what is declared lives at a time, roughly; ptxas does the real allocation.
  std::uint64_t words = 0;
  for (const ptx::RegisterDecl& d : f.register_decls) {
    if (d.type != ptx::Type::pred) words += std::uint64_t{d.count} * d.vector * (ptx::bytes_of(d.type) > 4 ? 2 : 1);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(words / 2, 16, 255));
}

std::uint64_t product(const std::vector<std::uint64_t>& values) {
  std::uint64_t p = 1;
  for (const std::uint64_t v : values) p *= v;
  return p;
}

}  // namespace

void ExecModule::make_kernels() {
  std::uint64_t const_bytes = 0;
  for (const ExecGlobal& g : globals_) const_bytes += g.space == ptx::Space::const_ ? g.size : 0;
  for (const ptx::Function& f : ptx_->functions) {
    if (!f.is_entry || !f.has_body) continue;
    std::unique_ptr<ExecKernel> k(new ExecKernel);
    k->module_ = this;
    k->function_ = &f;
    k->name_ = ptx_->name_of(f);
    k->lazy_ = std::make_unique<ExecKernel::Lazy>();
    KernelAttributes& a = k->attributes_;
    for (const ptx::Variable& v : f.params) a.params.push_back({v.offset, static_cast<std::uint32_t>(v.size()), v.alignment()});
    a.param_bytes = f.param_bytes;
    a.static_shared = footprint_of(*ptx_, f).static_shared;
    for (const ptx::Variable& v : f.variables) a.local_bytes += v.space == ptx::Space::local ? static_cast<std::uint32_t>(v.size()) : 0;
    a.const_bytes = static_cast<std::uint32_t>(const_bytes);
    a.registers = registers_of(f);
    a.max_threads = device_.traits.max_threads_per_block;
    for (const char* bound : {".maxntid", ".reqntid"}) {
      if (const ptx::Directive* d = f.find_directive(bound))
        a.max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(product(d->values), a.max_threads));
    }
    if (const ptx::Directive* d = f.find_directive(".reqnctapercluster")) {
      for (std::size_t i = 0; i < 3; ++i) a.cluster[i] = i < d->values.size() ? static_cast<std::uint32_t>(d->values[i]) : 1;
    }
    a.ptx_version = ptx_->version_major * 10u + ptx_->version_minor;
    kernels_.push_back(std::move(k));
  }
}

const ExecKernel* ExecModule::kernel(std::string_view name) const {
  for (const auto& k : kernels_) {
    if (k->name() == name) return k.get();
  }
  return nullptr;
}

const ExecGlobal* ExecModule::global(std::string_view name) const {
  for (const ExecGlobal& g : globals_) {
    if (g.name == name) return &g;
  }
  return nullptr;
}

}  // namespace tessera::simgpu
