#include "api/completion_fields.hpp"

#include "api/encoded_text.hpp"
#include "api/error.hpp"
#include "api/format_fields.hpp"
#include "api/json_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

bool is_id(const json::value& value) {
  const auto* id = value.if_int64();
  return id && *id >= 0 && *id <= std::numeric_limits<cogen::token>::max();
}

/// Not an array of prompts.
bool is_one_prompt(const json::value& value) {
  const auto* parts = value.if_array();
  return !parts || std::any_of(parts->begin(), parts->end(), is_id);
}

constexpr std::size_t max_generations = 1024;
constexpr std::size_t max_copied_bytes = 32 << 20;  // of what each generation of a request has for itself

constexpr auto a_prompt = "a string, an array of token ids, an object with a prompt_string, or an array of prompts";

/// Throws api::error for what is too much for the tokenizer or for a sequence.
cogen::token_ids encoded_text(std::string_view name, std::string_view text, bool is_first,
                              prompt_tokenizer tokenizer) try {
  cogen::text::encode_options options{.add_special = is_first, .parse_special = true};
  if (!tokenizer.truncate) options.max_tokens = static_cast<std::size_t>(tokenizer.length);
  return encoded(name, [&] { return tokenizer.tokens->encode(text, options); });
} catch (const cogen::text::token_limit_exceeded& e) {
  throw too_long(e.least(), true, tokenizer.length);
}

/// One prompt of an array: its texts become tokens, beside those that are ids already.
cogen::token_ids joined(const field_reader& body, std::string_view name, const json::array& parts,
                        prompt_tokenizer tokenizer) {
  cogen::token_ids result;
  for (const auto& part : parts) {
    if (is_id(part)) {
      result.push_back(static_cast<cogen::token>(part.get_int64()));
    } else if (const auto* text = part.if_string(); text && tokenizer.tokens) {
      const auto more = encoded_text(name, std::string_view(*text), result.empty(), tokenizer);
      result.insert(result.end(), more.begin(), more.end());
    } else {
      body.refuse(name, a_prompt);
    }
  }
  if (result.empty()) body.refuse(name, "at least one token");
  return result;
}

/// A prompt as llama-server's clients write it beside images, of which there are none.
cogen::prompt prompt_in(const field_reader& prompt, prompt_tokenizer tokenizer) {
  auto text = prompt.required_text("prompt_string");
  if (const auto* media = prompt.find("multimodal_data"); media && !(media->is_array() && media->get_array().empty()))
    prompt.refuse("multimodal_data", "empty; the model reads nothing but text");
  if (!tokenizer.tokens) return text;
  return encoded_text("prompt_string", text, true, tokenizer);
}

cogen::prompt one_prompt(const field_reader& body, std::string_view name, const json::value& value,
                         prompt_tokenizer tokenizer) {
  if (const auto* object = value.if_object()) return prompt_in(field_reader(*object, body.path_of(name)), tokenizer);
  if (const auto* text = value.if_string(); text && !tokenizer.tokens) return std::string(*text);
  if (const auto* text = value.if_string()) return encoded_text(name, std::string_view(*text), true, tokenizer);
  if (const auto* parts = value.if_array()) return joined(body, name, *parts, tokenizer);
  body.refuse(name, a_prompt);
}

void truncate(std::vector<cogen::prompt>& prompts, int kept) {
  for (auto& prompt : prompts)
    if (auto* ids = std::get_if<cogen::token_ids>(&prompt); ids && std::ssize(*ids) > kept)
      ids->erase(ids->begin(), ids->end() - kept);
}

}  // namespace

std::vector<cogen::prompt> read_prompts(const field_reader& body, std::string_view name, prompt_tokenizer tokenizer) {
  const auto* value = body.find(name);
  if (!value) body.refuse(name, a_prompt);
  std::vector<cogen::prompt> result;
  const auto* several = value->if_array();
  if (several && several->empty()) body.refuse(name, "at least one token");
  if (is_one_prompt(*value)) {
    result.push_back(one_prompt(body, name, *value, tokenizer));
  } else {
    for (const auto& each : *several) result.push_back(one_prompt(body, name, each, tokenizer));
  }
  if (tokenizer.truncate) truncate(result, *tokenizer.truncate);
  return result;
}

std::size_t count_prompts(const field_reader& body, std::string_view name) {
  const auto* value = body.find(name);
  return !value || is_one_prompt(*value) ? 1 : value->get_array().size();
}

int read_completion(const field_reader& body, generation& wanted) {
  auto& request = wanted.request;
  request.echo = body.flag("echo").value_or(false);
  if (const auto top = body.integer("logprobs", 0, cogen::sampling_params::max_logprobs)) {
    request.sampling.logprobs = *top;
    if (request.echo) request.prompt_logprobs = static_cast<int>(*top);
  }
  if (const auto top = body.count("prompt_logprobs")) request.prompt_logprobs = *top;
  if (auto format = read_format(body)) request.response_format = std::move(*format);
  const int best_of = static_cast<int>(body.integer("best_of", wanted.n, 128).value_or(wanted.n));
  if (best_of > wanted.n && wanted.stream) body.refuse("best_of", fmt::format("n ({}) in a stream", wanted.n));
  return best_of;
}

void check_generations(const field_reader& body, std::size_t prompts, int answers) {
  const auto count = prompts * static_cast<std::size_t>(answers);
  if (count > max_generations)
    throw invalid(body.path_of("prompt"),
                  fmt::format("{} prompts with {} answers each are {} generations; a request may "
                              "have at most {}",
                              prompts, answers, count, max_generations));
  json_size copied{body.parsed_values(), 0};
  for (const auto& [name, value] : body.source())
    if (name != "prompt") copied = copied + size_of(value);
  if (count > 1 && (copied.values > max_json_values / count || copied.bytes > max_copied_bytes / count))
    throw invalid(
        body.path_of("n"),
        fmt::format("{} generations with {} JSON values of {} bytes each have more than {} values or {} bytes", count,
                    copied.values, copied.bytes, max_json_values, max_copied_bytes));
}

void check_prompt_logprobs(const field_reader& body, std::span<const cogen::prompt> prompts,
                           const cogen::request& request) {
  const auto top = static_cast<std::size_t>(request.prompt_logprobs.value_or(0));
  std::size_t tokens = 0;
  for (const auto& prompt : prompts)
    if (const auto* ids = std::get_if<cogen::token_ids>(&prompt)) tokens += ids->size();
  const std::string_view name = body.has("prompt_logprobs") ? "prompt_logprobs" : "logprobs";
  if (top > 0 && tokens > max_logprobs_of_answer / top)
    throw invalid(body.path_of(name),
                  fmt::format("{} is {}, for prompts of {} tokens; a request has at most {} of them", name, top, tokens,
                              max_logprobs_of_answer));
}

}  // namespace server::api
