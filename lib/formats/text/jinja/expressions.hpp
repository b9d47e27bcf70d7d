#pragma once

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/operators.hpp"
#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::text::jinja {

struct expression;
using expression_ptr = std::unique_ptr<expression>;
struct statement;
using statement_list = std::vector<statement>;

/// What stands between the parentheses of a call, not yet evaluated.
struct argument_list {
  std::vector<expression_ptr> positional;
  std::vector<std::pair<std::string, expression_ptr>> named;
  expression_ptr more_positional;  // after '*', perhaps none
  expression_ptr more_named;       // after '**', perhaps none
};
using argument_list_ptr = std::unique_ptr<const argument_list>;  // perhaps none

struct constant {
  value content;
};

struct variable {
  std::string name;
};

/// object.name
struct attribute {
  expression_ptr object;
  std::string name;
};

/// object[key]
struct subscript {
  expression_ptr object, key;
};

/// object[begin:end:step], each bound perhaps missing.
struct slice {
  expression_ptr object, begin, end, step;
};

/// callee(...), or callee.method(...) where a method is named.
struct call {
  expression_ptr callee;
  std::string method;
  argument_list_ptr given;
};

/// input | name(...)
struct filtered {
  expression_ptr input;
  std::string name;
  argument_list_ptr given;
  filter apply = find_filter(name);
};

/// input is name(...)
struct tested {
  expression_ptr input;
  std::string name;
  argument_list_ptr given;
  value_test check = find_test(name);
};

struct negation {
  enum class kind { logical, minus, plus };
  kind operation;
  expression_ptr operand;
};

struct calculation {
  arithmetic operation;
  expression_ptr left, right;
};

/// a ~ b ~ c
struct concatenation {
  std::vector<expression_ptr> parts;
};

/// a < b <= c
struct comparison_chain {
  expression_ptr first;
  std::vector<std::pair<comparison, expression_ptr>> links;
};

/// left and right, left or right: the value of the side that decides.
struct connective {
  bool is_and;
  expression_ptr left, right;
};

/// then if condition else otherwise, the last perhaps missing.
struct conditional {
  expression_ptr then, condition, otherwise;
};

struct list_literal {
  std::vector<expression_ptr> items;
  bool is_tuple;
};

struct dictionary_literal {
  std::vector<std::pair<expression_ptr, expression_ptr>> items;
};

/// The text that a body writes: what {% set target %}...{% endset %} and {% filter name %}...{% endfilter %} begin
/// with. Filters of it are parsed before its body.
struct block_text {
  std::shared_ptr<const statement_list> body;
};

/// A part of a template that has a value. Immutable.
struct expression {
  std::uint32_t line;    // small, as a template may have a node for every byte
  std::uint32_t height;  // the number of levels below and with this one
  std::variant<constant, variable, attribute, subscript, slice, call, filtered, tested, negation, calculation,
               concatenation, comparison_chain, connective, conditional, list_literal, dictionary_literal, block_text>
      node;

  /// Throws template_error.
  value evaluate(renderer& run) const;
};

/// What the call gives. A call block gives it one argument more, its body.
value evaluate(renderer& run, const call& node, const value* caller);

}  // namespace cogen::text::jinja
