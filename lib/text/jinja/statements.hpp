#pragma once

#include "text/jinja/expressions.hpp"
#include "text/jinja/renderer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::text::jinja {

/// Whether the loop around a statement goes on after it.
enum class flow { on, next_iteration, out_of_loop };

/// A part of a template that does something. Immutable.
class statement {
 public:
  virtual ~statement() = default;

  /// Throws template_error.
  flow execute(renderer& run) const {
    auto level = run.enter(line_);
    return perform(run);
  }

 protected:
  explicit statement(std::size_t line) : line_(line) {}

 private:
  virtual flow perform(renderer& run) const = 0;
  std::size_t line_;
};

using statement_ptr = std::unique_ptr<statement>;
using statement_list = std::vector<statement_ptr>;

flow execute_all(renderer& run, const statement_list& body);

/// Text outside of tags.
class text_statement final : public statement {
 public:
  text_statement(std::size_t line, std::string text) : statement(line), text_(std::move(text)) {}

 private:
  flow perform(renderer& run) const override;
  std::string text_;
};

/// {{ expression }}
class output_statement final : public statement {
 public:
  output_statement(std::size_t line, expression_ptr what) : statement(line), what_(std::move(what)) {}

 private:
  flow perform(renderer& run) const override;
  expression_ptr what_;
};

/// Several variables that take the items of a list.
using names = std::vector<std::string>;

/// One member of a namespace.
struct member_name {
  std::string space;
  std::string member;
};

/// What a value is assigned to: one variable, several, or a member.
struct target {
  std::size_t line = 0;
  std::variant<std::string, names, member_name> what;

  void assign(renderer& run, const value& source) const;
};

class if_statement final : public statement {
 public:
  struct branch {
    expression_ptr condition;  // none: always
    statement_list body;
  };
  if_statement(std::size_t line, std::vector<branch> branches) : statement(line), branches_(std::move(branches)) {}

 private:
  flow perform(renderer& run) const override;
  std::vector<branch> branches_;
};

class for_statement final : public statement {
 public:
  struct parts {
    target each;
    expression_ptr items;
    expression_ptr condition;  // perhaps none
    statement_list body;
    statement_list otherwise;  // where there are no items
  };
  for_statement(std::size_t line, parts given) : statement(line), parts_(std::move(given)) {}

 private:
  flow perform(renderer& run) const override;
  shared_list chosen(renderer& run) const;
  parts parts_;
};

/// {% set target = expression %}
class set_statement final : public statement {
 public:
  set_statement(std::size_t line, target to, expression_ptr what)
      : statement(line), to_(std::move(to)), what_(std::move(what)) {}

 private:
  flow perform(renderer& run) const override;
  target to_;
  expression_ptr what_;
};

/// The text that a body writes: what {% set target %}...{% endset %} and {% filter name %}...{% endfilter %} begin
/// with.
class block_text final : public expression {
 public:
  explicit block_text(std::size_t line) : expression(line) {}
  /// Its filters are parsed before its body.
  void set_body(statement_list body) { body_ = std::move(body); }

 private:
  value compute(renderer& run) const override;
  statement_list body_;
};

class macro_statement final : public statement {
 public:
  struct parameter {
    std::string name;
    expression_ptr otherwise;  // perhaps none
  };
  struct parts {
    std::string name;
    std::vector<parameter> parameters;
    statement_list body;
  };
  macro_statement(std::size_t line, parts given) : statement(line), parts_(std::move(given)) {}

  const parts& content() const noexcept { return parts_; }

 private:
  flow perform(renderer& run) const override;
  parts parts_;
};

/// {% break %} and {% continue %}
class jump_statement final : public statement {
 public:
  jump_statement(std::size_t line, flow where) : statement(line), where_(where) {}

 private:
  flow perform(renderer&) const override { return where_; }
  flow where_;
};

/// {% generation %}: marks what the assistant wrote, for training only.
class generation_statement final : public statement {
 public:
  generation_statement(std::size_t line, statement_list body) : statement(line), body_(std::move(body)) {}

 private:
  flow perform(renderer& run) const override;
  statement_list body_;
};

/// Parses a whole template. Throws template_error naming the first construct that is unknown or malformed, and its
/// line.
statement_list parse_template(std::string_view source);

}  // namespace cogen::text::jinja
