#pragma once

#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

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
  std::vector<std::pair<std::string, value>> named;
};

/// Fails for named arguments, which few methods of Python take.
void refuse_named(renderer& run, const arguments& given, std::string_view callee);

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

/// A generator of these items.
inline value generated(renderer& run, std::vector<value> items) {
  return generator{.items = run.share_list(std::move(items))};
}

/// Accounts for a look at the texts that an operation is given: at its object and at its arguments.
void look_at_texts(renderer& run, const value& object, const arguments& given);

/// An operation that looks at all of the texts that it is given.
template <filter Apply>
value reading(renderer& run, const value& object, const arguments& given) {
  look_at_texts(run, object, given);
  return Apply(run, object, given);
}

struct named_method {
  std::string_view name;
  filter call;
};

struct named_function {
  std::string_view name;
  function call;
};

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
const named_function* find_function(std::string_view name);
/// Filters of texts, of items, of layout and of HTML; parts of find_filter.
filter find_text_filter(std::string_view name);
filter find_sequence_filter(std::string_view name);
filter find_group_filter(std::string_view name);
filter find_layout_filter(std::string_view name);
filter find_markup_filter(std::string_view name);
/// The method of a value.
const named_method* find_method(const value& object, std::string_view name);
const named_method* find_text_method(std::string_view name);

/// The methods `format` and `format_map` of texts.
value format(renderer& run, const value& self, const arguments& given);
value format_map(renderer& run, const value& self, const arguments& given);

/// text % arguments: a tuple, a dictionary or one value.
value percent_format(renderer& run, const traced_text& text, const value& given);

/// Fails if the value has no such method, nor a member that can be called.
value call_method(renderer& run, const value& object, std::string_view name, const arguments& given);

/// Calls a macro, a method, a function, a joiner or a recursive loop. Fails for anything else, called `name`.
value call_value(renderer& run, const value& callee, std::string_view name, const arguments& given);

/// The member or method of an object that `object.name` means, and the one of object["name"].
value attribute_of(renderer& run, const value& object, const value& name);
value item_of(renderer& run, const value& object, const value& key);
/// The value itself, or what a path such as "function.name" or 0 leads to.
value item_at_path(renderer& run, const value& object, const value* path);

/// Fails for a name that Transformers does not allow.
void set_member(renderer& run, name_space& space, const std::string& name, const value& member);

/// What the loop's body writes for these items, one level deeper.
value call_loop(renderer& run, const loop_state& loop, const arguments& given);

/// The text that a macro writes with these arguments.
value call_macro(renderer& run, const macro& called, const arguments& given);

}  // namespace cogen::text::jinja
