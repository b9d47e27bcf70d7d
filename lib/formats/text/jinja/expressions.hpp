#pragma once

#include "formats/text/jinja/callables.hpp"
#include "formats/text/jinja/operators.hpp"
#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen::text::jinja {

class expression;
using expression_ptr = std::unique_ptr<expression>;

/// What stands between the parentheses of a call, not yet evaluated.
struct argument_list {
  std::vector<expression_ptr> positional;
  std::vector<std::pair<std::string, expression_ptr>> named;
  expression_ptr more_positional;  // after '*', perhaps none
  expression_ptr more_named;       // after '**', perhaps none
};

arguments evaluated(renderer& run, const argument_list& given);

/// A part of a template that has a value. Immutable.
class expression {
 public:
  virtual ~expression() = default;

  /// Throws template_error.
  value evaluate(renderer& run) const {
    auto level = run.enter(line_);
    return compute(run);
  }

  std::size_t line() const noexcept { return line_; }
  /// The number of levels below and with this one.
  std::size_t height() const noexcept { return height_; }

 protected:
  explicit expression(std::size_t line) : line_(line) {}
  void contains(const expression& part) { height_ = std::max(height_, part.height_ + 1); }
  void contains(const argument_list& given) {
    for (const auto& argument : given.positional) contains(*argument);
    for (const auto& [name, argument] : given.named) contains(*argument);
    if (given.more_positional) contains(*given.more_positional);
    if (given.more_named) contains(*given.more_named);
  }

 private:
  virtual value compute(renderer& run) const = 0;

  std::size_t line_;
  std::size_t height_ = 1;
};

class constant final : public expression {
 public:
  constant(std::size_t line, value content) : expression(line), content_(std::move(content)) {}

 private:
  value compute(renderer&) const override { return content_; }
  value content_;
};

class variable final : public expression {
 public:
  variable(std::size_t line, std::string name) : expression(line), name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }

 private:
  value compute(renderer& run) const override;
  std::string name_;
};

/// object.name
class attribute final : public expression {
 public:
  attribute(std::size_t line, expression_ptr object, std::string name);
  /// For a call of a method, which replaces this node.
  expression_ptr take_object() { return std::move(object_); }
  const std::string& name() const noexcept { return name_; }

 private:
  value compute(renderer& run) const override;
  expression_ptr object_;
  std::string name_;
};

/// object[key]
class subscript final : public expression {
 public:
  subscript(std::size_t line, expression_ptr object, expression_ptr key);

 private:
  value compute(renderer& run) const override;
  expression_ptr object_;
  expression_ptr key_;
};

/// object[begin:end:step], each bound perhaps missing.
class slice final : public expression {
 public:
  struct bounds {
    expression_ptr begin, end, step;
  };
  slice(std::size_t line, expression_ptr object, bounds where);

 private:
  value compute(renderer& run) const override;
  expression_ptr object_;
  bounds where_;
};

/// Something that is called. A call block gives it one argument more, its body.
class call : public expression {
 public:
  using expression::expression;
  virtual value compute_with(renderer& run, const value* caller) const = 0;

 private:
  value compute(renderer& run) const override { return compute_with(run, nullptr); }
};

/// callee(...)
class call_of_value final : public call {
 public:
  call_of_value(std::size_t line, expression_ptr callee, argument_list given);
  value compute_with(renderer& run, const value* caller) const override;

 private:
  expression_ptr callee_;
  argument_list given_;
};

/// object.name(...)
class call_of_method final : public call {
 public:
  call_of_method(std::size_t line, expression_ptr object, std::string name, argument_list given);
  value compute_with(renderer& run, const value* caller) const override;

 private:
  expression_ptr object_;
  std::string name_;
  argument_list given_;
};

/// input | name(...)
class filtered final : public expression {
 public:
  filtered(std::size_t line, expression_ptr input, std::string name, argument_list given);

 private:
  value compute(renderer& run) const override;
  expression_ptr input_;
  std::string name_;
  filter apply_;
  argument_list given_;
};

/// input is name(...)
class tested final : public expression {
 public:
  tested(std::size_t line, expression_ptr input, std::string name, argument_list given);

 private:
  value compute(renderer& run) const override;
  expression_ptr input_;
  std::string name_;
  value_test check_;
  argument_list given_;
};

class negation final : public expression {
 public:
  enum class kind { logical, minus, plus };
  negation(std::size_t line, kind operation, expression_ptr operand);

 private:
  value compute(renderer& run) const override;
  kind operation_;
  expression_ptr operand_;
};

class calculation final : public expression {
 public:
  calculation(std::size_t line, arithmetic operation, expression_ptr left, expression_ptr right);

 private:
  value compute(renderer& run) const override;
  arithmetic operation_;
  expression_ptr left_;
  expression_ptr right_;
};

/// a ~ b ~ c
class concatenation final : public expression {
 public:
  concatenation(std::size_t line, std::vector<expression_ptr> parts);

 private:
  value compute(renderer& run) const override;
  std::vector<expression_ptr> parts_;
};

/// a < b <= c
class comparison_chain final : public expression {
 public:
  using link = std::pair<comparison, expression_ptr>;
  comparison_chain(std::size_t line, expression_ptr first, std::vector<link> links);

 private:
  value compute(renderer& run) const override;
  expression_ptr first_;
  std::vector<link> links_;
};

/// left and right, left or right: the value of the side that decides.
class connective final : public expression {
 public:
  connective(std::size_t line, bool is_and, expression_ptr left, expression_ptr right);

 private:
  value compute(renderer& run) const override;
  bool is_and_;
  expression_ptr left_;
  expression_ptr right_;
};

/// then if condition else otherwise, the last perhaps missing.
class conditional final : public expression {
 public:
  conditional(std::size_t line, expression_ptr then, expression_ptr condition, expression_ptr otherwise);

 private:
  value compute(renderer& run) const override;
  expression_ptr then_;
  expression_ptr condition_;
  expression_ptr otherwise_;
};

class list_literal final : public expression {
 public:
  list_literal(std::size_t line, std::vector<expression_ptr> items, bool is_tuple);

 private:
  value compute(renderer& run) const override;
  std::vector<expression_ptr> items_;
  bool is_tuple_;
};

class dictionary_literal final : public expression {
 public:
  using item = std::pair<expression_ptr, expression_ptr>;
  dictionary_literal(std::size_t line, std::vector<item> items);

 private:
  value compute(renderer& run) const override;
  std::vector<item> items_;
};

}  // namespace cogen::text::jinja
