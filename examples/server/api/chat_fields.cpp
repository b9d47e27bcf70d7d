#include "api/chat_fields.hpp"

#include "api/error.hpp"
#include "api/format_fields.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

/// Templates expect the arguments of a call as an object; OpenAI's clients send JSON in a string.
json::object call_of(const field_reader& call) {
  json::object result = call.source();
  const auto function = call.fields("function");
  if (!function) call.refuse("function", "an object");
  static_cast<void>(function->required_text("name"));
  const auto arguments = function->text("arguments");
  if (!arguments) return result;
  json::error_code error;
  auto value = json::parse(*arguments, error, {}, {.max_depth = 64});
  if (error || !value.is_object()) function->refuse("arguments", "a JSON object in a string");
  result["function"].as_object()["arguments"] = std::move(value);
  return result;
}

json::object extra_of(const field_reader& message) {
  json::object extra = message.source();
  extra.erase("role");
  extra.erase("content");
  if (message.has("tool_calls")) {
    json::array calls;
    message.each("tool_calls", [&](const field_reader& call) {
      if (call.source().if_contains("function") && call.object("function")->if_contains("arguments") &&
          call.object("function")->at("arguments").is_object())
        calls.push_back(call.source());
      else
        calls.push_back(call_of(call));
    });
    extra["tool_calls"] = std::move(calls);
  }
  return extra;
}

cogen::chat_message read_message(const field_reader& message) {
  auto role = message.required_text("role");
  if (role.empty()) message.refuse("role", "system, developer, user, assistant or tool");
  if (role == "developer") role = "system";  // OpenAI's newer name, which templates do not know
  if (!message.has("content") && !message.has("tool_calls") && role != "assistant")
    message.refuse("content", "a string or an array of parts");
  return {std::move(role), read_content(message), extra_of(message)};
}

cogen::tool_choice read_tool_choice(const field_reader& body) {
  using kind = cogen::tool_choice::kind;
  const auto* value = body.find("tool_choice");
  if (!value) return {};
  if (const auto* text = value->if_string()) {
    if (*text == "auto") return {kind::automatic, {}};
    if (*text == "none") return {kind::none, {}};
    if (*text == "required" || *text == "any") return {kind::required, {}};
  } else if (value->is_object()) {
    const auto choice = *body.fields("tool_choice");
    if (const auto function = choice.fields("function")) return {kind::function, function->required_text("name")};
    if (const auto name = choice.text("name")) return {kind::function, *name};
  }
  body.refuse("tool_choice", "\"auto\", \"none\", \"required\", or an object that names a function");
}

/// How a chat ends: with the beginning of an answer unless it says otherwise.
void read_ending(const field_reader& body, cogen::request& into) {
  const auto begins_answer = body.flag("add_generation_prompt");
  into.continue_final_message = body.flag("continue_final_message").value_or(false);
  if (into.continue_final_message && begins_answer.value_or(false))
    body.refuse("add_generation_prompt", "false beside continue_final_message");
  if (begins_answer) into.chat_template_kwargs["add_generation_prompt"] = *begins_answer;
}

}  // namespace

std::string read_content(const field_reader& message) {
  const auto* content = message.find("content");
  if (!content) return {};
  if (const auto* text = content->if_string()) return std::string(*text);
  if (!content->is_array()) message.refuse("content", "a string or an array of parts");
  std::string result;
  message.each("content", [&](const field_reader& part) {
    const auto type = part.required_text("type");
    if (type != "text" && type != "input_text" && type != "output_text")
      part.refuse("type", "\"text\"; the model reads nothing else");
    if (!result.empty()) result += '\n';
    result += part.required_text("text");
  });
  return result;
}

cogen::chat_messages read_messages(const field_reader& body) {
  static_cast<void>(body.required_array("messages"));
  cogen::chat_messages messages;
  body.each("messages", [&](const field_reader& message) { messages.push_back(read_message(message)); });
  return messages;
}

void read_chat(const field_reader& body, generation& into) {
  auto& request = into.request;
  request.prompt = read_messages(body);
  if (const auto* tools = body.array("tools")) request.tools = *tools;
  request.tool_choice = read_tool_choice(body);
  if (const auto* variables = body.object("chat_template_kwargs")) request.chat_template_kwargs = *variables;
  read_ending(body, request);
  if (const auto effort = body.text("reasoning_effort");
      effort && !request.chat_template_kwargs.contains("reasoning_effort"))
    request.chat_template_kwargs["reasoning_effort"] = *effort;
  if (auto format = read_format(body)) request.response_format = std::move(*format);
  read_chat_logprobs(body, request);
}

void read_chat_logprobs(const field_reader& body, cogen::request& into) {
  const auto top = body.integer("top_logprobs", 0, cogen::sampling_params::max_logprobs);
  const auto* wanted = body.find("logprobs");
  if (wanted && !wanted->is_bool()) body.refuse("logprobs", "true or false");
  if (wanted && wanted->get_bool())
    into.sampling.logprobs = top.value_or(0);
  else if (top.value_or(0) > 0)
    body.refuse("top_logprobs", "0 unless logprobs is true");
  if (const auto prompt = body.count("prompt_logprobs")) into.prompt_logprobs = *prompt;
}

}  // namespace server::api
