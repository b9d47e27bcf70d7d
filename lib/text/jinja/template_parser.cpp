#include "cogen/text/chat_template.hpp"
#include "text/jinja/expression_parser.hpp"
#include "text/jinja/lexer.hpp"
#include "text/jinja/statements.hpp"

#include <algorithm>
#include <initializer_list>

namespace cogen::text::jinja {
namespace {

class template_parser {
 public:
  explicit template_parser(std::string_view source) : from_(lex(source)), expressions_(from_) {}

  statement_list run() { return parse_until({}); }

 private:
  using words = std::initializer_list<std::string_view>;

  // Leaves the ending statement's first word to be read.
  statement_list parse_until(words endings) {
    expression_parser::nesting one_deeper(expressions_);
    statement_list body;
    while (!from_.at_end()) {
      if (from_.is(lexeme_kind::data)) {
        auto data = from_.take();
        body.push_back(std::make_unique<text_statement>(data.line, std::move(data.text)));
      } else if (from_.is(lexeme_kind::output_begin)) {
        body.push_back(parse_output());
      } else {
        from_.expect(lexeme_kind::statement_begin, "a tag");
        if (is_one_of(endings)) return body;
        body.push_back(parse_statement());
      }
    }
    if (endings.size() > 0) from_.refuse("'" + std::string(*std::prev(endings.end())) + "'");
    return body;
  }

  statement_list parse_body(std::string_view ending) {
    begin_body();
    auto body = parse_until({ending});
    from_.take();
    end_statement();
    return body;
  }

  bool is_one_of(words endings) const {
    return std::any_of(endings.begin(), endings.end(), [this](auto word) { return from_.is_name(word); });
  }

  statement_ptr parse_output() {
    auto line = from_.take().line;
    auto what = expressions_.parse_tuple();
    from_.expect(lexeme_kind::output_end, "'}}'");
    return std::make_unique<output_statement>(line, std::move(what));
  }

  statement_ptr parse_statement() {
    auto word = from_.expect(lexeme_kind::name, "the name of a statement");
    if (word.text == "if") return parse_if(word.line);
    if (word.text == "for") return parse_for(word.line);
    if (word.text == "set") return parse_set(word.line);
    if (word.text == "macro") return parse_macro(word.line);
    if (word.text == "filter") {
      return std::make_unique<output_statement>(word.line, parse_block_text(word.line, true, "endfilter"));
    }
    if (word.text == "generation") {
      return std::make_unique<generation_statement>(word.line, parse_body("endgeneration"));
    }
    if (word.text == "break" || word.text == "continue") return parse_jump(word);
    throw template_error("the statement '" + word.text + "' is unknown", word.line);
  }

  void end_statement() { from_.expect(lexeme_kind::statement_end, "'%}'"); }

  // Jinja allows a colon, as Python has it, before a body.
  void begin_body() {
    from_.take_symbol(":");
    end_statement();
  }

  statement_ptr parse_if(std::size_t line) {
    std::vector<if_statement::branch> branches;
    std::string word;
    do {
      auto condition = expressions_.parse_tuple(false);
      begin_body();
      branches.push_back({std::move(condition), parse_until({"elif", "else", "endif"})});
      word = from_.take().text;
    } while (word == "elif");
    if (word == "else") {
      branches.push_back({nullptr, parse_body("endif")});
    } else {
      end_statement();
    }
    return std::make_unique<if_statement>(line, std::move(branches));
  }

  statement_ptr parse_for(std::size_t line) {
    for_statement::parts parts;
    parts.each = parse_target(false);
    from_.expect_name("in");
    parts.items = expressions_.parse_tuple(false);
    if (from_.take_name("if")) parts.condition = expressions_.parse();
    if (from_.is_name("recursive")) throw template_error("recursive loops are unknown", from_.line());
    begin_body();
    ++loops_;
    parts.body = parse_until({"else", "endfor"});
    --loops_;
    if (from_.take().text == "else") {
      parts.otherwise = parse_body("endfor");
    } else {
      end_statement();
    }
    return std::make_unique<for_statement>(line, std::move(parts));
  }

  statement_ptr parse_set(std::size_t line) {
    auto to = parse_target(true);
    if (!from_.take_symbol("=")) {
      return std::make_unique<set_statement>(line, std::move(to), parse_block_text(line, false, "endset"));
    }
    auto what = expressions_.parse_tuple();
    end_statement();
    return std::make_unique<set_statement>(line, std::move(to), std::move(what));
  }

  // What filters make of the text that a body writes. In a filter block the first one stands without its bar.
  expression_ptr parse_block_text(std::size_t line, bool is_filter_block, std::string_view ending) {
    auto text = std::make_unique<block_text>(line);
    auto* unfiltered = text.get();
    expression_ptr whole = std::move(text);
    if (is_filter_block) whole = expressions_.parse_filter(std::move(whole));
    while (from_.take_symbol("|")) whole = expressions_.parse_filter(std::move(whole));
    unfiltered->set_body(parse_separately(ending));
    return whole;
  }

  statement_ptr parse_macro(std::size_t line) {
    macro_statement::parts parts;
    parts.name = from_.expect(lexeme_kind::name, "the macro's name").text;
    from_.expect_symbol("(");
    while (!from_.is_symbol(")")) {
      parts.parameters.push_back(parse_parameter(parts));
      if (!from_.is_symbol(")")) from_.expect_symbol(",");
    }
    from_.take();
    parts.body = parse_separately("endmacro");
    return std::make_unique<macro_statement>(line, std::move(parts));
  }

  macro_statement::parameter parse_parameter(const macro_statement::parts& before) {
    auto name = from_.expect(lexeme_kind::name, "a parameter").text;
    bool has_default = from_.take_symbol("=");
    bool follows_default = !before.parameters.empty() && before.parameters.back().otherwise;
    if (follows_default && !has_default) from_.refuse("a default for '" + name + "'");
    return {std::move(name), has_default ? expressions_.parse() : nullptr};
  }

  // A body whose loops are its own: break and continue do not reach out of it.
  statement_list parse_separately(std::string_view ending) {
    auto loops = std::exchange(loops_, 0);
    auto body = parse_body(ending);
    loops_ = loops;
    return body;
  }

  statement_ptr parse_jump(const lexeme& word) {
    if (loops_ == 0) throw template_error("'" + word.text + "' stands outside of a loop", word.line);
    end_statement();
    return std::make_unique<jump_statement>(word.line, word.text == "break" ? flow::out_of_loop : flow::next_iteration);
  }

  target parse_target(bool may_be_member) {
    auto line = from_.line();
    bool has_parentheses = from_.take_symbol("(");
    auto first = parse_variable();
    if (!has_parentheses && may_be_member && from_.take_symbol(".")) {
      return {line, member_name{std::move(first), from_.expect(lexeme_kind::name, "a member").text}};
    }
    if (!from_.is_symbol(",") && !has_parentheses) return {line, std::move(first)};
    names all{std::move(first)};
    while (from_.take_symbol(",") && from_.is(lexeme_kind::name) && !from_.is_name("in"))
      all.push_back(parse_variable());
    if (has_parentheses) from_.expect_symbol(")");
    return {line, std::move(all)};
  }

  std::string parse_variable() { return from_.expect(lexeme_kind::name, "a variable").text; }

  lexeme_stream from_;
  expression_parser expressions_;
  std::size_t loops_ = 0;
};

}  // namespace

statement_list parse_template(std::string_view source) { return template_parser(source).run(); }

}  // namespace cogen::text::jinja
