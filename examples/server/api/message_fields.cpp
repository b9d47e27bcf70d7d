#include "api/message_fields.hpp"

#include "api/chat_fields.hpp"
#include "api/format_fields.hpp"
#include "api/history_fields.hpp"
#include "api/sampling_fields.hpp"
#include "api/unsupported_fields.hpp"

#include <boost/json/value.hpp>

#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

void append_text(std::string& target, const std::string& text) {
  if (!target.empty() && !text.empty()) target += '\n';
  target += text;
}

/// A text, or an array of text blocks.
std::string text_of(const field_reader& fields, std::string_view name) {
  const auto* value = fields.find(name);
  if (!value) return {};
  if (const auto* text = value->if_string()) return std::string(*text);
  if (!value->is_array()) fields.refuse(name, "a string or an array of text blocks");
  std::string result;
  fields.for_each(name, [&](const field_reader& part) {
    if (part.required_text("type") != "text") part.refuse("type", "\"text\"; the model reads nothing else");
    append_text(result, part.required_text("text"));
  });
  return result;
}

json::object tool_use(const field_reader& part) {
  return {{"id", part.required_text("id")},
          {"type", "function"},
          {"function", {{"name", part.required_text("name")}, {"arguments", read_arguments(part, "input")}}}};
}

/// One message of Anthropic's may be several of a template's: results of tools are messages of their own.
void read_message(const field_reader& message, cogen::chat_messages& messages) {
  const auto role = message.required_text("role");
  if (role != "user" && role != "assistant" && role != "system") message.refuse("role", "user or assistant");
  const auto* content = message.find("content");
  if (!content) message.refuse("content", "a string or an array of blocks");
  if (!content->is_array()) {
    messages.push_back({role, text_of(message, "content")});
    return;
  }
  std::string text, reasoning;
  json::array calls;
  bool has_results = false;
  message.for_each("content", [&](const field_reader& part) {
    const auto type = part.required_text("type");
    if (type == "text") {
      append_text(text, part.required_text("text"));
    } else if (type == "thinking") {
      append_text(reasoning, part.required_text("thinking"));
    } else if (type == "tool_use") {
      calls.push_back(tool_use(part));
    } else if (type == "tool_result") {
      has_results = true;
      messages.push_back(
          {"tool", text_of(part, "content"), json::object{{"tool_call_id", part.required_text("tool_use_id")}}});
    } else if (type != "redacted_thinking") {
      part.refuse("type", "text, thinking, tool_use or tool_result");
    }
  });
  if (has_results && text.empty()) return;
  json::object extra;
  if (!reasoning.empty()) extra["reasoning_content"] = reasoning;
  if (!calls.empty()) extra["tool_calls"] = std::move(calls);
  messages.push_back({role, std::move(text), std::move(extra)});
}

cogen::chat_messages read_conversation(const field_reader& body) {
  static_cast<void>(body.required_array("messages"));
  cogen::chat_messages messages;
  if (auto system = text_of(body, "system"); !system.empty()) messages.push_back({"system", std::move(system)});
  body.for_each("messages", [&](const field_reader& message) { read_message(message, messages); });
  return messages;
}

/// Whether the last message is the beginning of an answer, which Anthropic's API continues.
bool is_begun_answer(const cogen::chat_messages& messages) {
  return !messages.empty() && messages.back().role == "assistant" && !messages.back().content.empty();
}

json::array read_message_tools(const field_reader& body) {
  json::array tools;
  body.for_each("tools", [&](const field_reader& tool) {
    json::object function{{"name", tool.required_text("name")}};
    if (const auto description = tool.text("description")) function["description"] = *description;
    const auto* schema = tool.object("input_schema");
    function["parameters"] = schema ? *schema : json::object{{"type", "object"}, {"properties", json::object()}};
    if (const auto strict = tool.flag("strict")) function["strict"] = *strict;
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  });
  return tools;
}

cogen::tool_choice choice_of(const field_reader& choice) {
  using kind = cogen::tool_choice::kind;
  const auto type = choice.required_text("type");
  if (type == "auto") return {kind::automatic, {}};
  if (type == "none") return {kind::none, {}};
  if (type == "any") return {kind::required, {}};
  if (type == "tool") return {kind::function, choice.required_text("name")};
  choice.refuse("type", "auto, any, tool or none");
}

void read_message_tool_choice(const field_reader& body, cogen::request& request) {
  const auto choice = body.fields("tool_choice");
  if (!choice) return;
  request.tool_choice = choice_of(*choice);
  request.parallel_tool_calls = !choice->flag("disable_parallel_tool_use").value_or(false);
}

void read_thinking(const field_reader& body, cogen::request& request) {
  if (const auto output = body.fields("output_config")) set_effort(output->text("effort"), request);
  const auto thinking = body.fields("thinking");
  if (!thinking) return;
  const auto type = thinking->required_text("type");
  if (type != "enabled" && type != "disabled" && type != "adaptive")
    thinking->refuse("type", "enabled, disabled or adaptive");
  (*request.chat_template_kwargs)["enable_thinking"] = type != "disabled";
  if (const auto budget = thinking->count("budget_tokens")) request.reasoning_budget = *budget;
}

}  // namespace

generation read_message_request(const field_reader& body, const sender& client, const route_defaults& otherwise,
                                const cogen::text::tokenizer* tokens, bool needs_limit) {
  check_unsupported(body, field_set::messages);
  generation wanted;
  read_generation(body, client, otherwise, tokens, wanted);
  if (needs_limit && !wanted.request.max_tokens) body.refuse("max_tokens", "an integer of at least 0");
  wanted.n = 1;
  auto messages = read_conversation(body);
  wanted.request.continue_final_message = is_begun_answer(messages);
  wanted.request.prompt = std::move(messages);
  wanted.request.tools = read_message_tools(body);
  read_message_tool_choice(body, wanted.request);
  if (const auto* variables = body.object("chat_template_kwargs")) wanted.request.chat_template_kwargs = *variables;
  read_thinking(body, wanted.request);
  if (auto format = read_format(body)) wanted.request.response_format = std::move(*format);
  if (const auto* texts = body.array("stop_sequences"))
    for (const auto& each : *texts) {
      if (!each.is_string()) body.refuse("stop_sequences", "an array of strings");
      wanted.request.stop.emplace_back(each.get_string());
    }
  return wanted;
}

}  // namespace server::api
