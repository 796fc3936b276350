// The parser's own state; included by parse*.cpp only.
//
// One Parser reads one text, once, from front to back. Functions that read return false after fail(), which keeps the first failure
// of a statement; the caller that owns the statement turns it into a diagnostic and finds the next one (see resync_*).
// Invariant: the cursor never moves backwards by more than the statement at hand, and each statement is re-scanned at most once:
// linear time. Label references are resolved as their scope closes, each once.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "placement/ptx/constant.h"
#include "placement/ptx/ir.h"
#include "placement/ptx/lexer.h"
#include "placement/ptx/names.h"
#include "placement/ptx/parse.h"

namespace tessera::ptx {

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options);
  Module run();

 private:
  // ---- failures and names (parse.cpp) ----
  struct Failure {
    SourcePlace place;
    std::string message;
  };
  bool fail(std::string_view expected);  // "found X, expected …" at the cursor
  bool fail_at(SourcePlace place, std::string message);
  void report();                                          // the failure becomes a diagnostic; costs function_
  void diagnose(SourcePlace place, std::string message);  // a diagnostic of its own
  Index intern(std::string_view text);                    // `text` must live as long as the parser
  [[nodiscard]] std::string_view view_of(Index string) const { return views_[string]; }  // lives as long as the parser
  std::string_view keep(std::string text);                                               // makes it so
  bool expect(char c);
  bool constant(Binding weakest, Constant& result);
  bool unsigned_constant(std::uint64_t& result);
  bool name(std::string_view& result, std::string_view what);

  // ---- module level (parse_module.cpp) ----
  void module_statement();
  bool module_directive(std::string_view word);
  bool version_directive();
  bool target_directive();
  bool file_directive();
  bool section_directive(const char* begin);
  bool passthrough_statement(const char* begin);
  bool module_variable();
  void pass_through(std::string_view text);
  void resync_module(const char* statement);
  bool function();
  bool function_header(Function& f);
  bool function_directives(Function& f);
  void declare_function(const Function& f, Index index);
  bool skip_body();  // from '{' to behind its '}'
  [[nodiscard]] bool body_wanted(std::string_view function_name) const;

  // ---- declarations (parse_variable.cpp) ----
  struct Prefix {
    Linkage linkage = Linkage::internal;
    std::string attributes;
  };
  using Declared = bool (Parser::*)(Variable&&);
  bool linkage_word(std::string_view word);
  bool variable_attributes(Variable& v);  // .global .align 4 .v2 .f32 …, up to the name
  bool variable_attribute(std::string_view word, Variable& v);
  bool attribute_text(Variable& v);
  bool variable_statement(Declared declared);  // … name, name[4] = {…};
  bool variable_name(Variable& v, bool anonymous_allowed);
  bool dimensions(Variable& v);
  bool initialiser(Variable& v);
  bool initialiser_list(Variable& v);
  bool initial_value(const Variable& v, InitValue& value);
  bool symbol_value(InitValue& value);
  bool symbol_offset(InitValue& value);
  static void convert_initial(const Variable& v, const Constant& c, InitValue& value);
  bool parameter_list(std::vector<Variable>& list);
  bool register_statement();
  bool declare_register(const Variable& form, std::string_view text, bool numbered, std::uint32_t count, SourcePlace place);
  bool add_module_variable(Variable&& v);
  bool add_function_variable(Variable&& v);
  bool add_old_parameter(Variable&& v);

  // ---- bodies (parse_body.cpp) ----
  void begin_body(Function& f);
  void body();
  void end_body();
  bool body_statement();  // false: failed, or the body ended
  bool body_directive(std::string_view word);
  bool label_or_prototype(std::string_view text, SourcePlace place);
  Index label_name(std::string_view text);
  bool declare_label(std::string_view text, SourcePlace place, Index target, bool is_prototype);
  bool prototype(std::string_view text, SourcePlace place);
  bool call_prototype(Prototype& p);
  bool pragma_marker();
  bool declare_parameters(const std::vector<Variable>& list, LocalName::Kind kind);
  [[nodiscard]] Index current_scope() const { return open_scopes_.back().scope; }
  void open_scope();
  void close_scope();
  void resync_body(const Cursor& statement);
  Index label_reference(std::string_view text, SourcePlace place);
  void resolve_references();
  void add_marker(MarkerKind kind, Index ref);
  [[nodiscard]] bool unterminated_here();

  // ---- instructions (parse_instr.cpp, parse_operand.cpp) ----
  struct Chunk {  // "ld.global.v4.f32", decoded once
    Opcode opcode = Opcode::unknown;
    Index name = no_index;
    Index first = 0;
    std::uint16_t count = 0;
    bool valid = false;
  };
  bool instruction();
  bool guard(Instr& i);
  bool opcode_and_modifiers(Instr& i);
  bool decode(std::string_view text, Chunk& chunk);
  bool modifier(std::string_view text, std::vector<Modifier>& into);
  bool loose_modifiers(Instr& i, std::string_view text);
  bool operands(Instr& i);
  bool operand(unsigned depth);
  bool simple_operand(unsigned depth);
  bool plain_number(std::uint64_t& value);
  bool immediate_operand();
  bool named_operand(bool negated);
  bool name_as_operand(std::string_view text, SourcePlace place, Operand& o);
  bool component(Operand& o);
  bool bracketed_children(OperandKind kind, char close, unsigned depth);
  bool address_operand(unsigned depth);
  bool address_base(Operand& o);
  bool address_offset(Operand& o);
  bool array_index(Operand& o);
  bool make_parent(OperandKind kind, std::size_t first_child);
  void append_operands(std::size_t first);

  struct ModuleName {
    enum class Kind : std::uint8_t { variable, function } kind = Kind::variable;
    Index ref = no_index;
  };
  struct LabelName {                 // by text, for one function
    Index current_scope = no_index;  // innermost open scope that declares it
    Index pending = no_index;        // references not yet resolved, newest first
  };
  struct Reference {
    std::string_view text;
    SourcePlace place;
    Index scope = 0;
    Index next = no_index;
    Index target = no_index;
    bool to_prototype = false;
  };
  struct OpenLabel {
    Index label_name = 0;  // label_names_
    Index target = 0;      // Function::labels or prototypes
    bool is_prototype = false;
    Index outer_scope = no_index;  // LabelName::current_scope before
    Index first_reference = 0;     // references_ when it was declared
  };
  struct OpenScope {
    Index scope;
    std::size_t labels;
  };
  struct Scratch {  // reused from body to body, so that a body's arrays are allocated once, exactly
    std::vector<Instr> instrs;
    std::vector<Modifier> modifiers;
    std::vector<Operand> operands;
  };

  std::string text_;
  Cursor c_;
  ParseOptions options_;
  Module m_;
  Failure failure_;
  bool failed_ = false;

  std::deque<std::string> kept_;
  NameTable<Index> strings_;
  std::vector<std::string_view> views_;  // by string
  NameTable<ModuleName> module_names_;
  NameTable<Index> unknown_modifiers_;
  NameTable<Chunk> chunks_;
  std::vector<Modifier> chunk_modifiers_;

  Prefix prefix_;
  std::uint64_t fill_budget_ = 0;  // entries that declarations may make without text of their own

  Function* function_ = nullptr;  // whose body, or header, is being read
  std::size_t function_diagnostics_ = 0;
  FunctionNames locals_;
  NameTable<Index> label_index_;
  std::vector<LabelName> label_names_;
  std::vector<Reference> references_;
  std::vector<Index> label_operands_;
  std::vector<OpenLabel> open_labels_;
  std::vector<OpenScope> open_scopes_;
  std::vector<Operand> stack_;                   // operands of the instruction at hand that have no parent yet
  ControlEffect control_ = ControlEffect::none;  // of the instruction at hand: says what a name may mean
  bool elements_are_addresses_ = false;          // table[3] in the instruction at hand is an address, not a value
  Scratch scratch_;
  bool body_ended_ = false;
};

}  // namespace tessera::ptx
