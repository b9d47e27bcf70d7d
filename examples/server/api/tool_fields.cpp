#include "api/tool_fields.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;
using kind = cogen::tool_choice::kind;

constexpr auto any_choice = "\"auto\", \"none\", \"required\", or an object that names a function or allowed_tools";

std::optional<kind> kind_of(std::string_view text) {
  if (text == "auto") return kind::automatic;
  if (text == "none") return kind::none;
  if (text == "required" || text == "any") return kind::required;
  return std::nullopt;
}

/// A function's name, which stands in an object of its own in a chat.
std::string name_of(const field_reader& tool) {
  if (const auto function = tool.fields("function")) return function->required_text("name");
  return tool.required_text("name");
}

json::object without_nulls(json::object object) {
  for (const auto* key : {"description", "parameters", "strict"})
    if (const auto* value = object.if_contains(key); value && value->is_null()) object.stable_erase(key);
  return object;
}

/// A function as templates expect it.
json::object tool_of(const field_reader& tool) {
  if (tool.text("type").value_or("function") != "function") tool.refuse("type", "\"function\"");
  const auto nested = tool.fields("function");
  const auto& described = nested ? *nested : tool;
  static_cast<void>(described.required_text("name"));
  static_cast<void>(described.text("description"));
  static_cast<void>(described.object("parameters"));
  static_cast<void>(described.flag("strict"));
  auto function = without_nulls(described.source());
  if (!nested) function.stable_erase("type");
  json::object result;
  if (nested) result = tool.source();
  result["type"] = "function";
  result["function"] = std::move(function);
  return result;
}

bool names(const std::set<std::string, std::less<>>& allowed, const json::value& tool) {
  const auto* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
  const auto* name = function && function->is_object() ? function->get_object().if_contains("name") : nullptr;
  return name && name->is_string() && allowed.contains(std::string_view(name->get_string()));
}

void allow_tools(const field_reader& choice, cogen::request& request) {
  const auto mode = kind_of(choice.text("mode").value_or("auto"));
  if (!mode || mode == kind::none) choice.refuse("mode", "auto or required");
  std::set<std::string, std::less<>> allowed;
  static_cast<void>(choice.required_array("tools"));
  choice.for_each("tools", [&](const field_reader& tool) { allowed.insert(name_of(tool)); });
  json::array tools;
  for (auto& each : *request.tools)
    if (names(allowed, each)) tools.push_back(std::move(each));
  if (tools.size() < allowed.size()) choice.refuse("tools", "an array of functions that the request has");
  request.tools = std::move(tools);
  request.tool_choice = {*mode, {}};
}

}  // namespace

json::array read_tools(const field_reader& body) {
  json::array tools;
  body.for_each("tools", [&](const field_reader& tool) { tools.push_back(tool_of(tool)); });
  return tools;
}

void read_tool_choice(const field_reader& body, cogen::request& request) {
  request.parallel_tool_calls = body.flag("parallel_tool_calls").value_or(true);
  const auto* value = body.find("tool_choice");
  if (!value) return;
  if (const auto* text = value->if_string()) {
    const auto type = kind_of(*text);
    if (!type) body.refuse("tool_choice", any_choice);
    request.tool_choice = {*type, {}};
    return;
  }
  if (!value->is_object()) body.refuse("tool_choice", any_choice);
  const auto choice = *body.fields("tool_choice");
  const auto type = choice.text("type").value_or("function");
  if (type == "allowed_tools") return allow_tools(choice.fields("allowed_tools").value_or(choice), request);
  if (const auto simple = kind_of(type))
    request.tool_choice = {*simple, {}};
  else if (type == "function" && (choice.has("function") || choice.has("name")))
    request.tool_choice = {kind::function, name_of(choice)};
  else
    body.refuse("tool_choice", any_choice);
}

}  // namespace server::api
