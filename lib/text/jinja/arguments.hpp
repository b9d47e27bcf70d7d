#pragma once

#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::text::jinja {

/// The evaluated arguments of a call, in the order of the callee's parameters.
struct arguments {
  std::vector<value> positional;
  std::vector<std::pair<std::string_view, value>> named;
};

/// Arguments under the names that a function of ours gives them.
class bound_arguments {
 public:
  /// Fails for arguments that the function does not take; `callee` names it in messages.
  bound_arguments(renderer& run, const arguments& given, std::string_view callee,
                  std::initializer_list<std::string_view> parameters);

  /// nullptr where it was not given.
  const value* find(std::size_t parameter) const { return values_[parameter]; }
  const value& at(std::size_t parameter) const;

  // Each fails where the argument has another kind.
  std::string_view text(std::size_t parameter) const;
  std::int64_t integer(std::size_t parameter, std::int64_t otherwise) const;
  bool flag(std::size_t parameter, bool otherwise) const;

 private:
  [[noreturn]] void refuse(std::size_t parameter, const char* expected) const;

  renderer* run_;
  std::string_view callee_;
  std::vector<std::string_view> parameters_;
  std::vector<const value*> values_;
};

}  // namespace cogen::text::jinja
