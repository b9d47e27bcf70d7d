#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cogen::text {

/// A value in a JSON document that knows its path, so that errors can name it. The document must outlive it.
class json_field {
 public:
  json_field(const boost::json::value& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const boost::json::value& value() const noexcept { return *value_; }
  const std::string& path() const noexcept { return path_; }

  /// A member that is there and not null.
  std::optional<json_field> find(std::string_view key) const;
  json_field at(std::string_view key) const;
  json_field element(std::size_t index) const;

  /// The member's value, or the default where it is missing or null.
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;

  // Each throws std::invalid_argument naming the path where the value is of another kind.
  const boost::json::object& object() const;
  const boost::json::array& array() const;
  std::string string() const;
  bool boolean() const;
  std::int64_t integer() const;

  [[noreturn]] void refuse(std::string_view what) const;

 private:
  const boost::json::value* value_;
  std::string path_;
};

/// Parses a document. Throws std::invalid_argument with the place of the first mistake, calling the document `name`.
boost::json::value parse_json(std::string_view document, std::string_view name, boost::json::storage_ptr memory = {});

}  // namespace cogen::text
