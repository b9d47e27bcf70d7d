#include "answers/response/families.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cogen::response {
namespace {

using form = call_syntax::form;

/// What one family writes, and what its chat templates hold.
struct reasoning_family {
  std::string_view sign;
  std::string_view open;
  std::string_view close;
};

struct call_family {
  std::vector<std::string_view> signs;
  call_syntax calls;
  std::vector<std::string_view> around_text = {};
};

std::vector<delimiter> any_of(std::initializer_list<std::string_view> spellings) {
  std::vector<delimiter> delimiters;
  for (const auto each : spellings) delimiters.push_back(delimiter_of(each));
  return delimiters;
}

const std::vector<reasoning_family>& reasoning_families() {
  static const std::vector<reasoning_family> families = {
      {"<|channel|>analysis", "<|channel|>analysis<|message|>", "<|end|>"},
      {"<|channel>thought", "<|channel>thought", "<channel|>"},
      {"<|START_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"},
      {"<seed:think>", "<seed:think>", "</seed:think>"},
      {"[THINK]", "[THINK]", "[/THINK]"},
      {"</think>", "<think>", "</think>"},
  };
  return families;
}

call_syntax objects(std::string_view open, std::string_view close, bool array = false) {
  return {.type = form::object, .open = any_of({open}), .close = delimiter_of(close), .array = array};
}

call_syntax functions_of_parameters(std::string_view open, std::string_view close) {
  return {.type = form::parameters,
          .open = any_of({open}),
          .close = delimiter_of(close),
          .parameter = {delimiter_of("<parameter={name}>"), delimiter_of("</parameter>")}};
}

call_syntax hermes() { return objects("<tool_call>", "</tool_call>"); }

call_syntax deepseek(const std::string& before_arguments, const std::string& after_arguments) {
  return {.type = form::arguments,
          .open = any_of({"<｜tool▁call▁begin｜>" + before_arguments}),
          .close = delimiter_of(after_arguments + "<｜tool▁call▁end｜>"),
          .section_open = delimiter_of("<｜tool▁calls▁begin｜>"),
          .section_close = delimiter_of("<｜tool▁calls▁end｜>")};
}

call_syntax command_r() {
  auto calls = objects("<|START_ACTION|>", "<|END_ACTION|>", true);
  calls.name_key = "tool_name";
  calls.arguments_key = "parameters";
  calls.id_key = "tool_call_id";
  return calls;
}

const call_id_syntax mistral_id = {.length = 9};

call_syntax mistral_objects() {
  auto calls = objects("[TOOL_CALLS]", "", true);
  calls.id = mistral_id;
  return calls;
}

/// The first family with all its signs in the template counts.
const std::vector<call_family>& call_families() {
  static const std::vector<call_family> families = {
      // gpt-oss
      {{"<|channel|>", "functions."},
       {.type = form::arguments,
        .open = any_of({"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>",
                        "<|channel|>commentary to=functions.{name} json<|message|>",
                        "<|channel|>commentary to=functions.{name}<|message|>",
                        "to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>",
                        "to=functions.{name}<|channel|>commentary json<|message|>"}),
        .triggers = {"<|channel|>commentary to=functions."}},
       {"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>final <|constrain|>json<|message|>",
        "<|channel|>commentary<|message|>", "<|end|>", "<|call|>", "<|return|>"}},
      // DeepSeek V3 and R1, then V3.1
      {{"<｜tool▁sep｜>", "```"}, deepseek("function<｜tool▁sep｜>{name}\n```json", "```")},
      {{"<｜tool▁sep｜>"}, deepseek("{name}<｜tool▁sep｜>", "")},
      // Kimi K2
      {{"<|tool_call_argument_begin|>"},
       {.type = form::arguments,
        .open = any_of({"<|tool_call_begin|>functions.{name}:{id}<|tool_call_argument_begin|>"}),
        .close = delimiter_of("<|tool_call_end|>"),
        .section_open = delimiter_of("<|tool_calls_section_begin|>"),
        .section_close = delimiter_of("<|tool_calls_section_end|>"),
        .id = {.spelling = "functions.{name}:{id}"}}},
      // MiniMax M2
      {{"<minimax:tool_call>"},
       {.type = form::parameters,
        .open = any_of({"<invoke name=\"{name}\">"}),
        .close = delimiter_of("</invoke>"),
        .section_open = delimiter_of("<minimax:tool_call>"),
        .section_close = delimiter_of("</minimax:tool_call>"),
        .parameter = {delimiter_of("<parameter name=\"{name}\">"), delimiter_of("</parameter>")}}},
      // Seed-OSS
      {{"<seed:tool_call>"},
       functions_of_parameters("<seed:tool_call>\n<function={name}>", "</function>\n</seed:tool_call>")},
      // Qwen3-Coder, Qwen 3.5, Nemotron 3
      {{"<tool_call>", "<function=", "<parameter="},
       functions_of_parameters("<tool_call>\n<function={name}>", "</function>\n</tool_call>")},
      // GLM 4.5 and later
      {{"<arg_key>"},
       {.type = form::parameters,
        .open = any_of({"<tool_call>{name}"}),
        .close = delimiter_of("</tool_call>"),
        .parameter = {delimiter_of("<arg_key>{name}</arg_key>\n<arg_value>"), delimiter_of("</arg_value>")}}},
      // Mistral, from the latest to the first
      {{"[CALL_ID]", "[ARGS]"},
       {.type = form::arguments,
        .open = any_of({"[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]", "[TOOL_CALLS]{name}[ARGS]"}),
        .id = mistral_id}},
      {{"[ARGS]"}, {.type = form::arguments, .open = any_of({"[TOOL_CALLS]{name}[ARGS]"}), .id = mistral_id}},
      {{"[TOOL_CALLS]"}, mistral_objects()},
      // Command R7B, Command A
      {{"<|START_ACTION|>"}, command_r(), {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}},
      // Nemotron Nano 2
      {{"<TOOLCALL>"}, objects("<TOOLCALL>", "</TOOLCALL>", true)},
      // Apriel
      {{"<tool_calls>["}, objects("<tool_calls>", "</tool_calls>", true)},
      // Phi-4 mini, then Granite 3
      {{"<|tool_call|>", "<|/tool_call|>"}, objects("<|tool_call|>", "<|/tool_call|>", true)},
      {{"<|tool_call|>"}, objects("<|tool_call|>", "", true)},
      // Llama 3.1 to 3.3
      {{"\"parameters\": dictionary of argument name"},
       {.type = form::arguments,
        .open =
            any_of({R"({"name": "{name}", "parameters":)", R"({"type": "function", "name": "{name}", "parameters":)"}),
        .close = delimiter_of("}")},
       {"<|python_tag|>"}},
      // Hermes, Qwen 2.5, Qwen 3, Granite 4
      {{}, hermes()},
  };
  return families;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

response_syntax syntax_of_template(std::string_view chat_template) {
  response_syntax syntax;
  const auto& thinking = reasoning_families();
  const auto reasoning =
      std::ranges::find_if(thinking, [&](const reasoning_family& family) { return holds(chat_template, family.sign); });
  if (reasoning != thinking.end()) syntax.reasoning = {delimiter_of(reasoning->open), delimiter_of(reasoning->close)};
  const auto& calls = *std::ranges::find_if(call_families(), [&](const call_family& family) {
    return std::ranges::all_of(family.signs, [&](std::string_view sign) { return holds(chat_template, sign); });
  });
  syntax.calls = calls.calls;
  for (const auto each : calls.around_text) syntax.around_text.push_back(delimiter_of(each));
  return syntax;
}

}  // namespace cogen::response
