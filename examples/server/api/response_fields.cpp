#include "api/response_fields.hpp"

#include "api/chat_fields.hpp"
#include "api/error.hpp"
#include "api/sampling_fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

/// Calls that follow each other are one message of the assistant.
void add_call(const field_reader& item, cogen::chat_messages& to) {
  json::error_code error;
  auto arguments = json::parse(item.required_text("arguments"), error, {}, {.max_depth = 64});
  if (error || !arguments.is_object()) item.refuse("arguments", "a JSON object in a string");
  json::object call{{"id", item.required_text("call_id")},
                    {"type", "function"},
                    {"function", {{"name", item.required_text("name")}, {"arguments", std::move(arguments)}}}};
  if (to.empty() || to.back().role != "assistant" || !to.back().extra.contains("tool_calls"))
    to.push_back({"assistant", "", {{"tool_calls", json::array()}}});
  to.back().extra["tool_calls"].as_array().push_back(std::move(call));
}

void add_item(const field_reader& item, cogen::chat_messages& to) {
  const auto type = item.text("type").value_or("message");
  if (type == "message") {
    auto role = item.required_text("role");
    if (!item.has("content")) item.refuse("content", "a string or an array of parts");
    to.push_back({role == "developer" ? "system" : std::move(role), read_content(item)});
  } else if (type == "function_call") {
    add_call(item, to);
  } else if (type == "function_call_output") {
    to.push_back({"tool", item.required_text("output"), {{"tool_call_id", item.required_text("call_id")}}});
  } else if (type != "reasoning") {  // which templates leave out of earlier turns
    item.refuse("type", "message, function_call, function_call_output or reasoning");
  }
}

cogen::chat_messages read_input(const field_reader& body) {
  cogen::chat_messages messages;
  if (auto system = body.text("instructions")) messages.push_back({"system", std::move(*system)});
  const auto* input = body.find("input");
  if (!input || !(input->is_string() || (input->is_array() && !input->get_array().empty())))
    body.refuse("input", "a string or an array of items");
  if (const auto* text = input->if_string())
    messages.push_back({"user", std::string(*text)});
  else
    body.each("input", [&](const field_reader& item) { add_item(item, messages); });
  return messages;
}

/// Functions are described without an object around them.
json::array read_tools(const field_reader& body) {
  json::array tools;
  body.each("tools", [&](const field_reader& tool) {
    if (tool.required_text("type") != "function") tool.refuse("type", "\"function\"");
    json::object function = tool.source();
    function.erase("type");
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  });
  return tools;
}

/// `text.format` is a chat's `response_format`, with the schema one level higher.
json::object chat_body(const field_reader& body) {
  json::object chat;
  if (const auto* choice = body.find("tool_choice")) chat["tool_choice"] = *choice;
  if (const auto* variables = body.find("chat_template_kwargs")) chat["chat_template_kwargs"] = *variables;
  if (const auto text = body.fields("text"))
    if (const auto* format = text->object("format")) chat["response_format"] = *format;
  if (const auto reasoning = body.fields("reasoning"))
    if (const auto* effort = reasoning->find("effort")) chat["reasoning_effort"] = *effort;
  return chat;
}

}  // namespace

generation read_response_request(const field_reader& body, const sender& from, const route_defaults& otherwise,
                                 const cogen::text::tokenizer& tokens) {
  if (body.has("previous_response_id")) body.refuse("previous_response_id", "missing: responses are not stored");
  generation wanted;
  read_generation(body, from, otherwise, &tokens, wanted);
  wanted.n = 1;
  auto chat = chat_body(body);
  chat["messages"] = {{{"role", "user"}, {"content", ""}}};
  read_chat(field_reader(chat), wanted);
  wanted.request.prompt = read_input(body);
  wanted.request.tools = read_tools(body);
  return wanted;
}

}  // namespace server::api
