#pragma once

#include "answers/grammar/exact_number.hpp"
#include "answers/grammar/regex_syntax.hpp"
#include "formats/json/member.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// A JSON schema as its text has it. Throws json::json_error for one that is not JSON, and grammar_error for one that
/// is not a schema.
boost::json::value parse_schema(std::string_view text);

/// How the schemas in one that follows from another lie in the other.
enum class origin_path : std::uint8_t {
  same,       ///< in the same places
  below_not,  ///< there, what lies below "not" lies here
  unknown
};

/// A JSON schema, and those that follow from it.
class schema_document {
 public:
  /// Of parse_schema(). References among its schemas become JSON pointers.
  explicit schema_document(boost::json::value root);
  schema_document(const schema_document&) = delete;
  schema_document& operator=(const schema_document&) = delete;

  const boost::json::value& root() const noexcept { return root_; }

  /// The schema that the `$ref` of another one names. Throws grammar_error for one outside the document.
  const boost::json::value& resolve(const boost::json::value& schema) const;

  /// Keeps a schema that follows from another one of the document.
  const boost::json::value& keep(boost::json::value schema, const boost::json::value& origin, origin_path path) const;

  /// Throws grammar_error unless the schema is a boolean, or an object whose keywords are supported, and of the kinds
  /// that they have to be.
  void check(const boost::json::value& schema) const;

  /// Counts comparisons of a value, which all schemas together may take 2^28 of: a second or two. Throws
  /// schema_size_error beyond that.
  void count_comparisons(std::size_t more) const;

  /// Throws keyword_error for a keyword of a schema, with the place of that in the document, and what is wrong there.
  [[noreturn]] void refuse(const boost::json::value& schema, std::string_view keyword, std::string_view reason) const;

 private:
  struct derived {
    boost::json::value schema;
    const boost::json::value* origin;
    origin_path path;
  };

  std::string place_of(const boost::json::value& schema) const;

  boost::json::value root_;
  mutable std::deque<derived> derived_;
  mutable std::size_t comparisons_ = 0;
};

/// Whether two values are the same to JSON Schema: 1 is 1.0.
bool are_equal(const boost::json::value& left, const boost::json::value& right);

exact_number number_of(const boost::json::value& value);
bool is_integer(const boost::json::value& value);

/// Of an integer from 0 to 2^64 - 1, also one written as a double.
std::uint64_t count_value(const boost::json::value& value);

using cogen::json::member;

/// What a schema asks of the element at an index of an array, by itself; null: nothing.
const boost::json::value* item_schema(const boost::json::value& schema, std::size_t index);

/// What a schema asks of a property, by itself.
std::vector<const boost::json::value*> property_schemas(const schema_document& document,
                                                        const boost::json::value& schema, std::string_view key);

/// A pattern of a keyword. Throws keyword_error for one that is not supported.
regex_node parse_pattern(const schema_document& document, const boost::json::value& schema, std::string_view keyword,
                         std::string_view pattern);

/// The number of characters of a text in UTF-8.
std::size_t character_count(std::string_view utf8);

}  // namespace cogen::grammar
