// A PTX module loaded on one simulated GPU: its globals have addresses, its kernels can be launched.
//
// load() allocates and initialises module variables at once. Kernels are decoded on their first launch (a library module has hundreds of
// which a program uses three); an instruction that the simulator doesn't offer is found then and fails that launch with an error that
// names it, never the load.
// Ownership: keeps the parsed module alive; frees its globals when destroyed. The Device must outlive it.
// Threads: any number may launch kernels of one module at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/ptx/ir.h"
#include "profiles/base/result.h"
#include "tools/simgpu/machine/device.h"

namespace tessera::simgpu {

struct Program;  // decoded code, see decode.h

struct KernelParam {
  std::uint32_t offset = 0, size = 0, alignment = 0;
};

struct KernelAttributes {
  std::vector<KernelParam> params;
  std::uint32_t param_bytes = 0;         // end of the last parameter
  std::uint32_t static_shared = 0;       // bytes
  std::uint32_t local_bytes = 0;         // a thread
  std::uint32_t const_bytes = 0;         // of the module
  std::uint32_t registers = 0;           // estimate, 32-bit registers a thread, 16…255
  std::uint32_t max_threads = 1024;      // .maxntid / .reqntid, else the device's limit
  std::uint32_t ptx_version = 0;         // 10 × major + minor, as CU_FUNC_ATTRIBUTE_PTX_VERSION
  std::uint32_t cluster[3] = {0, 0, 0};  // .reqnctapercluster, 0 = none
};

class ExecModule;

class ExecKernel {
 public:
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const KernelAttributes& attributes() const { return attributes_; }
  [[nodiscard]] ExecModule& module() const { return *module_; }
  // The decoded code; made on first use. Error: unsupported ("shfl.sync.weird.b32 is not simulated", where = "kernel k, line 12").
  [[nodiscard]] Result<const Program*> program() const;
  ~ExecKernel();

 private:
  friend class ExecModule;
  ExecKernel() = default;
  ExecModule* module_ = nullptr;
  const ptx::Function* function_ = nullptr;
  std::string name_;
  KernelAttributes attributes_;
  struct Lazy;
  std::unique_ptr<Lazy> lazy_;
};

struct ExecGlobal {
  std::string name;
  std::uint64_t address = 0, size = 0;
  ptx::Space space = ptx::Space::global;  // global or const_
  bool managed = false;                   // and its memory is somebody else's
};

// Where a managed variable lies, which modules on several devices may share; and whether it is new, so that it wants its first value.
struct ManagedPlace {
  std::uint64_t address = 0;
  bool is_new = true;
};
// Gives a managed variable of this name and size its place; the memory stays the caller's.
using ManagedPlaces = std::function<Result<ManagedPlace>(const std::string& name, std::uint64_t size)>;

class ExecModule {
 public:
  // Without `managed`, managed variables lie on the device like others.
  static Result<std::unique_ptr<ExecModule>> load(std::shared_ptr<const ptx::Module> module, Device& device,
                                                  const ManagedPlaces& managed = {});
  ~ExecModule();
  ExecModule(const ExecModule&) = delete;
  ExecModule& operator=(const ExecModule&) = delete;

  // nullptr when there is none.
  [[nodiscard]] const ExecKernel* kernel(std::string_view name) const;
  [[nodiscard]] const ExecGlobal* global(std::string_view name) const;
  [[nodiscard]] const std::vector<std::unique_ptr<ExecKernel>>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<ExecGlobal>& globals() const { return globals_; }
  // Device address of a .global or .const variable of this module.
  [[nodiscard]] std::optional<std::uint64_t> address_of(const ptx::Variable& variable) const;
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const ptx::Module& ptx() const { return *ptx_; }
  // Where its functions have their addresses.
  [[nodiscard]] std::uint64_t code_base() const { return code_base_; }

 private:
  ExecModule(std::shared_ptr<const ptx::Module> module, Device& device);
  Status make_globals(const ManagedPlaces& managed);
  void make_kernels();

  std::shared_ptr<const ptx::Module> ptx_;
  Device& device_;
  const std::uint64_t code_base_;
  std::vector<ExecGlobal> globals_;
  std::unordered_map<const ptx::Variable*, std::uint64_t> addresses_;
  std::vector<std::unique_ptr<ExecKernel>> kernels_;
};

inline Result<std::unique_ptr<ExecModule>> load(std::shared_ptr<const ptx::Module> module, Device& device) {
  return ExecModule::load(std::move(module), device);
}

}  // namespace tessera::simgpu
