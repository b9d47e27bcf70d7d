#pragma once

#include "http/byte_budget.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace server::http {

/// The text of a body, which counts against a budget for as long as it lives.
class body {
 public:
  body() = default;
  explicit body(std::shared_ptr<byte_budget> budget) noexcept : counted_(std::move(budget)) {}

  /// False: the budget has no room for it.
  bool append(std::string_view part) {
    const bool fits = counted_.grow_to(text_.size() + part.size());
    if (fits) text_ += part;
    return fits;
  }
  const std::string& text() const noexcept { return text_; }
  std::size_t size() const noexcept { return text_.size(); }

 private:
  counted_bytes counted_;
  std::string text_;
};

/// A body that cannot be had, and the status and the message that say why.
class body_error : public std::runtime_error {
 public:
  body_error(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace server::http
