#pragma once

#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
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
  /// Nothing where it was not given or is none.
  std::optional<std::string_view> optional_text(std::size_t parameter) const;

 private:
  [[noreturn]] void refuse(std::size_t parameter, const char* expected) const;

  renderer* run_;
  std::string_view callee_;
  std::vector<std::string_view> parameters_;
  std::vector<const value*> values_;
};

using filter = value (*)(renderer&, const value& input, const arguments&);
using value_test = bool (*)(renderer&, const value& input, const arguments&);
using function = value (*)(renderer&, const arguments&);

/// What a table of names and callables has under a name; nullptr where it has none.
template <typename Callable>
Callable find_named(std::span<const std::pair<std::string_view, Callable>> table, std::string_view name) {
  for (const auto& [known, callable] : table) {
    if (known == name) return callable;
  }
  return nullptr;
}

// Each gives nullptr for an unknown name.

filter find_filter(std::string_view name);
value_test find_test(std::string_view name);
/// A function that templates may call without an object, such as `range`.
function find_function(std::string_view name);
/// Filters whose input is a text, a list or any iterable value; parts of find_filter.
filter find_text_filter(std::string_view name);
filter find_sequence_filter(std::string_view name);

/// The method `format` of texts, with fields such as {}, {0} and {name}. Fails for any other field.
value format(renderer& run, const value& self, const arguments& given);

/// Whether the value has a method of that name.
bool has_method(const value& object, std::string_view name);
/// Fails if the value has no such method.
value call_method(renderer& run, const value& object, std::string_view name, const arguments& given);

/// The text that a macro writes with these arguments.
value call_macro(renderer& run, const macro& called, const arguments& given);

}  // namespace cogen::text::jinja
