// The PTX intermediate representation: what the parser makes, the printer prints, and both the access analysis and
// the simulator read.
//
// Shape: a Module owns its text-independent tables (strings, variables, functions). A Function owns flat arrays:
// instructions, their modifiers and their operands, addressed by (begin, count), so that a library kernel of 30,000
// instructions is a handful of allocations. Things that aren't instructions but have a place in the text (labels, scopes,
// declarations, .loc, .pragma) are Markers, sorted by the instruction index in front of which they stand.
// Invariant: check() below names the first violated sentence, or returns an empty string.
// Numbers: addresses and offsets in bytes. Lines and columns from 1; 0 = unknown.
// Threads: immutable after parsing; share freely.
// Source of the language: NVIDIA "Parallel Thread Execution ISA", versions up to 9.x.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/ptx/tables.h"

namespace tessera::ptx {

struct SourcePlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const SourcePlace&) const = default;
};

struct Diagnostic {
  SourcePlace place;
  std::string message;   // what was found, and what was expected
  std::string function;  // the kernel that it costs; empty = module level
};

// Index into a table; `no_index` where there is no such thing.
using Index = std::uint32_t;
inline constexpr Index no_index = std::numeric_limits<Index>::max();

enum class OperandKind : std::uint8_t {
  reg,          // ref = register; component = .x/.y/.z/.w of a vector register, else no_component; value = added offset (%r1+4: rare)
  special_reg,  // ref = SpecialReg; component likewise (%tid.x)
  immediate,    // value = 64-bit two's complement; `type` says how it was written (s64, u64)
  float_imm,    // value = the bits; type f32 (0f…) or f64 (0d… and decimal)
  variable,     // the address of a variable: symbol_space + ref, value = added offset
  function,     // ref = Module::functions
  label,        // ref = Function::labels (branch targets, also of .branchtargets)
  proto,        // ref = Function::prototypes (.callprototype / .calltargets names in call)
  address,      // [base + value]; base_kind says what ref is
  vector,       // {a, b, …}: children
  list,         // (a, b, …): call's return values and arguments: children
  compound,     // [a, {…}, b]: tensor-map and similar addresses: children, first is the base as `address`
  pair,         // a|b: two destinations (setp p|q, shfl d|p): children
  sink,         // _
};

enum class BaseKind : std::uint8_t { none, reg, variable, immediate };
enum class SymbolSpace : std::uint8_t { module_variable, function_variable, parameter, return_parameter };

inline constexpr std::uint8_t no_component = 0xff;
// A lane selector of a video instruction (%r1.b3, %r2.h10): its text stands in Operand::value, first character in the low byte.
inline constexpr std::uint8_t selector_component = 4;

struct Operand {
  OperandKind kind = OperandKind::sink;
  BaseKind base_kind = BaseKind::none;                      // address only
  SymbolSpace symbol_space = SymbolSpace::module_variable;  // variable, and address with a variable base
  std::uint8_t component = no_component;                    // reg, special_reg: 0…3 = x y z w, or selector_component
  Type type = Type::none;                                   // immediates only
  bool negated = false;                                     // !p, and -reg / -sym where PTX allows it
  std::uint16_t child_count = 0;                            // vector, list, compound, pair
  Index ref = no_index;                                     // see OperandKind; first child for those with children
  std::uint64_t value = 0;                                  // immediate bits, or offset (two's complement)
  bool operator==(const Operand&) const = default;
};

struct Instr {
  Opcode opcode = Opcode::unknown;
  std::uint16_t modifier_count = 0;
  std::uint16_t operand_count = 0;  // top-level operands only; children live elsewhere in Function::operands
  bool guarded = false;
  bool guard_negated = false;
  Index guard = no_index;  // predicate register
  Index name = no_index;   // Opcode::unknown only: Module::strings
  Index modifiers = 0;     // begin in Function::modifiers
  Index operands = 0;      // begin in Function::operands
  SourcePlace place;
};

// A name of several registers shares one declaration (.reg .b32 %r<100>).
struct RegisterDecl {
  Index name = no_index;  // Module::strings, without the number
  Type type = Type::none;
  std::uint8_t vector = 1;  // 1, 2, 4
  bool numbered = false;    // %r<N>: names are %r0 … %r(N-1)
  std::uint32_t count = 1;
  Index first = 0;  // its first register id; ids are dense per function
  Index scope = 0;
  SourcePlace place;
};

struct Register {
  Index decl = 0;
  std::uint32_t number = 0;  // within its declaration
};

enum class Linkage : std::uint8_t { internal, visible, external, weak, common };

// One element of an initialiser, in order; gaps are zero.
struct InitValue {
  enum class Kind : std::uint8_t { integer, real, address, masked_address };
  std::uint64_t bits = 0;   // integer or float bits (of the variable's type); addend for addresses
  std::uint64_t mask = 0;   // masked_address: mask(symbol)
  Index symbol = no_index;  // Module::strings: name of a variable or function
  Kind kind = Kind::integer;
  bool generic = false;  // generic(symbol)
  bool operator==(const InitValue&) const = default;
};

struct PtrHint {  // .param .u64 .ptr .global .align 16 name
  bool present = false;
  Space space = Space::generic;
  std::uint32_t align = 0;
  bool operator==(const PtrHint&) const = default;
};

struct Variable {
  Index name = no_index;
  Space space = Space::global;
  Type type = Type::none;
  std::uint8_t vector = 1;
  Linkage linkage = Linkage::internal;
  std::uint32_t align = 0;          // 0 = natural
  std::vector<std::uint64_t> dims;  // empty = scalar; 0 in front = unsized (extern [])
  std::vector<InitValue> init;      // flattened in memory order; empty = none
  std::string init_text;            // verbatim "{ field = value, … }" of .texref, .samplerref, .surfref
  PtrHint ptr;                      // parameters
  bool managed = false;             // .attribute(.managed)
  std::string attributes;           // other .attribute(...) text, verbatim
  Index scope = 0;                  // function variables
  std::uint32_t offset = 0;         // parameters: byte offset in the block; others: 0
  SourcePlace place;

  // Elements × element size (vector included); 0 when unsized.
  [[nodiscard]] std::uint64_t size() const;
  // Alignment in bytes with the natural default filled in.
  [[nodiscard]] std::uint32_t alignment() const;
};

struct Label {
  Index name = no_index;
  Index scope = 0;
  Index target = no_index;  // index of the instruction that follows; == instrs.size() at the end; no_index = never placed
  SourcePlace place;
};

struct Prototype {  // .callprototype, .calltargets, .branchtargets: all are named lists in the body
  enum class Kind : std::uint8_t { call_prototype, call_targets, branch_targets } kind = Kind::call_prototype;
  Index name = no_index;
  std::vector<Index> targets;  // functions (by string) or labels (by id), by kind
  std::vector<Variable> returns, params;
  bool noreturn = false;
  Index scope = 0;
  SourcePlace place;
};

enum class MarkerKind : std::uint8_t { label, scope_open, scope_close, register_decl, variable_decl, prototype, pragma, loc };

struct Marker {
  MarkerKind kind = MarkerKind::label;
  Index before = 0;  // index of the instruction in front of which it stands
  Index ref = 0;     // label, scope, register_decl, variable, prototype: its table; pragma and loc: Module::strings
};

struct Directive {   // .maxntid 256, 1, 1  .minnctapersm 2  .reqnctapercluster …
  std::string name;  // with the dot
  std::vector<std::uint64_t> values;
  std::string text;  // where values aren't numbers (.pragma "…")
  bool operator==(const Directive&) const = default;
};

struct Function {
  Index name = no_index;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::internal;
  bool noreturn = false;
  std::vector<Directive> directives;
  std::vector<Variable> returns;  // .func only
  std::vector<Variable> params;   // offsets filled by C layout. Old .func: space reg, and a RegisterDecl of the same name (no marker)
  std::uint32_t param_bytes = 0;  // end of the last parameter, unpadded
  SourcePlace place;

  std::vector<Instr> instrs;
  std::vector<Modifier> modifiers;
  std::vector<Operand> operands;
  std::vector<RegisterDecl> register_decls;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // declared in the body: .shared, .local, .param, .global, .const
  std::vector<Label> labels;
  std::vector<Prototype> prototypes;
  std::vector<Index> scope_parents;  // scope 0 is the body
  std::vector<Marker> markers;       // sorted by `before`, text order within

  bool broken = false;        // a statement of it could not be parsed: see the diagnostics
  bool body_skipped = false;  // has_body, but ParseOptions left it out

  [[nodiscard]] std::span<const Modifier> modifiers_of(const Instr& i) const { return {modifiers.data() + i.modifiers, i.modifier_count}; }
  [[nodiscard]] std::span<const Operand> operands_of(const Instr& i) const { return {operands.data() + i.operands, i.operand_count}; }
  [[nodiscard]] std::span<const Operand> children_of(const Operand& o) const { return {operands.data() + o.ref, o.child_count}; }
  [[nodiscard]] const RegisterDecl& decl_of(Index reg) const { return register_decls[registers[reg].decl]; }
  [[nodiscard]] bool has(const Instr& i, Modifier m) const;
  // The n-th type modifier in text order (cvt.rn.f32.s32: 0 = f32, 1 = s32); Type::none when there are fewer.
  [[nodiscard]] Type type_of(const Instr& i, unsigned n = 0) const;
  // The state space named by the modifiers; Space::generic when none is.
  [[nodiscard]] Space space_of(const Instr& i) const;
  // .v2 .v4 .v8 -> 2 4 8, else 1.
  [[nodiscard]] unsigned vector_of(const Instr& i) const;
  [[nodiscard]] const Directive* find_directive(std::string_view directive_name) const;
};

struct Module {
  std::uint16_t version_major = 0, version_minor = 0;  // .version 9.0
  std::vector<std::string> targets;                    // "sm_90a", "debug", "texmode_independent"
  std::uint8_t address_size = 64;
  std::vector<std::string> strings;                          // interned; index 0 is ""
  std::vector<Variable> variables;                           // module scope, text order
  std::vector<Function> functions;                           // definitions and declarations, text order
  std::vector<std::string> unknown_modifiers;                // text without the dot; see modifier_text
  std::vector<std::pair<std::uint32_t, std::string>> files;  // .file
  std::vector<std::string> passthrough;                      // module-level text kept verbatim (.section …, .alias …, .pragma …)
  struct Order {
    enum class Kind : std::uint8_t { variable, function, text } kind;
    Index index;
  };
  std::vector<Order> order;  // text order of variables, functions and passthrough
  std::vector<Diagnostic> diagnostics;

  [[nodiscard]] std::string_view text(Index string) const { return strings[string]; }
  [[nodiscard]] std::string_view name_of(const Function& f) const { return strings[f.name]; }
  [[nodiscard]] std::string register_name(const Function& f, Index reg) const;
  [[nodiscard]] std::string_view opcode_text(const Instr& i) const;
  [[nodiscard]] std::string_view modifier_text(Modifier m) const;
  // Definition of that name, else a declaration, else nullptr. Linear in the number of functions.
  [[nodiscard]] const Function* find_function(std::string_view name) const;
  // The function that Operand::ref names, resolved to its definition when this module has it.
  [[nodiscard]] const Function* definition_of(Index function) const;
  [[nodiscard]] const Variable* find_variable(std::string_view name) const;
  // The variable that an operand (kind variable, or address with a variable base) names.
  [[nodiscard]] const Variable& variable_of(const Function& f, const Operand& o) const;
  // SM number of the first sm_/compute_ target (80 for sm_80, 90 for sm_90a); 0 when there is none.
  [[nodiscard]] unsigned sm() const;
};

// The first sentence of the representation's invariant that doesn't hold; "" when all do. For tests and debug builds.
[[nodiscard]] std::string check(const Module& module);

// Equal up to source places, diagnostics and the numbering of strings; modifiers compare as the set (order of types kept).
[[nodiscard]] bool same(const Module& a, const Module& b, std::string* difference = nullptr);

}  // namespace tessera::ptx
