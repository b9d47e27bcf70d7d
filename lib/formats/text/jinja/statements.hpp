#pragma once

#include "formats/text/jinja/expressions.hpp"
#include "formats/text/jinja/renderer.hpp"

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
  output_statement(std::size_t line, expression_ptr output) : statement(line), output_(std::move(output)) {}

 private:
  flow perform(renderer& run) const override;
  expression_ptr output_;
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
    target variable;
    expression_ptr items;
    expression_ptr condition;  // perhaps none
    bool is_recursive = false;
    statement_list body;
    statement_list otherwise;  // where there are no items
  };
  for_statement(std::size_t line, parts given) : statement(line), parts_(std::move(given)) {}

  /// The body for each of these items, `depth` levels deep in recursion.
  void repeat(renderer& run, const value& items, std::size_t depth) const;

 private:
  flow perform(renderer& run) const override;
  shared_list chosen(renderer& run, const value& items) const;
  parts parts_;
};

/// {% set target = expression %}
class set_statement final : public statement {
 public:
  set_statement(std::size_t line, target destination, expression_ptr source)
      : statement(line), destination_(std::move(destination)), source_(std::move(source)) {}

 private:
  flow perform(renderer& run) const override;
  target destination_;
  expression_ptr source_;
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

/// {% with target = expression, ... %}: the expressions do not see the targets.
class with_statement final : public statement {
 public:
  using assignment = std::pair<target, expression_ptr>;
  with_statement(std::size_t line, std::vector<assignment> assignments, statement_list body)
      : statement(line), assignments_(std::move(assignments)), body_(std::move(body)) {}

 private:
  flow perform(renderer& run) const override;
  std::vector<assignment> assignments_;
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
    // Which variables the body names that hold what is given beyond the parameters.
    bool takes_caller = false;
    bool takes_varargs = false;
    bool takes_kwargs = false;
  };
  macro_statement(std::size_t line, parts given) : statement(line), parts_(std::move(given)) {}

  const parts& content() const noexcept { return parts_; }

 private:
  flow perform(renderer& run) const override;
  parts parts_;
};

/// {% call(parameters) name(...) %}: the called macro gets the body as another macro, `caller`.
class call_statement final : public statement {
 public:
  call_statement(std::size_t line, std::unique_ptr<const call> called, std::unique_ptr<const macro_statement> body)
      : statement(line), called_(std::move(called)), body_(std::move(body)) {}

 private:
  flow perform(renderer& run) const override;
  std::unique_ptr<const call> called_;
  std::unique_ptr<const macro_statement> body_;
};

/// {% block name %}, which no other template replaces: it sees the template's own variables, or those around it.
class block_statement final : public statement {
 public:
  block_statement(std::size_t line, bool is_scoped, statement_list body)
      : statement(line), is_scoped_(is_scoped), body_(std::move(body)) {}

 private:
  flow perform(renderer& run) const override;
  bool is_scoped_;
  statement_list body_;
};

/// What Jinja has, and chat templates cannot do: other templates are not at hand, and nothing is escaped.
class refused_statement final : public statement {
 public:
  refused_statement(std::size_t line, std::string reason) : statement(line), reason_(std::move(reason)) {}

 private:
  flow perform(renderer& run) const override { run.fail(reason_); }
  std::string reason_;
};

/// {% break %} and {% continue %}
class jump_statement final : public statement {
 public:
  jump_statement(std::size_t line, flow where) : statement(line), where_(where) {}

 private:
  flow perform(renderer&) const override { return where_; }
  flow where_;
};

/// Statements with variables of their own, such as {% generation %}, which marks what the assistant wrote.
class scoped_statement final : public statement {
 public:
  scoped_statement(std::size_t line, statement_list body) : statement(line), body_(std::move(body)) {}

 private:
  flow perform(renderer& run) const override;
  statement_list body_;
};

/// Parses a whole template. Throws template_error naming the first construct that is unknown or malformed, and its
/// line.
statement_list parse_template(std::string_view source);

}  // namespace cogen::text::jinja
