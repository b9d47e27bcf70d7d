#include "api/json_text.hpp"

#include <boost/json/serialize.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

void append(const json::value& value, std::string& output);

void append(json::string_view text, std::string& output) { output += json::serialize(text); }

void append(double number, std::string& output) {
  const auto begin = output.size();
  output += number_text(number);
  if (output.find_first_not_of("-0123456789", begin) == std::string::npos) output += ".0";
}

void append(const json::array& values, std::string& output) {
  output += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) output += ',';
    append(values[i], output);
  }
  output += ']';
}

void append(const json::object& fields, std::string& output) {
  output += '{';
  for (bool is_first = true; const auto& [name, value] : fields) {
    if (!std::exchange(is_first, false)) output += ',';
    append(name, output);
    output += ':';
    append(value, output);
  }
  output += '}';
}

void append(const json::value& value, std::string& output) {
  switch (value.kind()) {
    case json::kind::array:
      return append(value.get_array(), output);
    case json::kind::object:
      return append(value.get_object(), output);
    case json::kind::string:
      return append(json::string_view(value.get_string()), output);
    case json::kind::double_:
      return append(value.get_double(), output);
    default:
      output += json::serialize(value);
  }
}

template <class Value>
std::string text_of(const Value& value) {
  std::string text;
  append(value, text);
  return text;
}

}  // namespace

std::string json_text(const json::value& value) { return text_of(value); }
std::string json_text(const json::object& fields) { return text_of(fields); }
std::string json_text(const json::array& values) { return text_of(values); }

std::string number_text(double number) {
  if (std::isnan(number)) return "null";
  if (std::isinf(number)) return number < 0 ? "-1e99999" : "1e99999";  // which readers take for infinite
  const auto magnitude = std::abs(number);
  const bool is_plain = number == 0 || (magnitude >= 1e-6 && magnitude < 1e21);
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number,
                                 is_plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  return {digits.begin(), end};
}

}  // namespace server::api
