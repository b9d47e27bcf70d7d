#include "api/unsupported_fields.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace server::api {
namespace {

namespace json = boost::json;

/// A field, and a JSON array of the values that ask for nothing.
struct unsupported_field {
  std::string_view name;
  std::string_view idle = "[]";
};

// clang-format off
constexpr unsupported_field of_generation[] = {
    // llama-server's samplers, and what else its /completion takes.
    {"typical_p", "[1]"}, {"typ_p", "[1]"}, {"top_n_sigma", "[-1, 0]"}, {"xtc_probability", "[0]"},
    {"dry_multiplier", "[0]"}, {"mirostat", "[0]"}, {"dynatemp_range", "[0]"}, {"adaptive_target", "[-1]"},
    {"min_keep", "[0, 1]"}, {"samplers"}, {"lora", "[[]]"}, {"n_indent", "[0]"}, {"response_fields", "[[]]"},
    {"image_data", "[[]]"}, {"verbose", "[false]"}, {"reasoning_control", "[false]"},
    {"reasoning_budget_message", "[\"\"]"}, {"reasoning_budget_start_tag", "[\"\"]"},
    {"reasoning_budget_end_tag", "[\"\"]"}, {"reasoning_budget_end_tags", "[[]]"}, {"grammar_triggers", "[[]]"},
    {"chat_format", "[0]"}, {"chat_parser", "[\"\"]"}, {"generation_prompt", "[\"\"]"},
    // vLLM's.
    {"use_beam_search", "[false]"}, {"length_penalty", "[1]"}, {"include_stop_str_in_output", "[false]"},
    {"skip_special_tokens", "[true]"}, {"return_tokens_as_token_ids", "[false]"},
    {"return_token_ids", "[false]"}, {"logits_processors", "[[]]"},
    {"prompt_embeds"}, {"logprob_token_ids", "[[]]"}, {"repetition_detection"}, {"mm_processor_kwargs", "[{}]"},
    {"kv_transfer_params"}, {"vllm_xargs", "[{}]"},
    // SGLang's and Transformers'.
    {"no_repeat_ngram_size", "[0]"}, {"no_stop_trim", "[false]"}, {"custom_logit_processor"}, {"lora_path"},
    {"return_hidden_states", "[false]"}, {"stop_regex", "[[]]"}, {"session_params"}, {"custom_params"},
};
constexpr unsupported_field of_completions[] = {{"add_special_tokens", "[true]"}};
constexpr unsupported_field of_chat[] = {
    {"audio"}, {"modalities", "[[\"text\"]]"}, {"functions", "[[]]"}, {"function_call", "[\"auto\", \"none\"]"},
    {"web_search_options"}, {"verbosity", "[\"medium\"]"}, {"moderation"},
    {"chat_template"}, {"documents", "[[]]"}, {"add_special_tokens", "[false]"}, {"echo", "[false]"},
    {"include_reasoning", "[true]"}, {"separate_reasoning", "[true]"},
    {"reasoning_format", "[\"auto\", \"deepseek\"]"}, {"parse_tool_calls", "[true]"}, {"stream_reasoning", "[true]"},
};
constexpr unsupported_field of_responses[] = {
    {"background", "[false]"}, {"conversation"}, {"prompt"}, {"truncation", "[\"disabled\"]"}, {"top_logprobs", "[0]"},
    {"include", "[[], [\"reasoning.encrypted_content\"]]"}, {"context_management", "[[]]"}, {"moderation"},
    {"personality"}, {"enable_response_messages", "[false]"}, {"previous_input_messages", "[[]]"},
};
constexpr unsupported_field of_messages[] = {
    {"container"}, {"mcp_servers", "[[]]"}, {"compaction"}, {"thread"},
    // Claude Code keeps all of its reasoning.
    {"context_management", R"([{}, {"edits": []}, {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}])"},
};
constexpr unsupported_field of_embeddings[] = {
    {"embd_normalize"}, {"truncate_prompt_tokens"}, {"add_special_tokens", "[true]"}, {"normalize", "[true]"},
    {"embed_dtype", "[\"float32\"]"}, {"messages"}, {"input_type"}, {"task"}, {"truncate", "[\"NONE\"]"},
    {"late_chunking", "[false]"},
};
constexpr unsupported_field of_rerank[] = {
    {"truncate_prompt_tokens"}, {"max_tokens_per_doc"}, {"max_chunks_per_doc"}, {"rank_fields"},
    {"texts"}, {"instruction"},
};
// clang-format on

std::span<const unsupported_field> fields_of(field_set which) {
  switch (which) {
    case field_set::generation:
      return of_generation;
    case field_set::completions:
      return of_completions;
    case field_set::chat:
      return of_chat;
    case field_set::responses:
      return of_responses;
    case field_set::messages:
      return of_messages;
    case field_set::embeddings:
      return of_embeddings;
    case field_set::rerank:
      return of_rerank;
  }
  return {};
}

/// Numbers are equal whatever their type.
bool is_same(const json::value& value, const json::value& other) {
  if (value.is_number() && other.is_number()) return value.to_number<double>() == other.to_number<double>();
  return value == other;
}

void check(const field_reader& body, const unsupported_field& field) {
  const auto* value = body.find(field.name);
  if (!value) return;
  const auto idle = json::parse({field.idle.data(), field.idle.size()}).as_array();
  if (std::ranges::any_of(idle, [&](const json::value& entry) { return is_same(*value, entry); })) return;
  const auto values = field.idle.substr(1, field.idle.size() - 2);
  body.refuse(field.name, values.empty() ? "missing; it is not supported"
                                         : fmt::format("missing or one of {}; others are not supported", values));
}

/// Tools that Anthropic's servers run, or whose schemas they know.
void check_tool_types(const field_reader& body) {
  body.for_each("tools", [](const field_reader& tool) {
    if (tool.text("type").value_or("custom") != "custom")
      tool.refuse("type", "custom; the server has no tools of its own");
  });
}

}  // namespace

void check_unsupported(const field_reader& body, field_set which) {
  for (const auto& field : fields_of(which)) check(body, field);
  if (which == field_set::messages) check_tool_types(body);
  if (which != field_set::responses) return;
  if (const auto text = body.fields("text")) check(*text, {"verbosity", "[\"medium\"]"});
}

}  // namespace server::api
