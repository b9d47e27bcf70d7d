#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cogen::json {

/// A value in a JSON document that knows its path, so that errors can name it. The document must outlive it.
class field {
 public:
  field(const boost::json::value& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const boost::json::value& value() const noexcept { return *value_; }
  const std::string& path() const noexcept { return path_; }

  /// A member that is there, null or not. None where the value is not an object.
  std::optional<field> member(std::string_view key) const;
  /// A member that is there and not null.
  std::optional<field> find(std::string_view key) const;
  field at(std::string_view key) const;
  field element(std::size_t index) const;

  /// The member's value, or the default where it is missing or null.
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;

  // Each throws json_error naming the path where the value is of another kind.
  const boost::json::object& object() const;
  const boost::json::array& array() const;
  std::string string() const;
  bool boolean() const;
  std::int64_t integer() const;

  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  const boost::json::value* value_;
  std::string path_;
};

}  // namespace cogen::json
