#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace server::api {

/// How much JSON a body may hold.
inline constexpr std::size_t max_json_depth = 64, max_json_values = 1 << 20;

/// Parses a body. Throws api::error for what is not one JSON object, or beyond these limits.
boost::json::object parse_body(std::string_view body);

/// The names of the limit of tokens, in the order in which they count.
inline constexpr std::string_view token_limits[] = {"max_completion_tokens", "max_tokens", "max_output_tokens",
                                                    "n_predict"};

/// Sets the fields that a body lacks. A limit of tokens is lacking only if there is none under any of its names.
void add_defaults(const boost::json::object& defaults, boost::json::object& body);

/// Reads the fields of a JSON object and checks their types and ranges. A field that is null counts as missing. All
/// throw api::error, with status 400, naming the field, its value and what it must be. The object must outlive it.
class field_reader {
 public:
  explicit field_reader(const boost::json::object& object, std::string path = {});

  const boost::json::value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name,
                                      std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  std::optional<int> count(std::string_view name, int least = 0) const;  ///< an integer of at least that
  std::optional<double> number(std::string_view name) const;             ///< finite
  std::optional<std::string> text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  const boost::json::array* array(std::string_view name) const;    ///< null if missing
  const boost::json::object* object(std::string_view name) const;  ///< null if missing
  const boost::json::array& required_array(std::string_view name) const;

  /// An object, or one as JSON in a string; empty if it is neither. The strings of a body that are read so hold at most
  /// max_json_values together.
  std::optional<boost::json::object> parsed_object(std::string_view name) const;
  std::size_t parsed_values() const noexcept { return *parsed_values_; }  ///< about how many those strings held so far

  /// The fields of an object in this one.
  std::optional<field_reader> fields(std::string_view name) const;
  /// Calls `read` with the fields of each object in an array, in order.
  void for_each(std::string_view name, const std::function<void(const field_reader&)>& read) const;

  std::string path_of(std::string_view name) const;
  const boost::json::object& source() const noexcept { return *object_; }
  /// Throws "`path` is `value`; it must be `expected`".
  [[noreturn]] void refuse(std::string_view name, std::string_view expected) const;

 private:
  field_reader(const boost::json::object& object, std::string path, std::shared_ptr<std::size_t> parsed_values);

  const boost::json::object* object_;
  std::string path_;
  std::shared_ptr<std::size_t> parsed_values_;  // of the whole body
};

/// A value as a message shows it, cut where it is long.
std::string shown(const boost::json::value& value);

}  // namespace server::api
