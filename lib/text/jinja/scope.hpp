#pragma once

#include "text/jinja/value.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::text::jinja {

/// The variables of one block, and those of the blocks around it.
class scope {
 public:
  explicit scope(std::shared_ptr<scope> outer) : outer_(std::move(outer)) {}

  const std::shared_ptr<scope>& outer() const noexcept { return outer_; }
  void set(std::string_view name, value what) { variables_.insert_or_assign(std::string(name), std::move(what)); }

  /// nullptr if neither this block nor one around it has the variable.
  const value* find(std::string_view name) const {
    for (auto* block = this; block; block = block->outer_.get()) {
      if (auto found = block->variables_.find(name); found != block->variables_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  std::shared_ptr<scope> outer_;
  std::map<std::string, value, std::less<>> variables_;
};

}  // namespace cogen::text::jinja
