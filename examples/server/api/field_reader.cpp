#include "api/field_reader.hpp"

#include "api/error.hpp"
#include "api/json_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/stream_parser.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace server::api {

namespace json = boost::json;

namespace {

/// At least as many values as a text of JSON holds: one more than it has brackets that open, and commas.
std::size_t value_bound(std::string_view text) {
  std::size_t count = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string)
      i += c == '\\';
    else
      count += c == ',' || c == '[' || c == '{';
  }
  return count;
}

}  // namespace

json::object parse_body(std::string_view body) {
  if (const auto count = value_bound(body); count > max_json_values)
    throw invalid("", fmt::format("the body holds more than {} values of JSON", max_json_values));
  json::stream_parser parser({}, {.max_depth = max_json_depth});
  json::error_code error;
  const auto read = parser.write_some(body.data(), body.size(), error);
  if (error == json::error::too_deep)
    throw invalid("", fmt::format("the body is nested deeper than {}", max_json_depth));
  if (error || read < body.size()) throw invalid("", fmt::format("the body is not valid JSON at byte {}", read));
  parser.finish(error);
  if (error) throw invalid("", "the body ends before its JSON does");
  auto value = parser.release();
  if (!value.is_object()) throw invalid("", fmt::format("the body is {}; it must be a JSON object", shown(value)));
  return std::move(value.as_object());
}

std::string shown(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.get_array().size());
  constexpr std::size_t most = 60;
  if (value.is_string() && value.get_string().size() > most)
    return fmt::format("a string of {} bytes", value.get_string().size());
  return json_text(value);
}

void add_defaults(const json::object& defaults, json::object& body) {
  const auto lacks = [&](std::string_view name) {
    const auto* value = body.if_contains(name);
    return !value || value->is_null();
  };
  const bool limited = !std::ranges::all_of(token_limits, lacks);
  for (const auto& [name, value] : defaults)
    if (lacks(name) && !(limited && std::ranges::find(token_limits, std::string_view(name)) != std::end(token_limits)))
      body[name] = value;
}

field_reader::field_reader(const json::object& object, std::string path)
    : field_reader(object, std::move(path), std::make_shared<std::size_t>(0)) {}

field_reader::field_reader(const json::object& object, std::string path, std::shared_ptr<std::size_t> parsed_values)
    : object_(&object), path_(std::move(path)), parsed_values_(std::move(parsed_values)) {}

const json::value* field_reader::find(std::string_view name) const {
  const auto* found = object_->if_contains({name.data(), name.size()});
  return found && !found->is_null() ? found : nullptr;
}

std::string field_reader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void field_reader::refuse(std::string_view name, std::string_view expected) const {
  const auto* value = object_->if_contains({name.data(), name.size()});
  throw invalid(path_of(name), value ? fmt::format("{} is {}; it must be {}", path_of(name), shown(*value), expected)
                                     : fmt::format("{} is missing; it must be {}", path_of(name), expected));
}

std::optional<bool> field_reader::flag(std::string_view name) const {
  const auto* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_bool()) refuse(name, "true or false");
  return value->get_bool();
}

std::optional<std::int64_t> field_reader::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
  const auto* value = find(name);
  if (!value) return std::nullopt;
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  const auto wanted = least == lowest && most == highest ? std::string("an integer")
                      : most == highest                  ? fmt::format("an integer of at least {}", least)
                                                         : fmt::format("an integer between {} and {}", least, most);
  std::int64_t result = 0;
  if (const auto* plain = value->if_int64())
    result = *plain;
  else if (const auto* real = value->if_double(); real && std::trunc(*real) == *real && std::abs(*real) < 9e15)
    result = static_cast<std::int64_t>(*real);
  else
    refuse(name, wanted);
  if (result < least || result > most) refuse(name, wanted);
  return result;
}

std::optional<int> field_reader::count(std::string_view name, int least) const {
  const auto value = integer(name, least, std::numeric_limits<int>::max());
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<double> field_reader::number(std::string_view name) const {
  const auto* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number()) refuse(name, "a number");
  const auto result = value->to_number<double>();
  if (!std::isfinite(result)) refuse(name, "a finite number");
  return result;
}

std::optional<std::string> field_reader::text(std::string_view name) const {
  const auto* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(name, "a string");
  return std::string(value->get_string());
}

std::string field_reader::required_text(std::string_view name) const {
  auto value = text(name);
  if (!value) refuse(name, "a string");
  return std::move(*value);
}

const json::array* field_reader::array(std::string_view name) const {
  const auto* value = find(name);
  if (!value) return nullptr;
  if (!value->is_array()) refuse(name, "an array");
  return &value->get_array();
}

const json::object* field_reader::object(std::string_view name) const {
  const auto* value = find(name);
  if (!value) return nullptr;
  if (!value->is_object()) refuse(name, "an object");
  return &value->get_object();
}

const json::array& field_reader::required_array(std::string_view name) const {
  const auto* value = array(name);
  if (!value || value->empty()) refuse(name, "an array of at least one");
  return *value;
}

std::optional<json::object> field_reader::parsed_object(std::string_view name) const {
  const auto* value = find(name);
  if (const auto* object = value ? value->if_object() : nullptr) return *object;
  const auto* text = value ? value->if_string() : nullptr;
  if (!text) return std::nullopt;
  *parsed_values_ += value_bound(*text);
  if (*parsed_values_ > max_json_values)
    throw invalid(path_of(name), fmt::format("{} is JSON in a string, and the strings of the body hold more than {} "
                                             "values of JSON",
                                             path_of(name), max_json_values));
  json::error_code error;
  auto parsed = json::parse(*text, error, {}, {.max_depth = max_json_depth});
  if (error || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.as_object());
}

std::optional<field_reader> field_reader::fields(std::string_view name) const {
  const auto* value = object(name);
  if (!value) return std::nullopt;
  return field_reader(*value, path_of(name), parsed_values_);
}

void field_reader::for_each(std::string_view name, const std::function<void(const field_reader&)>& read) const {
  const auto* values = array(name);
  if (!values) return;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const auto path = fmt::format("{}[{}]", path_of(name), i);
    if (!(*values)[i].is_object())
      throw invalid(path, fmt::format("{} is {}; it must be an object", path, shown((*values)[i])));
    read(field_reader((*values)[i].get_object(), path, parsed_values_));
  }
}

}  // namespace server::api
