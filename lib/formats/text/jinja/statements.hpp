#pragma once

#include "formats/text/jinja/expressions.hpp"
#include "formats/text/jinja/renderer.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::text::jinja {

/// Whether the loop around a statement goes on after it.
enum class flow { on, next_iteration, out_of_loop };

flow execute_all(renderer& run, const statement_list& body);

/// Text outside of tags.
struct text_statement {
  std::string text;
};

/// {{ expression }}
struct output_statement {
  expression_ptr output;
};

/// One member of a namespace.
struct member_name {
  std::string space;
  std::string member;
};

/// What a value is assigned to: a variable, a member, or several targets that take its items.
struct target {
  std::size_t line = 0;
  std::variant<std::string, member_name, std::vector<target>> destination;

  void assign(renderer& run, const value& source) const;
};

struct if_statement {
  struct branch {
    expression_ptr condition;  // none: always
    statement_list body;
  };
  std::vector<branch> branches;
};

struct for_statement {
  target variable;
  expression_ptr items;
  expression_ptr condition;  // perhaps none
  bool is_recursive = false;
  statement_list body;
  statement_list otherwise;  // where there are no items
};

/// {% set target = expression %}
struct set_statement {
  target destination;
  expression_ptr source;
};

/// {% with target = expression, ... %}: the expressions do not see the targets.
struct with_statement {
  std::vector<std::pair<target, expression_ptr>> assignments;
  statement_list body;
};

struct macro_statement {
  struct parameter {
    std::string name;
    expression_ptr otherwise;  // perhaps none
  };
  std::string name;
  std::vector<parameter> parameters;
  statement_list body;
  // Which variables the body names that hold what is given beyond the parameters.
  bool takes_caller = false;
  bool takes_varargs = false;
  bool takes_kwargs = false;
};

/// {% call(parameters) name(...) %}: the called macro gets the body as another macro, `caller`.
struct call_statement {
  call called;
  macro_statement body;
};

/// {% block name %}, which no other template replaces: it sees the template's own variables, or those around it.
struct block_statement {
  bool is_scoped;
  statement_list body;
};

/// What Jinja has, and chat templates cannot do: other templates are not at hand, and nothing is escaped.
struct refused_statement {
  std::string reason;
};

/// {% break %} and {% continue %}
struct jump_statement {
  flow where;
};

/// Statements with variables of their own, such as {% generation %}, which marks what the assistant wrote.
struct scoped_statement {
  statement_list body;
};

/// Each behind a pointer: their sizes differ, and loop_state and macro point to their nodes.
template <typename... Node>
using one_of = std::variant<std::unique_ptr<const Node>...>;

/// A part of a template that does something. Immutable.
struct statement {
  std::size_t line;
  one_of<text_statement, output_statement, if_statement, for_statement, set_statement, with_statement, macro_statement,
         call_statement, block_statement, refused_statement, jump_statement, scoped_statement>
      node;

  /// Throws template_error.
  flow execute(renderer& run) const;
};

/// Parses a whole template. Throws template_error naming the first construct that is unknown or malformed, and its
/// line.
statement_list parse_template(std::string_view source);

}  // namespace cogen::text::jinja
