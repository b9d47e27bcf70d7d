#include "formats/text/jinja/expression_parser.hpp"
#include "formats/text/jinja/lexer.hpp"
#include "formats/text/jinja/statements.hpp"

#include <cogen/text/chat_template.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

namespace cogen::text::jinja {
namespace {

class template_parser {
 public:
  explicit template_parser(std::string_view source) : lexemes_(lex(source)), expressions_(lexemes_) {}

  statement_list run() { return parse_until({}); }

 private:
  using words = std::initializer_list<std::string_view>;

  template <typename Node>
  static statement make(std::size_t line, Node node) {
    return {line, std::make_unique<const Node>(std::move(node))};
  }

  // Leaves the ending statement's first word to be read.
  statement_list parse_until(words endings) {
    expression_parser::nesting one_deeper(expressions_);
    statement_list body;
    while (!lexemes_.at_end()) {
      if (lexemes_.is(lexeme_kind::data)) {
        auto data = lexemes_.take();
        body.push_back(make(data.line, text_statement{std::move(data.text)}));
      } else if (lexemes_.is(lexeme_kind::output_begin)) {
        body.push_back(parse_output());
      } else {
        lexemes_.expect(lexeme_kind::statement_begin, "a tag");
        if (is_one_of(endings)) return body;
        body.push_back(parse_statement());
      }
    }
    if (endings.size() > 0) lexemes_.refuse("'" + std::string(*std::prev(endings.end())) + "'");
    return body;
  }

  statement_list parse_body(std::string_view ending) {
    begin_body();
    auto body = parse_until({ending});
    lexemes_.take();
    end_statement();
    return body;
  }

  bool is_one_of(words endings) const {
    return std::any_of(endings.begin(), endings.end(), [this](auto word) { return lexemes_.is_name(word); });
  }

  statement parse_output() {
    auto line = lexemes_.take().line;
    auto output = expressions_.parse_tuple();
    lexemes_.expect(lexeme_kind::output_end, "'}}'");
    return make(line, output_statement{std::move(output)});
  }

  statement parse_statement() {
    auto word = lexemes_.expect(lexeme_kind::name, "the name of a statement");
    if (word.text == "if") return parse_if(word.line);
    if (word.text == "for") return parse_for(word.line);
    if (word.text == "set") return parse_set(word.line);
    if (word.text == "with") return parse_with(word.line);
    if (word.text == "macro") return parse_macro(word.line);
    if (word.text == "call") return parse_call(word.line);
    if (word.text == "block") return parse_block(word.line);
    if (word.text == "filter") {
      return make(word.line, output_statement{parse_block_text(word.line, true, "endfilter")});
    }
    if (word.text == "print") return parse_print(word.line);
    if (word.text == "generation") {
      return make(word.line, scoped_statement{parse_separately("endgeneration")});
    }
    if (word.text == "autoescape") return parse_autoescape(word.line);
    if (word.text == "break" || word.text == "continue") return parse_jump(word);
    return parse_other_template(word);
  }

  // Statements that need another template are errors where they are reached.
  statement parse_other_template(const lexeme& word) {
    constexpr std::array<std::string_view, 4> known{"include", "import", "from", "extends"};
    if (std::ranges::find(known, word.text) == known.end())
      throw template_error("the statement '" + word.text + "' is unknown", word.line);
    expressions_.parse();
    if (word.text == "import") {
      lexemes_.expect_name("as");
      parse_variable();
    } else if (word.text == "from") {
      parse_imported_names();
    }
    if (word.text == "include" && lexemes_.take_name("ignore")) lexemes_.expect_name("missing");
    if (word.text != "extends" && (lexemes_.take_name("with") || lexemes_.take_name("without")))
      lexemes_.expect_name("context");
    end_statement();
    return make(word.line, refused_statement{"'" + word.text + "' needs another template: there is none"});
  }

  void parse_imported_names() {
    lexemes_.expect_name("import");
    do {
      parse_variable();
      if (lexemes_.take_name("as")) parse_variable();
    } while (lexemes_.take_symbol(",") && !lexemes_.is(lexeme_kind::statement_end));
  }

  statement parse_print(std::size_t line) {
    statement_list parts;
    while (!lexemes_.is(lexeme_kind::statement_end)) {
      if (!parts.empty()) lexemes_.expect_symbol(",");
      parts.push_back(make(line, output_statement{expressions_.parse()}));
    }
    end_statement();
    return make(line, scoped_statement{std::move(parts)});
  }

  statement parse_autoescape(std::size_t line) {
    auto escapes = expressions_.parse();
    std::vector<if_statement::branch> branches(2);
    branches[0].condition = std::move(escapes);
    branches[0].body.push_back(make(line, refused_statement{"'autoescape' would change what it writes"}));
    branches[1].body = parse_separately("endautoescape");
    statement_list body;
    body.push_back(make(line, if_statement{std::move(branches)}));
    return make(line, scoped_statement{std::move(body)});
  }

  void end_statement() { lexemes_.expect(lexeme_kind::statement_end, "'%}'"); }

  // Jinja allows a colon, as Python has it, before a body.
  void begin_body() {
    lexemes_.take_symbol(":");
    end_statement();
  }

  statement parse_if(std::size_t line) {
    std::vector<if_statement::branch> branches;
    std::string word;
    do {
      auto condition = expressions_.parse_tuple(false);
      begin_body();
      branches.push_back({std::move(condition), parse_until({"elif", "else", "endif"})});
      word = lexemes_.take().text;
    } while (word == "elif");
    if (word == "else") {
      branches.push_back({nullptr, parse_body("endif")});
    } else {
      end_statement();
    }
    return make(line, if_statement{std::move(branches)});
  }

  statement parse_for(std::size_t line) {
    for_statement parts;
    ++enclosing_loops_;
    parts.variable = parse_target(false);
    lexemes_.expect_name("in");
    parts.items = expressions_.parse_tuple(false);
    if (lexemes_.take_name("if")) parts.condition = expressions_.parse();
    parts.is_recursive = lexemes_.take_name("recursive");
    begin_body();
    ++loops_;
    parts.body = parse_until({"else", "endfor"});
    --loops_;
    if (lexemes_.take().text == "else") {
      parts.otherwise = parse_body("endfor");
    } else {
      end_statement();
    }
    --enclosing_loops_;
    return make(line, std::move(parts));
  }

  statement parse_with(std::size_t line) {
    std::vector<std::pair<target, expression_ptr>> assignments;
    while (!lexemes_.is(lexeme_kind::statement_end) && !lexemes_.is_symbol(":")) {
      if (!assignments.empty()) lexemes_.expect_symbol(",");
      auto destination = parse_simple_target(false);
      lexemes_.expect_symbol("=");
      assignments.emplace_back(std::move(destination), expressions_.parse());
    }
    return make(line, with_statement{std::move(assignments), parse_body("endwith")});
  }

  statement parse_set(std::size_t line) {
    auto destination = parse_target(true);
    if (!lexemes_.take_symbol("=")) {
      return make(line, set_statement{std::move(destination), parse_block_text(line, false, "endset")});
    }
    auto source = expressions_.parse_tuple();
    end_statement();
    return make(line, set_statement{std::move(destination), std::move(source)});
  }

  // What filters make of the text that a body writes. In a filter block the first one stands without its bar.
  expression_ptr parse_block_text(std::size_t line, bool is_filter_block, std::string_view ending) {
    auto body = std::make_shared<statement_list>();
    auto whole = std::make_unique<expression>(expression{static_cast<std::uint32_t>(line), 1, block_text{body}});
    if (is_filter_block) whole = expressions_.parse_filter(std::move(whole));
    while (lexemes_.take_symbol("|")) whole = expressions_.parse_filter(std::move(whole));
    *body = parse_separately(ending);
    return whole;
  }

  statement parse_macro(std::size_t line) {
    macro_statement parts;
    parts.name = parse_variable();
    parse_signature(parts);
    parse_macro_body(line, parts, "endmacro");
    return make(line, std::move(parts));
  }

  statement parse_call(std::size_t line) {
    macro_statement body;
    body.name = "caller";
    if (lexemes_.is_symbol("(")) parse_signature(body);
    auto called = expressions_.parse();
    auto* macro_call = std::get_if<call>(&called->node);
    if (!macro_call) throw template_error("'call' needs the call of a macro", line);
    parse_macro_body(line, body, "endcall");
    return make(line, call_statement{std::move(*macro_call), std::move(body)});
  }

  void parse_signature(macro_statement& parts) {
    lexemes_.expect_symbol("(");
    while (!lexemes_.is_symbol(")")) {
      parts.parameters.push_back(parse_parameter(parts));
      if (!lexemes_.is_symbol(")")) lexemes_.expect_symbol(",");
    }
    lexemes_.take();
  }

  void parse_macro_body(std::size_t line, macro_statement& parts, std::string_view ending) {
    auto around = std::exchange(expressions_.named, {});
    parts.body = parse_separately(ending);
    auto named = expressions_.named;
    parts.takes_caller = named.caller;
    parts.takes_varargs = named.varargs;
    parts.takes_kwargs = named.kwargs;
    expressions_.named = {.caller = around.caller || named.caller,
                          .varargs = around.varargs || named.varargs,
                          .kwargs = around.kwargs || named.kwargs};
    for (const auto& parameter : parts.parameters) {
      if (named.caller && parameter.name == "caller" && !parameter.otherwise) {
        throw template_error("the parameter 'caller' needs a default", line);
      }
    }
  }

  statement parse_block(std::size_t line) {
    auto name = parse_variable();
    if (!blocks_.insert(name).second) throw template_error("the block '" + name + "' is defined twice", line);
    bool is_scoped = lexemes_.take_name("scoped");
    bool is_required = lexemes_.take_name("required");
    end_statement();
    auto loops = std::exchange(loops_, 0);
    auto body = parse_until({"endblock"});
    loops_ = loops;
    lexemes_.take();
    lexemes_.take_name(name);
    end_statement();
    if (is_required) return make(line, refused_statement{"the block '" + name + "' is required"});
    return make(line, block_statement{is_scoped, std::move(body)});
  }

  macro_statement::parameter parse_parameter(const macro_statement& previous) {
    auto name = lexemes_.expect(lexeme_kind::name, "a parameter").text;
    bool has_default = lexemes_.take_symbol("=");
    bool follows_default = !previous.parameters.empty() && previous.parameters.back().otherwise;
    if (follows_default && !has_default) lexemes_.refuse("a default for '" + name + "'");
    return {std::move(name), has_default ? expressions_.parse() : nullptr};
  }

  // A body whose loops are its own: break and continue do not reach out of it.
  statement_list parse_separately(std::string_view ending) {
    auto loops = std::exchange(loops_, 0);
    auto body = parse_body(ending);
    loops_ = loops;
    return body;
  }

  statement parse_jump(const lexeme& word) {
    if (loops_ == 0) throw template_error("'" + word.text + "' stands outside of a loop", word.line);
    end_statement();
    return make(word.line, jump_statement{word.text == "break" ? flow::out_of_loop : flow::next_iteration});
  }

  target parse_target(bool may_be_member) {
    auto line = lexemes_.line();
    auto first = parse_simple_target(may_be_member);
    if (!lexemes_.is_symbol(",")) return first;
    std::vector<target> targets;
    targets.push_back(std::move(first));
    while (lexemes_.take_symbol(",") && !is_target_end()) targets.push_back(parse_simple_target(may_be_member));
    return {line, std::move(targets)};
  }

  bool is_target_end() const {
    return lexemes_.is_symbol(")") || lexemes_.is(lexeme_kind::statement_end) || lexemes_.is_name("in");
  }

  target parse_simple_target(bool may_be_member) {
    auto line = lexemes_.line();
    if (lexemes_.take_symbol("(")) {
      expression_parser::nesting one_deeper(expressions_);
      auto inner = lexemes_.is_symbol(")") ? target{line, std::vector<target>()} : parse_target(false);
      lexemes_.expect_symbol(")");
      return inner;
    }
    auto name = parse_variable();
    if (may_be_member && lexemes_.take_symbol(".")) {
      return {line, member_name{std::move(name), lexemes_.expect(lexeme_kind::name, "a member").text}};
    }
    if (name == "loop" && enclosing_loops_ > 0) throw template_error("nothing is assigned to 'loop' in a loop", line);
    return {line, std::move(name)};
  }

  std::string parse_variable() {
    constexpr std::array constants{"true", "True", "false", "False", "none", "None"};
    if (std::ranges::any_of(constants, [this](auto* word) { return lexemes_.is_name(word); }))
      lexemes_.refuse("a variable");
    return lexemes_.expect(lexeme_kind::name, "a variable").text;
  }

  lexeme_stream lexemes_;
  expression_parser expressions_;
  std::size_t loops_ = 0;            // that break and continue reach
  std::size_t enclosing_loops_ = 0;  // that the statement stands in
  std::set<std::string> blocks_;
};

}  // namespace

statement_list parse_template(std::string_view source) { return template_parser(source).run(); }

}  // namespace cogen::text::jinja
