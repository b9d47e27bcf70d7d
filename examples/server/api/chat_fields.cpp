#include "api/chat_fields.hpp"

#include "api/error.hpp"
#include "api/format_fields.hpp"
#include "api/history_fields.hpp"
#include "api/tool_fields.hpp"
#include "api/unsupported_fields.hpp"

#include <fmt/format.h>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

json::object call_of(const field_reader& call) {
  json::object result = call.source();
  const auto function = call.fields("function");
  if (!function) call.refuse("function", "an object");
  static_cast<void>(function->required_text("name"));
  result["function"].as_object()["arguments"] = read_arguments(*function);
  return result;
}

json::object extra_of(const field_reader& message) {
  json::object extra = message.source();
  extra.erase("role");
  extra.erase("content");
  if (message.has("tool_calls")) {
    json::array calls;
    message.for_each("tool_calls", [&](const field_reader& call) { calls.push_back(call_of(call)); });
    extra["tool_calls"] = std::move(calls);
  }
  return extra;
}

/// Calls as OpenAI's API wrote them before there were ids: one in a message, answered by the next one of its function.
class legacy_calls {
 public:
  void settle(const field_reader& message, cogen::chat_message& read) {
    if (const auto call = message.fields("function_call")) {
      if (message.has("tool_calls")) message.refuse("function_call", "missing beside tool_calls");
      read.extra->erase("function_call");
      (*read.extra)["tool_calls"] =
          json::array{{{"id", "call_" + std::to_string(++calls_)},
                       {"type", "function"},
                       {"function", {{"name", call->required_text("name")}, {"arguments", read_arguments(*call)}}}}};
    } else if (read.role == "function" && calls_ > 0) {
      read.role = "tool";
      (*read.extra)["tool_call_id"] = "call_" + std::to_string(calls_);
    }
  }

 private:
  int calls_ = 0;
};

cogen::chat_message read_message(const field_reader& message) {
  auto role = message.required_text("role");
  if (role.empty()) message.refuse("role", "system, developer, user, assistant or tool");
  if (role == "developer") role = "system";  // OpenAI's newer name, which templates do not know
  const bool may_be_empty = role == "assistant" || role == "tool" || role == "function" || message.has("tool_calls");
  if (!message.has("content") && !may_be_empty) message.refuse("content", "a string or an array of parts");
  return {std::move(role), read_content(message), extra_of(message)};
}

/// How a chat ends: with the beginning of an answer unless it says otherwise.
void read_ending(const field_reader& body, cogen::request& request) {
  const auto begins_answer = body.flag("add_generation_prompt");
  request.continue_final_message = body.flag("continue_final_message").value_or(false);
  if (request.continue_final_message && begins_answer.value_or(false))
    body.refuse("add_generation_prompt", "false beside continue_final_message");
  if (begins_answer) (*request.chat_template_kwargs)["add_generation_prompt"] = *begins_answer;
}

}  // namespace

cogen::chat_messages read_messages(const field_reader& body) {
  static_cast<void>(body.required_array("messages"));
  cogen::chat_messages messages;
  legacy_calls older;
  body.for_each("messages", [&](const field_reader& message) {
    messages.push_back(read_message(message));
    older.settle(message, messages.back());
  });
  return messages;
}

void read_answer(const field_reader& body, cogen::request& request) {
  read_tool_choice(body, request);
  if (const auto* variables = body.object("chat_template_kwargs")) request.chat_template_kwargs = *variables;
  if (auto format = read_format(body)) request.response_format = std::move(*format);
}

void set_effort(const std::optional<std::string>& effort, cogen::request& request) {
  if (effort && !request.chat_template_kwargs->contains("reasoning_effort"))
    (*request.chat_template_kwargs)["reasoning_effort"] = *effort;
}

void read_chat(const field_reader& body, generation& wanted) {
  check_unsupported(body, field_set::chat);
  auto& request = wanted.request;
  request.prompt = read_messages(body);
  request.tools = read_tools(body);
  read_answer(body, request);
  read_ending(body, request);
  set_effort(body.text("reasoning_effort"), request);
  read_chat_logprobs(body, request);
}

void read_chat_logprobs(const field_reader& body, cogen::request& request) {
  const auto top = body.integer("top_logprobs", 0, cogen::sampling_params::max_logprobs);
  const auto* wanted = body.find("logprobs");
  if (wanted && !wanted->is_bool()) body.refuse("logprobs", "true or false");
  if (wanted && wanted->get_bool())
    request.sampling.logprobs = top.value_or(0);
  else if (top.value_or(0) > 0)
    body.refuse("top_logprobs", "0 unless logprobs is true");
  if (const auto prompt = body.count("prompt_logprobs")) request.prompt_logprobs = *prompt;
}

}  // namespace server::api
