#pragma once

#include "json/member.hpp"

#include <boost/json/value.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// A JSON schema, and those that follow from it.
class schema_document {
 public:
  /// Throws json::json_error for a text that is no JSON, and grammar_error for one that is no schema.
  explicit schema_document(std::string_view text);
  schema_document(const schema_document&) = delete;
  schema_document& operator=(const schema_document&) = delete;

  const boost::json::value& root() const noexcept { return root_; }

  /// The schema that a `$ref` names. Throws grammar_error for one outside the document.
  const boost::json::value& resolve(const boost::json::value& reference) const;

  /// Keeps a schema that follows from the document's.
  const boost::json::value& keep(boost::json::value made) const { return made_.emplace_back(std::move(made)); }

  /// Throws grammar_error unless the schema is a boolean, or an object whose keywords are known, supported, and of the
  /// kinds that they have to be.
  void check(const boost::json::value& schema) const;

  /// Throws grammar_error with the place of a schema in the document, and what is wrong there.
  [[noreturn]] void refuse(const boost::json::value& schema, std::string_view what) const;

 private:
  boost::json::value root_;
  mutable std::deque<boost::json::value> made_;
};

/// Whether two values are the same to JSON Schema: 1 is 1.0.
bool are_equal(const boost::json::value& left, const boost::json::value& right);

long double number_of(const boost::json::value& value);
bool is_integer(const boost::json::value& value);

using cogen::json::member;

/// What a schema asks of the element at an index of an array, by itself; null: nothing.
const boost::json::value* item_schema(const boost::json::value& schema, std::size_t index);

/// What a schema asks of a property, by itself.
std::vector<const boost::json::value*> property_schemas(const boost::json::value& schema, std::string_view key);

/// The number of characters of a text in UTF-8.
std::size_t character_count(std::string_view utf8);

}  // namespace cogen::grammar
