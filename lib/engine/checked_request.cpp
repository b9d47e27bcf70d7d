#include "engine/checked_request.hpp"

#include "engine/chat_encoder.hpp"
#include "engine/checked_encoder_input.hpp"
#include "engine/salt.hpp"
#include "engine/token_filter.hpp"
#include "formats/text/prompt_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen::detail {
namespace {

void check_limit(std::string_view name, const std::optional<clock::duration>& limit) {
  if (limit && *limit <= clock::duration::zero())
    throw std::invalid_argument(fmt::format("{} is {} ns; it must be more than 0", name, limit->count()));
}

template <class... Values>
[[noreturn]] void does_not_fit(fmt::format_string<Values...> message, Values&&... values) {
  throw generation_error({error::does_not_fit, fmt::format(message, std::forward<Values>(values)...)});
}

std::string_view and_one_more(const request& request) {
  return request.max_tokens.value_or(1) > 0 ? ", with at least 1 generated" : "";
}

std::vector<token> encoder_tokens(const request& request, const engine_parts& parts) try {
  if (!request.encoder_input) return {};
  if (const auto* ids = std::get_if<token_ids>(&*request.encoder_input)) return *ids;
  if (!parts.tokenizer) throw std::invalid_argument("the encoder input is text, and this engine has no tokenizer");
  text::encode_options options{.add_special = true};
  if (parts.encoder_inputs) options.max_tokens = static_cast<std::size_t>(parts.encoder_inputs->longest);
  return parts.tokenizer->encode(std::get<std::string>(*request.encoder_input), options);
} catch (const text::token_limit_exceeded& e) {
  throw std::invalid_argument(fmt::format("the encoder input has at least {} tokens; the encoder reads {} at most",
                                          e.least(), parts.encoder_inputs->longest));
}

void check_no_chat(const request& request) {
  if (!request.tools->empty() || !request.chat_template_kwargs->empty())
    throw std::invalid_argument("tools and chat_template_kwargs are for a chat, and the prompt is none");
  if (request.continue_final_message)
    throw std::invalid_argument("continue_final_message is for a chat, and the prompt is none");
  if (request.tool_choice.type != tool_choice::kind::automatic || request.reasoning_budget)
    throw std::invalid_argument("tool_choice and reasoning_budget are for a chat, and the prompt is none");
}

/// One that is truncated may be longer than a sequence before.
std::size_t max_prompt_tokens(const request& request, const engine_parts& parts) {
  if (request.truncate_prompt) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(parts.limits.max_sequence_length);
}

std::vector<token> truncated(std::vector<token> prompt, const request& request) {
  const auto kept = request.truncate_prompt.value_or(std::numeric_limits<int>::max());
  if (std::ssize(prompt) > kept) prompt.erase(prompt.begin(), prompt.end() - kept);
  return prompt;
}

chat_encoder chats_of(const request& request, const engine_parts& parts, const response::response_syntax& syntax) {
  return {.tokenizer = parts.tokenizer.get(),
          .chat = parts.chat.get(),
          .chat_error = parts.chat_error,
          .call_id = call_id_of(syntax),
          .max_tokens = max_prompt_tokens(request, parts)};
}

text::encoded_chat encode_prompt(const request& request, const engine_parts& parts,
                                 const response::response_syntax& syntax) {
  const auto* messages = std::get_if<chat_messages>(&request.prompt);
  if (!messages) check_no_chat(request);
  if (const auto* ids = std::get_if<token_ids>(&request.prompt)) return {.tokens = *ids};
  if (messages) return chats_of(request, parts, syntax).encode(*messages, request);
  if (!parts.tokenizer) throw std::invalid_argument(no_tokenizer);
  return {.tokens = parts.tokenizer->encode(std::get<std::string>(request.prompt),
                                            {.add_special = true, .max_tokens = max_prompt_tokens(request, parts)})};
}

/// The decoder's prompt for a model with an encoder. It begins with the start token, once.
std::vector<token> decoder_tokens(const request& request, const engine_parts& parts,
                                  const response::response_syntax& syntax) {
  const auto* text = std::get_if<std::string>(&request.prompt);
  auto begun = text && parts.tokenizer
                   ? parts.tokenizer->encode(*text, {.max_tokens = max_prompt_tokens(request, parts)})
                   : encode_prompt(request, parts, syntax).tokens;
  begun = truncated(std::move(begun), request);
  if (begun.empty() || begun.front() != parts.encoder_inputs->start)
    begun.insert(begun.begin(), parts.encoder_inputs->start);
  return begun;
}

struct guide_finder {
  const engine_parts& parts;
  grammar::compiler& formats;
  const grammar::format_client& client;

  grammar::guided_response operator()(const response_format& format) const {
    const auto compiled = formats.compile(format, client);
    return {compiled->start(), {compiled->loosened().begin(), compiled->loosened().end()}};
  }

  grammar::guided_response operator()(const compiled_format& format) const {
    if (!format) throw std::invalid_argument("the response format is a compiled_format that holds nothing");
    if (&format.tokens() != parts.tokenizer.get())
      throw std::invalid_argument("the response format was compiled for another model");
    return {format.start(), {format.loosened().begin(), format.loosened().end()}};
  }

  grammar::guided_response operator()(const std::shared_ptr<const guide>& own) const {
    if (!own) throw std::invalid_argument("the response format is a guide that is null");
    return {own, {}};
  }
};

void check_biases(const sampling_params& params, int vocabulary) {
  const auto forbids = [](const auto& bias) { return bias.second == -std::numeric_limits<double>::infinity(); };
  if (std::ranges::count_if(params.logit_bias, forbids) == vocabulary)
    throw std::invalid_argument(fmt::format("logit_bias forbids all {} tokens of the vocabulary", vocabulary));
}

/// The most tokens, up to `limit`, whose cache takes at most `bytes`. A footprint never shrinks as the length grows.
int max_fitting_length(std::int64_t bytes, const slot_footprint& usage, int limit) {
  int fits = 0, beyond = limit + 1;
  while (beyond - fits > 1) {
    const int middle = fits + (beyond - fits) / 2;
    (usage(middle) <= bytes ? fits : beyond) = middle;
  }
  return fits;
}

}  // namespace

void check_parameters(const request& request, int vocabulary) {
  if (request.max_tokens && *request.max_tokens < 0)
    throw std::invalid_argument(fmt::format("max_tokens is {}; it must be at least 0", *request.max_tokens));
  if (request.max_buffered_tokens < 0)
    throw std::invalid_argument(
        fmt::format("max_buffered_tokens is {}; it must be at least 0", request.max_buffered_tokens));
  if (request.max_bytes && *request.max_bytes < 1)
    throw std::invalid_argument(fmt::format("max_bytes is {}; it must be at least 1", *request.max_bytes));
  if (const auto logprobs = request.prompt_logprobs.value_or(0);
      logprobs < 0 || logprobs > sampling_params::max_logprobs)
    throw std::invalid_argument(
        fmt::format("prompt_logprobs is {}; it must be between 0 and {}", logprobs, sampling_params::max_logprobs));
  if (request.speculative.max_draft_tokens < 1)
    throw std::invalid_argument(
        fmt::format("max_draft_tokens is {}; it must be at least 1", request.speculative.max_draft_tokens));
  if (const auto last = request.truncate_prompt.value_or(1); last < 1)
    throw std::invalid_argument(fmt::format("truncate_prompt is {}; it must be at least 1", last));
  check_token_filter(request, vocabulary);
  check_salt(request.cache_salt);
  check_limit("start_within", request.start_within);
  check_limit("finish_within", request.finish_within);
  if (const auto budget = request.reasoning_budget.value_or(0); budget < 0)
    throw std::invalid_argument(fmt::format("reasoning_budget is {}; it must be at least 0", budget));
  check_biases(request.sampling, vocabulary);
  for (const token id : request.stop_token_ids)
    if (id < 0 || id >= vocabulary)
      throw std::invalid_argument(
          fmt::format("stop token {} does not exist; the vocabulary ends at {}", id, vocabulary - 1));
}

read_request read(const request& request, const engine_parts& parts, const response::response_syntax& syntax,
                  int vocabulary) try {
  if (request.speculative.drafter && request.speculative.drafter->reads_predictions() && !parts.predicts_tokens)
    throw std::invalid_argument(
        "the drafter reads predictions, as mtp() does, and the model was loaded without "
        "load_options.multi_token_prediction");
  read_request inputs;
  inputs.encoder_input = checked_encoder_input(encoder_tokens(request, parts), parts, vocabulary);
  if (parts.encoder_inputs) {
    inputs.prompt = decoder_tokens(request, parts, syntax);
  } else {
    auto prompt = encode_prompt(request, parts, syntax);
    if (std::holds_alternative<chat_messages>(request.prompt)) inputs.chat_ending = prompt.ending();
    inputs.prompt = truncated(std::move(prompt.tokens), request);
  }
  if (inputs.prompt.empty()) throw std::invalid_argument("the prompt is empty: it must hold at least one token");
  for (const token id : inputs.prompt)
    if (id < 0 || id >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the prompt holds token {}; the vocabulary ends at {}", id, vocabulary - 1));
  return inputs;
} catch (const text::token_limit_exceeded& e) {
  does_not_fit("the prompt has at least {} tokens; a sequence holds {} at most{}", e.least(),
               parts.limits.max_sequence_length, and_one_more(request));
}

int new_tokens_after(int prompt, const request& request, const scheduler::limits& limits) {
  const int least = std::min(1, request.max_tokens.value_or(1));
  if (prompt + least > limits.max_sequence_length)
    does_not_fit("the prompt has {} tokens; a sequence holds {} at most{}", prompt, limits.max_sequence_length,
                 and_one_more(request));
  int longest = limits.max_sequence_length;
  if (request.max_bytes) longest = max_fitting_length(*request.max_bytes, limits.usage, longest);
  if (prompt + least > longest)
    does_not_fit("the prompt has {} tokens; with {} more their cache takes {} bytes, and max_bytes is {}", prompt,
                 least, limits.usage(prompt + least), *request.max_bytes);
  const int room = longest - prompt;
  const int wanted = std::min(request.max_tokens.value_or(room), room);
  if (const auto bytes = limits.usage(prompt + wanted); bytes > limits.memory_bytes)
    does_not_fit("the request may come to hold {} tokens, whose cache takes {} bytes; the engine's budget is {}",
                 prompt + wanted, bytes, limits.memory_bytes);
  return wanted;
}

bool may_compile(const request& request, grammar::compiler& formats) {
  const auto* format = request.response_format ? std::get_if<response_format>(&*request.response_format) : nullptr;
  return !request.tools->empty() || (format && !formats.knows(*format, request.tenant));
}

grammar::guided_response guide_of(const request& request, const read_request& inputs, const engine_parts& parts,
                                  grammar::compiler& formats, const grammar::model_responses& responses,
                                  grammar::work_watch* watch) {
  const grammar::format_client client{.tenant = request.tenant, .watch = watch};
  grammar::guided_response answer;
  if (request.response_format) answer = std::visit(guide_finder{parts, formats, client}, *request.response_format);
  if (!inputs.chat_ending) return answer;
  return responses.guide_of({*request.tools, request.tool_choice, request.parallel_tool_calls, request.reasoning_budget,
                             *inputs.chat_ending, std::move(answer), client},
                            formats);
}

std::vector<token> end_tokens_of(const request& request, const engine_parts& parts) {
  auto ends = request.ignore_eos ? std::vector<token>() : parts.end_tokens;
  ends.insert(ends.end(), request.stop_token_ids.begin(), request.stop_token_ids.end());
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

std::vector<int> checkpoints_of(std::span<const token> tokens, const engine_parts& parts, int offset) {
  if (parts.limits.max_rollback_tokens == std::numeric_limits<int>::max()) return {};
  return text::prompt_checkpoints(tokens, parts.end_tokens, offset);
}

}  // namespace cogen::detail
