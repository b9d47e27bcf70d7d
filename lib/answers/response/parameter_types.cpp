#include "answers/response/parameter_types.hpp"

#include "answers/response/delimiter.hpp"
#include "formats/json/member.hpp"
#include "formats/json/parse.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

namespace cogen::response {
namespace {

using cogen::json::member;

const char* type_of(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "boolean";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
    case boost::json::kind::double_:
      return "number";
    default:
      return "integer";
  }
}

/// Collects the types that a schema allows.
class type_list {
 public:
  explicit type_list(const boost::json::value& root) : root_(&root) {}

  /// What says more of the same value counts where the schema itself names no type.
  void add(const boost::json::value& schema) {
    if (depth_ == max_depth || visited_ == max_visited) return;
    ++depth_, ++visited_;
    const auto size = types.size();
    add_named(schema);
    add_each(schema, {"anyOf", "oneOf"});
    if (types.size() == size) add_each(schema, {"allOf"});
    if (types.size() == size) add_referenced(schema);
    if (types.size() == size) add_of_values(schema);
    if (const auto* nullable = member(schema, "nullable"); nullable && *nullable == true) types.emplace_back("null");
    --depth_;
  }

  std::vector<std::string> types;

 private:
  static constexpr int max_depth = 16, max_visited = 1000;  // since references may be circular

  void add_named(const boost::json::value& schema) {
    const auto* type = member(schema, "type");
    if (!type) return;
    if (type->is_string()) types.emplace_back(type->get_string());
    if (type->is_array())
      for (const auto& each : type->get_array())
        if (each.is_string()) types.emplace_back(each.get_string());
  }

  void add_each(const boost::json::value& schema, std::initializer_list<const char*> keywords) {
    for (const auto* key : keywords)
      if (const auto* choices = member(schema, key); choices && choices->is_array())
        for (const auto& each : choices->get_array()) add(each);
  }

  void add_referenced(const boost::json::value& schema) {
    const auto* reference = member(schema, "$ref");
    if (!reference || !reference->is_string() || !reference->get_string().starts_with('#')) return;
    boost::json::error_code error;
    if (const auto* found = root_->find_pointer(reference->get_string().subview(1), error); found && !error)
      add(*found);
  }

  void add_of_values(const boost::json::value& schema) {
    if (const auto* only = member(schema, "const")) types.emplace_back(type_of(*only));
    if (const auto* values = member(schema, "enum"); values && values->is_array())
      for (const auto& each : values->get_array())
        if (std::ranges::find(types, type_of(each)) == types.end()) types.emplace_back(type_of(each));
  }

  const boost::json::value* root_;
  int depth_ = 0, visited_ = 0;
};

std::vector<std::string> types_of(const boost::json::value& schema, const boost::json::value& root) {
  type_list list(root);
  list.add(schema);
  return list.types;
}

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<boost::json::value> parsed(std::string_view text) try {
  return cogen::json::parse(text, "argument");
} catch (const std::invalid_argument&) {
  return std::nullopt;
}

bool is_whole(const boost::json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(value.get_double()) == value.get_double());
}

/// A value as a number without a fraction, as far as a double can say.
std::string whole_text(const boost::json::value& value) {
  constexpr double exactly_representable = 9007199254740992.0;
  if (value.is_double() && std::abs(value.get_double()) <= exactly_representable)
    return std::to_string(static_cast<std::int64_t>(value.get_double()));
  return boost::json::serialize(value);
}

/// None for a text that has not the form of the type.
std::optional<std::string> as_type(std::string_view type, std::string_view text) {
  if (type == "boolean") {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (lower == "true" || lower == "1") return "true";
    if (lower == "false" || lower == "0") return "false";
    return std::nullopt;
  }
  if (type == "null") return text == "null" || text == "None" ? std::optional<std::string>("null") : std::nullopt;
  const auto value = parsed(text);
  if (!value) return std::nullopt;
  if (type == "integer" && value->is_number() && is_whole(*value)) return whole_text(*value);
  const bool is_same = (type == "number" && value->is_number()) || (type == "object" && value->is_object()) ||
                       (type == "array" && value->is_array());
  return is_same ? std::optional(std::string(text)) : std::nullopt;
}

}  // namespace

parameter_types::parameter_types(const boost::json::array& tools) {
  for (const auto& tool : tools) {
    const auto* function = member(tool, "function");
    const auto* name = function ? member(*function, "name") : nullptr;
    const auto* parameters = name && name->is_string() ? member(*function, "parameters") : nullptr;
    const auto* properties = parameters ? member(*parameters, "properties") : nullptr;
    if (!properties || !properties->is_object()) continue;
    auto& types = functions_[std::string(name->get_string())];
    for (const auto& [key, schema] : properties->get_object()) types[std::string(key)] = types_of(schema, *parameters);
  }
}

bool parameter_types::is_text(std::string_view function, std::string_view parameter) const {
  const auto* types = find(function, parameter);
  return !types || std::ranges::all_of(*types, [](const auto& type) { return type == "string"; });
}

bool parameter_types::may_be_text(std::string_view function, std::string_view parameter) const {
  const auto* types = find(function, parameter);
  return !types || types->empty() || std::ranges::find(*types, "string") != types->end();
}

bool parameter_types::is_text_or_null(std::string_view function, std::string_view parameter) const {
  const auto* types = find(function, parameter);
  return types && std::ranges::find(*types, "null") != types->end() &&
         std::ranges::all_of(*types, [](const auto& type) { return type == "string" || type == "null"; });
}

std::string parameter_types::json_of(std::string_view function, std::string_view parameter,
                                     std::string_view text) const {
  if (const auto* types = find(function, parameter))
    for (const auto& type : *types)
      if (auto value = as_type(type, without_space(text))) return *value;
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

const parameter_types::type_names* parameter_types::find(std::string_view function, std::string_view parameter) const {
  const auto types = functions_.find(function);
  if (types == functions_.end()) return nullptr;
  const auto found = types->second.find(parameter);
  return found == types->second.end() ? nullptr : &found->second;
}

}  // namespace cogen::response
