#pragma once

#include "formats/text/jinja/expressions.hpp"
#include "formats/text/jinja/lexer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::text::jinja {

/// Parses expressions with the precedence that Jinja gives them. Throws template_error for unsupported syntax.
class expression_parser {
 public:
  explicit expression_parser(lexeme_stream& lexemes) : lexemes_(lexemes) {}

  /// One expression; `with_condition` says whether "a if b else c" may be one.
  expression_ptr parse(bool with_condition = true);

  /// One expression, or several with commas between them as a tuple.
  expression_ptr parse_tuple(bool with_condition = true);

  /// The name of a filter of `input`, perhaps with arguments.
  expression_ptr parse_filter(expression_ptr input);

  /// What stands between parentheses after a name.
  argument_list_ptr parse_arguments();

  /// Which variables have been named that a macro has only if its body names them.
  struct macro_variables {
    bool caller = false, varargs = false, kwargs = false;
  };
  macro_variables named;

  /// One level of nesting during its lifetime.
  class nesting {
   public:
    explicit nesting(expression_parser& parser);
    nesting(const nesting&) = delete;
    ~nesting() { --parser_->depth_; }

   private:
    expression_parser* parser_;
  };

 private:
  expression_ptr parse_conditional();
  expression_ptr parse_or();
  expression_ptr parse_and();
  expression_ptr parse_not();
  expression_ptr parse_comparison();
  expression_ptr parse_sum();
  expression_ptr parse_concatenation();
  expression_ptr parse_product();
  expression_ptr parse_power();
  expression_ptr parse_unary(bool with_filters = true);
  expression_ptr parse_primary();
  expression_ptr parse_name();
  expression_ptr parse_string();
  expression_ptr parse_number();
  expression_ptr parse_parentheses();
  expression_ptr parse_list();
  expression_ptr parse_dictionary();
  expression_ptr parse_postfix(expression_ptr object);
  expression_ptr parse_member(expression_ptr object);
  expression_ptr parse_subscript(expression_ptr object);
  expression_ptr parse_slice(expression_ptr object, expression_ptr begin, std::size_t line);
  std::string parse_dotted_name(std::string_view description);
  expression_ptr parse_call(expression_ptr callee);
  expression_ptr parse_filters(expression_ptr input);
  expression_ptr parse_test(expression_ptr input);
  bool is_argument_of_test() const;
  std::optional<comparison> take_comparison();
  bool is_tuple_end() const;
  template <typename Node, typename... Parts>
  expression_ptr make(std::size_t line, Parts&&... parts) const;

  lexeme_stream& lexemes_;
  std::size_t depth_ = 0;
};

}  // namespace cogen::text::jinja
