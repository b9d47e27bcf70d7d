#pragma once

#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen::text::jinja {

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

 private:
  virtual value compute(renderer& run) const = 0;

  std::size_t line_;
  std::size_t height_ = 1;
};

using expression_ptr = std::unique_ptr<expression>;

/// What stands between the parentheses of a call, not yet evaluated.
struct argument_list {
  std::vector<expression_ptr> positional;
  std::vector<std::pair<std::string, expression_ptr>> named;
};

}  // namespace cogen::text::jinja
