#pragma once

#include <boost/json/array.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::response {

/// The JSON types that the parameters of functions may have, for models that write them as plain text.
class parameter_types {
 public:
  parameter_types() = default;
  /// Of functions as a request describes them.
  explicit parameter_types(const boost::json::array& tools);

  /// Whether a parameter is text whatever it looks like; so is one that is not described.
  bool is_text(std::string_view function, std::string_view parameter) const;

  /// Whether a parameter can be a string.
  bool may_be_text(std::string_view function, std::string_view parameter) const;

  /// Whether a parameter is null where its text says so, and otherwise a string.
  bool is_text_or_null(std::string_view function, std::string_view parameter) const;

  /// A value as JSON: of the first of its types that the text has the form of; otherwise a string.
  std::string json_of(std::string_view function, std::string_view parameter, std::string_view text) const;

 private:
  using type_names = std::vector<std::string>;

  const type_names* find(std::string_view function, std::string_view parameter) const;

  std::map<std::string, std::map<std::string, type_names, std::less<>>, std::less<>> functions_;
};

}  // namespace cogen::response
