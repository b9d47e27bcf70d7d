#include "text/json_field.hpp"

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>

#include <stdexcept>

namespace cogen::text {
namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t longest_quote = 80;

std::string quote(const boost::json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  auto text = boost::json::serialize(value);
  return text.size() <= longest_quote ? text : text.substr(0, longest_quote) + "...";
}

}  // namespace

std::optional<json_field> json_field::find(std::string_view key) const {
  auto* found = object().if_contains(key);
  if (!found || found->is_null()) return std::nullopt;
  return json_field(*found, path_ + "." + std::string(key));
}

json_field json_field::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  throw std::invalid_argument(path_ + "." + std::string(key) + " is missing");
}

json_field json_field::element(std::size_t index) const {
  return {array().at(index), path_ + "[" + std::to_string(index) + "]"};
}

bool json_field::flag(std::string_view key, bool otherwise) const {
  auto found = find(key);
  return found ? found->boolean() : otherwise;
}

std::string json_field::text(std::string_view key, std::string_view otherwise) const {
  auto found = find(key);
  return found ? found->string() : std::string(otherwise);
}

const boost::json::object& json_field::object() const {
  if (auto* object = value_->if_object()) return *object;
  refuse("must be an object");
}

const boost::json::array& json_field::array() const {
  if (auto* array = value_->if_array()) return *array;
  refuse("must be an array");
}

std::string json_field::string() const {
  if (auto* string = value_->if_string()) return std::string(*string);
  refuse("must be a string");
}

bool json_field::boolean() const {
  if (auto* boolean = value_->if_bool()) return *boolean;
  refuse("must be true or false");
}

std::int64_t json_field::integer() const {
  if (auto* integer = value_->if_int64()) return *integer;
  refuse("must be an integer");
}

void json_field::refuse(std::string_view what) const {
  throw std::invalid_argument(path_ + " is " + quote(*value_) + ", but " + std::string(what));
}

boost::json::value parse_json(std::string_view document, std::string_view name, boost::json::storage_ptr memory) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::json::parser parser({}, options);
  parser.reset(std::move(memory));
  boost::json::error_code error;
  auto parsed = parser.write(document, error);
  if (!error) return parser.release();
  throw std::invalid_argument(std::string(name) + " is no valid JSON: " + error.message() + " near byte " +
                              std::to_string(parsed));
}

}  // namespace cogen::text
