#include "formats/text/chat_prompt.hpp"

#include "formats/json/field.hpp"
#include "formats/text/chat_roles.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::text {
namespace {

void check_tool(const json::field& tool) {
  const auto type = tool.at("type");
  if (type.string() != "function") type.refuse("must be \"function\"");
  const auto function = tool.at("function");
  const auto name = function.at("name");
  if (name.string().empty()) name.refuse("must not be empty");
  if (const auto description = function.find("description")) static_cast<void>(description->string());
  if (const auto parameters = function.find("parameters")) static_cast<void>(parameters->object());
}

}  // namespace

boost::json::object template_variables(const boost::json::array& tools, const boost::json::object& kwargs) {
  for (std::size_t i = 0; i < tools.size(); ++i) check_tool({tools[i], "tools[" + std::to_string(i) + "]"});
  for (const std::string name : {"messages", "tools"})
    if (kwargs.contains(name))
      throw std::invalid_argument("chat_template_kwargs holds " + name + ", which another member of the request sets");
  auto variables = kwargs;
  if (!tools.empty()) variables["tools"] = tools;
  return variables;
}

std::string encoded_chat::text() const {
  std::string joined;
  for (const auto& each : segments) joined += each.text;
  return joined;
}

std::string encoded_chat::ending() const {
  return !segments.empty() && segments.back().trusted ? segments.back().text : std::string();
}

encoded_chat encode_chat(std::span<const chat_message> messages, boost::json::object variables,
                         const chat_template& chat, const tokenizer& tokens, bool continued, std::size_t max_tokens) {
  template_options options{.continue_final_message = continued, .extra = std::move(variables)};
  if (const auto bos = tokens.bos()) options.bos = tokens.token_text(*bos);
  if (const auto eos = tokens.eos(); !eos.empty()) options.eos = tokens.token_text(eos.front());
  auto segments = chat.render_segments(messages, options);
  check_roles(messages, chat, options);
  auto ids = tokens.encode(segments, {.parse_special = true, .max_tokens = max_tokens});
  return {std::move(ids), std::move(segments)};
}

}  // namespace cogen::text
