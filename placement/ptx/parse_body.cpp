// Bodies: scopes, labels, declarations and prototypes; instructions are read by parse_instr.cpp.
#include <algorithm>
#include <utility>

#include "placement/ptx/parser.h"

namespace tessera::ptx {

void Parser::begin_body(Function& f) {
  f.instrs.swap(scratch_.instrs);
  f.modifiers.swap(scratch_.modifiers);
  f.operands.swap(scratch_.operands);
  f.instrs.clear();
  f.modifiers.clear();
  f.operands.clear();
  label_index_.clear();
  label_names_.clear();
  references_.clear();
  label_operands_.clear();
  open_labels_.clear();
  open_scopes_.assign(1, {0, 0});
  f.scope_parents.assign(1, no_index);
  body_ended_ = false;
  if (!declare_parameters(f.returns, LocalName::Kind::return_parameter) || !declare_parameters(f.params, LocalName::Kind::parameter))
    report();
}

// Parameters are variables of the body's outermost scope; those of old functions that live in registers are registers.
bool Parser::declare_parameters(const std::vector<Variable>& list, LocalName::Kind kind) {
  for (Index i = 0; i < list.size(); ++i) {
    const Variable& v = list[i];
    const std::string_view text = view_of(v.name);
    if (v.space == Space::reg) {
      if (!declare_register(v, text, false, 1, v.place)) return false;
    } else if (!locals_.declare(text, {kind, i}) && text != "_") {
      return fail_at(v.place, "found a second parameter '" + std::string{text} + "', expected a new name");
    }
  }
  return true;
}

void Parser::body() {
  c_.take('{');
  while (!body_ended_) {
    const Cursor start = c_;
    prefix_ = {};
    if (body_statement() || body_ended_) continue;
    report();
    c_ = start;
    resync_body(start);
  }
}

void Parser::end_body() {
  Function& f = *function_;
  while (!open_scopes_.empty()) close_scope();
  resolve_references();
  const auto trim = [](auto& used, auto& spare) {
    auto exact = used;
    used.swap(spare);
    used = std::move(exact);
  };
  trim(f.instrs, scratch_.instrs);
  trim(f.modifiers, scratch_.modifiers);
  trim(f.operands, scratch_.operands);
}

bool Parser::body_statement() {
  const char here = *c_.at;
  if (is(here, char_class::name_start)) {
    const Cursor start = c_;
    const std::string_view text = c_.name();
    const char* behind = c_.at;
    if (*behind != '.') c_.skip_space();
    if (c_.at[0] == ':' && c_.at[1] != ':') {
      c_.take(':');
      return label_or_prototype(text, start.place());
    }
    c_ = start;
    return instruction();
  }
  switch (here) {
    case '@':
      if (c_.at[1] != '@') return instruction();
      c_.skip_line();  // @@DWARF
      c_.skip_space();
      return true;
    case '.': {
      if (unterminated_here()) {
        fail("'}' at the end of the body");
        report();
        body_ended_ = true;
        return false;
      }
      const std::string_view word = c_.dot_word();
      if (word.empty()) return fail("a directive");
      c_.skip_space();
      return body_directive(word);
    }
    case '{':
      c_.take('{');
      open_scope();
      return true;
    case '}':
      c_.take('}');
      if (open_scopes_.size() == 1) {
        body_ended_ = true;
      } else {
        add_marker(MarkerKind::scope_close, current_scope());
        close_scope();
      }
      return true;
    case ';':
      c_.take(';');
      return true;
    case '\0':
      fail("'}' at the end of the body");
      report();
      body_ended_ = true;
      return false;
    default:
      return fail("an instruction, a directive, a label, '{' or '}'");
  }
}

// A word that only stands at module level: this body was never closed.
bool Parser::unterminated_here() {
  Cursor ahead = c_;
  for (;;) {
    const std::string_view word = ahead.dot_word();
    if (word == "entry" || word == "func") return true;
    if (!linkage_word(word)) {
      prefix_ = {};
      return word == "version";
    }
    ahead.skip_space();
  }
}

bool Parser::body_directive(std::string_view word) {
  if (word == "reg") {
    c_.at = word.data() - 1;
    return register_statement();
  }
  if (word == "loc") {
    const std::string_view text = c_.rest_of_line();
    add_marker(MarkerKind::loc, intern(text));
    c_.skip_space();
    return true;
  }
  if (word == "pragma") return pragma_marker();
  if (word == "file") return file_directive();
  if (word == "section") return section_directive(word.data() - 1);
  if (linkage_word(word)) return variable_statement(&Parser::add_function_variable);
  c_.at = word.data() - 1;
  if (word == "param" && function_->is_entry && open_scopes_.size() == 1 && m_.version_major == 1 && m_.version_minor < 4) {
    return variable_statement(&Parser::add_old_parameter);
  }
  for (Space space : {Space::shared, Space::local, Space::param, Space::global, Space::const_}) {
    if (word == text_of(space)) return variable_statement(&Parser::add_function_variable);
  }
  return fail("a directive that a body may have (.reg, .shared, .local, .param, .loc, .pragma, …)");
}

bool Parser::pragma_marker() {
  const char* begin = c_.at;
  const char* end = begin;
  do {
    if (c_.quoted().empty()) return fail("a quoted text");
    end = c_.at;
    c_.skip_space();
  } while (c_.take(','));
  if (!expect(';')) return false;
  add_marker(MarkerKind::pragma, intern({begin, static_cast<std::size_t>(end - begin)}));
  return true;
}

void Parser::add_marker(MarkerKind kind, Index ref) {
  function_->markers.push_back({kind, static_cast<Index>(function_->instrs.size()), ref});
}

void Parser::open_scope() {
  Function& f = *function_;
  const auto scope = static_cast<Index>(f.scope_parents.size());
  f.scope_parents.push_back(current_scope());
  open_scopes_.push_back({scope, open_labels_.size()});
  locals_.open_scope(scope);
  add_marker(MarkerKind::scope_open, scope);
}

// Gives each label of the scope the references that were made inside it; what is left belongs to the scopes around it.
void Parser::close_scope() {
  const OpenScope scope = open_scopes_.back();
  while (open_labels_.size() > scope.labels) {
    const OpenLabel label = open_labels_.back();
    open_labels_.pop_back();
    LabelName& entry = label_names_[label.label_name];
    Index at = entry.pending;
    for (; at != no_index && references_[at].scope >= scope.scope; at = references_[at].next) {
      if (label.is_prototype && at < label.first_reference) continue;  // must be declared before its use
      references_[at].target = label.target;
      references_[at].to_prototype = label.is_prototype;
    }
    entry.pending = at;
    entry.current_scope = label.outer_scope;
  }
  open_scopes_.pop_back();
  if (!open_scopes_.empty()) locals_.close_scope();
}

bool Parser::label_or_prototype(std::string_view text, SourcePlace place) {
  const std::string_view word = c_.peek_dot_word();
  if (word == "callprototype" || word == "calltargets" || word == "branchtargets") return prototype(text, place);
  Function& f = *function_;
  const auto index = static_cast<Index>(f.labels.size());
  if (!declare_label(text, place, index, false)) return false;
  f.labels.push_back({intern(text), current_scope(), static_cast<Index>(f.instrs.size()), place});
  add_marker(MarkerKind::label, index);
  return true;
}

Index Parser::label_name(std::string_view text) {
  const auto [index, fresh] = label_index_.insert(text, static_cast<Index>(label_names_.size()));
  if (fresh) label_names_.emplace_back();
  return index;
}

bool Parser::declare_label(std::string_view text, SourcePlace place, Index target, bool is_prototype) {
  const Index name_index = label_name(text);
  LabelName& entry = label_names_[name_index];
  if (entry.current_scope == current_scope())
    return fail_at(place, "found a second label '" + std::string{text} + "' in one scope, expected a new name");
  open_labels_.push_back({name_index, target, is_prototype, entry.current_scope, static_cast<Index>(references_.size())});
  entry.current_scope = current_scope();
  return true;
}

Index Parser::label_reference(std::string_view text, SourcePlace place) {
  LabelName& entry = label_names_[label_name(text)];
  const auto index = static_cast<Index>(references_.size());
  references_.push_back({text, place, current_scope(), entry.pending, no_index, false});
  entry.pending = index;
  return index;
}

// References stand in operands and prototypes by their own number until now.
void Parser::resolve_references() {
  Function& f = *function_;
  for (Reference& r : references_) {
    if (r.target != no_index) continue;
    diagnose(r.place, "found '" + std::string{r.text} + "', expected a label of this function, or a prototype declared before");
    r.target = static_cast<Index>(f.labels.size());
    f.labels.push_back({intern(r.text), r.scope, no_index, r.place});
  }
  for (Index at : label_operands_) {
    Operand& o = f.operands[at];
    const Reference& r = references_[o.ref];
    o.ref = r.target;
    if (r.to_prototype) o.kind = OperandKind::proto;
  }
  for (Prototype& p : f.prototypes) {
    if (p.kind != Prototype::Kind::branch_targets) continue;
    for (Index& target : p.targets) {
      const Reference& r = references_[target];
      target = r.target;
      if (!r.to_prototype) continue;
      diagnose(r.place, "found the prototype '" + std::string{r.text} + "', expected a label");
      target = static_cast<Index>(f.labels.size());
      f.labels.push_back({intern(r.text), r.scope, no_index, r.place});
    }
  }
}

bool Parser::prototype(std::string_view text, SourcePlace place) {
  const std::string_view word = c_.dot_word();
  c_.skip_space();
  Prototype p;
  p.name = intern(text);
  p.place = place;
  p.scope = current_scope();
  if (word == "callprototype") {
    if (!call_prototype(p)) return false;
  } else {
    p.kind = word == "calltargets" ? Prototype::Kind::call_targets : Prototype::Kind::branch_targets;
    do {
      const SourcePlace here = c_.place();
      std::string_view target;
      if (!name(target, "a name")) return false;
      p.targets.push_back(p.kind == Prototype::Kind::call_targets ? intern(target) : label_reference(target, here));
    } while (c_.take(','));
  }
  Function& f = *function_;
  const auto index = static_cast<Index>(f.prototypes.size());
  if (!expect(';') || !declare_label(text, place, index, true)) return false;
  f.prototypes.push_back(std::move(p));
  add_marker(MarkerKind::prototype, index);
  return true;
}

// .callprototype (returns) _ (parameters) .noreturn;
bool Parser::call_prototype(Prototype& p) {
  if (*c_.at == '(' && !parameter_list(p.returns)) return false;
  std::string_view placeholder;
  if (!name(placeholder, "'_'")) return false;
  if (*c_.at == '(' && !parameter_list(p.params)) return false;
  while (*c_.at == '.') {
    const std::string_view word = c_.dot_word();
    c_.skip_space();
    if (word == "noreturn") {
      p.noreturn = true;
    } else if (word == "abi_preserve" || word == "abi_preserve_control") {
      std::uint64_t ignored = 0;
      if (!unsigned_constant(ignored)) return false;
    } else {
      return fail("';'");
    }
  }
  return true;
}

// To behind the statement's ';', or in front of the '}' that closes the scope around it.
void Parser::resync_body(const Cursor& statement) {
  std::size_t depth = 0;
  while (!c_.at_end()) {
    const char here = *c_.at;
    if (here == '.' && c_.at != statement.at && unterminated_here()) return;
    if (here == '}') {
      if (depth == 0) return;
      --depth;
    }
    if (here == '{') ++depth;
    c_.skip_token();
    if (here == ';') break;
  }
  // A ';' inside braces: they were scopes, not vectors.
  for (; depth > 0; --depth) open_scope();
}

}  // namespace tessera::ptx
