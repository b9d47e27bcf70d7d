#pragma once

#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::text::jinja {

/// A text that remembers which of its bytes the template wrote (trusted) and which came from outside.
class traced_text {
 public:
  traced_text() = default;
  traced_text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_is_trusted_(trusted) {}

  const std::string& bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  /// What it adds to a text that it is appended to, and what it takes in memory by itself.
  std::size_t content_bytes() const noexcept { return bytes_.size() + switches_.size() * sizeof(std::size_t); }
  std::size_t footprint() const noexcept { return sizeof *this + content_bytes(); }

  /// Whether every byte is trusted; so it is in an empty text.
  bool is_trusted() const noexcept { return bytes_.empty() || (switches_.empty() && first_is_trusted_); }

  /// Whether the filter `safe` made it: '+' escapes what it joins with such a text.
  bool is_markup() const noexcept { return is_markup_; }
  traced_text as_markup() const;
  traced_text as_plain() const;

  void append(const traced_text& more);
  void append(std::string_view bytes, bool trusted);
  traced_text part(std::size_t begin, std::size_t end) const;
  std::vector<text_segment> segments() const;

 private:
  bool ends_trusted() const noexcept { return first_is_trusted_ == (switches_.size() % 2 == 0); }

  std::string bytes_;
  /// Where trust changes, ascending, each above 0 and below the size.
  std::vector<std::size_t> switches_;
  bool first_is_trusted_ = true;
  bool is_markup_ = false;
};

class value;
struct macro_statement;
class scope;

/// What a missing name or member evaluates to. Prints as nothing; most other uses are errors.
struct undefined {
  const std::string* name = nullptr;  ///< in the template, which lives as long as it is rendered
};

struct none {};

/// Lists, tuples and dictionaries never change once made, so they hold no cycles.
struct list {
  std::vector<value> items;
  bool is_tuple = false;
  bool is_group = false;  ///< a tuple of `groupby`, whose items are also called grouper and list
  std::size_t depth = 1;
};

class dictionary {
 public:
  using item = std::pair<value, value>;

  const std::vector<item>& items() const noexcept { return items_; }
  std::size_t size() const noexcept;
  std::size_t depth() const noexcept { return depth_; }
  const value* find(std::string_view text) const;
  /// By what key_of() gives.
  const value* find_spelled(const std::string& key) const;

  /// A key given again takes the later value. `spelled` is what key_of() gives for the key.
  void insert(std::string spelled, value key, value member);

 private:
  std::vector<item> items_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t depth_ = 1;
};

/// What `namespace()` makes: the only thing that a template can change. Owned by the rendering, not by values.
struct name_space {
  std::map<std::string, value, std::less<>> members;
};

struct for_statement;

/// The variable `loop`, while the loop runs and after it.
struct loop_state {
  std::shared_ptr<const list> items;
  std::size_t index = 0;
  std::size_t depth = 0;                     ///< of recursion, from 0
  std::size_t number = 0;                    ///< another for each loop that runs
  const for_statement* recursive = nullptr;  ///< what loop(...) runs again
  std::weak_ptr<scope> around;               ///< where it runs
};

/// A macro together with the scope it was defined in, or the body of a call block.
struct macro {
  const macro_statement* statement;
  std::weak_ptr<scope> defined_in;
};

/// What `map`, `select` and their kind give: items to visit once, without a length, indices or a spelling.
struct generator {
  std::shared_ptr<const list> items;
  std::size_t next = 0;
};

/// What range() and a dictionary's keys(), values() and items() give. It has a length, and a range has indices.
struct view {
  enum class kind : std::uint8_t { keys, values, items, range };

  kind type = kind::range;
  std::shared_ptr<const list> items;
  std::int64_t begin = 0, end = 0, step = 1;  ///< of a range
};

/// What `cycler()` and `joiner()` make. Owned by the rendering, as namespaces are.
struct cycler {
  std::vector<value> items;
  std::size_t next = 0;
};
struct joiner {
  traced_text separator;
  bool was_called = false;
};

struct named_method;
struct named_function;

/// A method that is named, but not called.
struct bound_method {
  const named_method* method;
  std::shared_ptr<const value> object;
};

using shared_text = std::shared_ptr<const traced_text>;
using shared_list = std::shared_ptr<const list>;
using shared_dictionary = std::shared_ptr<const dictionary>;

/// A value of the template language, with the meaning it has in Python. Cheap to copy.
class value {
 public:
  value() = default;
  value(undefined missing) : variant_(missing) {}
  value(none nothing) : variant_(nothing) {}
  value(bool truth) : variant_(truth) {}
  value(std::int64_t number) : variant_(number) {}
  value(double number) : variant_(number) {}
  value(traced_text text) : variant_(std::make_shared<const traced_text>(std::move(text))) {}
  value(list items) : variant_(std::make_shared<const list>(std::move(items))) {}
  value(dictionary items) : variant_(std::make_shared<const dictionary>(std::move(items))) {}
  value(name_space* members) : variant_(members) {}
  value(std::shared_ptr<const loop_state> loop) : variant_(std::move(loop)) {}
  value(std::shared_ptr<const macro> function) : variant_(std::move(function)) {}
  value(bound_method method) : variant_(std::move(method)) {}
  value(const named_function* function) : variant_(function) {}
  value(generator items) : variant_(std::make_shared<generator>(std::move(items))) {}
  value(view items) : variant_(std::make_shared<const view>(std::move(items))) {}
  value(cycler* items) : variant_(items) {}
  value(joiner* separator) : variant_(separator) {}
  value(shared_list items) : variant_(std::move(items)) {}
  value(const char*) = delete;

  template <typename T>
  bool is() const noexcept {
    return std::holds_alternative<T>(variant_);
  }
  bool is_undefined() const noexcept { return is<undefined>(); }
  bool is_none() const noexcept { return is<none>(); }

  /// Nothing where the value is of another kind. Truth values count as the integers 0 and 1.
  const traced_text* text() const noexcept;
  const list* items() const noexcept;
  const dictionary* members() const noexcept;
  name_space* space() const noexcept;
  const loop_state* loop() const noexcept;
  const macro* function() const noexcept;
  std::optional<std::int64_t> integer() const noexcept;
  /// Any number, as a floating-point one.
  std::optional<double> number() const noexcept;

  shared_list shared_items() const;
  generator* generated() const noexcept;
  const view* viewed() const noexcept;

  const auto& variant() const noexcept { return variant_; }

 private:
  std::variant<undefined, none, bool, std::int64_t, double, shared_text, shared_list, shared_dictionary, name_space*,
               std::shared_ptr<const loop_state>, std::shared_ptr<const macro>, bound_method, const named_function*,
               std::shared_ptr<generator>, std::shared_ptr<const view>, cycler*, joiner*>
      variant_;
};

inline std::size_t dictionary::size() const noexcept { return items_.size(); }

bool is_true(const value& object) noexcept;

bool is_range(const value& object) noexcept;

/// How deep containers nest: 0 for anything else.
std::size_t depth_of(const value& object) noexcept;

/// The name of the kind for messages, such as "a text".
std::string kind_of(const value& object);

list make_list(std::vector<value> items, bool is_tuple = false);
value trusted_text(std::string bytes);

/// How a text is spelled as the key of a dictionary.
std::string key_of_text(std::string_view text);

}  // namespace cogen::text::jinja
