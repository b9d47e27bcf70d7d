#include "formats/json/field.hpp"

#include "formats/json/json_error.hpp"
#include "formats/json/shown.hpp"

namespace cogen::json {
namespace {

std::string quote(const boost::json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shown(value);
}

}  // namespace

std::optional<field> field::member(std::string_view key) const {
  const auto* object = value_->if_object();
  const auto* found = object ? object->if_contains(key) : nullptr;
  if (!found) return std::nullopt;
  return field(*found, path_ + "." + std::string(key));
}

std::optional<field> field::find(std::string_view key) const {
  object();
  auto found = member(key);
  if (found && found->value().is_null()) return std::nullopt;
  return found;
}

field field::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  throw json_error(path_ + "." + std::string(key) + " is missing");
}

field field::element(std::size_t index) const { return {array().at(index), path_ + "[" + std::to_string(index) + "]"}; }

bool field::flag(std::string_view key, bool otherwise) const {
  auto found = find(key);
  return found ? found->boolean() : otherwise;
}

std::string field::text(std::string_view key, std::string_view otherwise) const {
  auto found = find(key);
  return found ? found->string() : std::string(otherwise);
}

const boost::json::object& field::object() const {
  if (auto* object = value_->if_object()) return *object;
  refuse("must be an object");
}

const boost::json::array& field::array() const {
  if (auto* array = value_->if_array()) return *array;
  refuse("must be an array");
}

std::string field::string() const {
  if (auto* string = value_->if_string()) return std::string(*string);
  refuse("must be a string");
}

bool field::boolean() const {
  if (auto* boolean = value_->if_bool()) return *boolean;
  refuse("must be true or false");
}

std::int64_t field::integer() const {
  if (auto* integer = value_->if_int64()) return *integer;
  refuse("must be an integer");
}

void field::refuse(std::string_view reason) const {
  throw json_error(path_ + " is " + quote(*value_) + ", but " + std::string(reason));
}

}  // namespace cogen::json
