#include "api/response_fields.hpp"

#include "api/chat_fields.hpp"
#include "api/error.hpp"
#include "api/history_fields.hpp"
#include "api/sampling_fields.hpp"
#include "api/tool_fields.hpp"
#include "api/unsupported_fields.hpp"

#include <boost/json/value.hpp>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

/// Calls that follow each other are one message of the assistant.
void add_call(const field_reader& item, cogen::chat_messages& messages) {
  json::object call{{"id", item.required_text("call_id")},
                    {"type", "function"},
                    {"function", {{"name", item.required_text("name")}, {"arguments", read_arguments(item)}}}};
  if (messages.empty() || messages.back().role != "assistant" || !messages.back().extra->contains("tool_calls"))
    messages.push_back({"assistant", "", json::object{{"tool_calls", json::array()}}});
  (*messages.back().extra)["tool_calls"].as_array().push_back(std::move(call));
}

void add_item(const field_reader& item, cogen::chat_messages& messages) {
  const auto type = item.text("type").value_or("message");
  if (type == "message") {
    auto role = item.required_text("role");
    if (!item.has("content")) item.refuse("content", "a string or an array of parts");
    messages.push_back({role == "developer" ? "system" : std::move(role), read_content(item)});
  } else if (type == "function_call") {
    add_call(item, messages);
  } else if (type == "function_call_output") {
    if (!item.has("output")) item.refuse("output", "a string or an array of parts");
    messages.push_back(
        {"tool", read_content(item, "output"), json::object{{"tool_call_id", item.required_text("call_id")}}});
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
    body.for_each("input", [&](const field_reader& item) { add_item(item, messages); });
  return messages;
}

}  // namespace

generation read_response_request(const field_reader& body, const sender& client, const route_defaults& otherwise,
                                 const cogen::text::tokenizer* tokens) {
  if (body.has("previous_response_id")) body.refuse("previous_response_id", "missing: responses are not stored");
  check_unsupported(body, field_set::responses);
  generation wanted;
  read_generation(body, client, otherwise, tokens, wanted);
  wanted.n = 1;
  wanted.request.prompt = read_input(body);
  wanted.request.tools = read_tools(body);
  read_answer(body, wanted.request);
  if (const auto reasoning = body.fields("reasoning")) set_effort(reasoning->text("effort"), wanted.request);
  return wanted;
}

}  // namespace server::api
