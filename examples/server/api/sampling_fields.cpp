#include "api/sampling_fields.hpp"

#include "api/encoded_text.hpp"
#include "api/error.hpp"
#include "api/unsupported_fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <limits>

namespace server::api {
namespace {

namespace json = boost::json;

/// The number of the first of these names that is given.
std::optional<double> any_number(const field_reader& body, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    if (const auto value = body.number(name)) return value;
  return std::nullopt;
}

cogen::token token_id(const field_reader& body, std::string_view field, std::string_view text) {
  cogen::token id = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    throw invalid(body.path_of(field),
                  fmt::format("{} has the key \"{}\"; it must be a token id", body.path_of(field), text.substr(0, 60)));
  return id;
}

double bias_of(const field_reader& body, const json::value& value) {
  if (value.is_bool() && !value.get_bool()) return -std::numeric_limits<double>::infinity();
  if (!value.is_number())
    throw invalid(body.path_of("logit_bias"),
                  fmt::format("{} has the value {}; it must be a number, or false for never",
                              body.path_of("logit_bias"), shown(value)));
  return value.to_number<double>();
}

/// Pairs of a token or a text and a bias, as llama.cpp takes them.
void read_bias_pairs(const field_reader& body, const json::array& pairs, const cogen::text::tokenizer* tokens,
                     std::map<cogen::token, double>& biases) {
  for (const auto& pair : pairs) {
    const auto* both = pair.if_array();
    if (!both || both->size() != 2)
      body.refuse("logit_bias", "an object of token ids, or an array of pairs of a token and a bias");
    const auto bias = bias_of(body, (*both)[1]);
    if (const auto* id = (*both)[0].if_int64(); id && *id >= 0 && *id <= std::numeric_limits<cogen::token>::max())
      biases[static_cast<cogen::token>(*id)] = bias;
    else if (const auto* text = (*both)[0].if_string(); text && tokens)
      for (const auto each : encoded("logit_bias", [&] { return tokens->encode(std::string_view(*text)); }))
        biases[each] = bias;
    else
      body.refuse("logit_bias", "an array whose pairs begin with a token id or a text");
  }
}

std::map<cogen::token, double> logit_bias(const field_reader& body, const cogen::text::tokenizer* tokens) {
  std::map<cogen::token, double> result;
  const auto* value = body.find("logit_bias");
  if (!value) return result;
  if (const auto* pairs = value->if_array()) {
    read_bias_pairs(body, *pairs, tokens, result);
  } else if (const auto* map = value->if_object()) {
    for (const auto& [key, bias] : *map)
      result[token_id(body, "logit_bias", std::string_view(key.data(), key.size()))] = bias_of(body, bias);
  } else {
    body.refuse("logit_bias", "an object of token ids, or an array of pairs of a token and a bias");
  }
  return result;
}

cogen::sampling_params sampling(const field_reader& body, const route_defaults& otherwise,
                                const cogen::text::tokenizer* tokens) {
  cogen::sampling_params params;
  params.temperature = body.number("temperature").value_or(otherwise.temperature);
  params.top_k = std::max<std::int64_t>(0, body.integer("top_k").value_or(otherwise.top_k));  // others write -1 for all
  params.top_p = body.number("top_p").value_or(otherwise.top_p);
  params.min_p = body.number("min_p").value_or(otherwise.min_p);
  params.repetition_penalty =
      any_number(body, {"repetition_penalty", "repeat_penalty"}).value_or(otherwise.repetition_penalty);
  params.presence_penalty = body.number("presence_penalty").value_or(0);
  params.frequency_penalty = body.number("frequency_penalty").value_or(0);
  params.min_tokens = body.integer("min_tokens", 0).value_or(0);
  params.logit_bias = logit_bias(body, tokens);
  const auto* seed = body.find("seed");
  if (seed && seed->is_uint64())
    params.seed = seed->get_uint64();
  else if (const auto given = body.integer("seed"); given && *given != -1)
    params.seed = static_cast<std::uint64_t>(*given);
  return params;
}

/// llama.cpp's penalties are of so many last tokens, -1 for all, which is what they are of here.
void limit_penalties(const field_reader& body, cogen::sampling_params& params) {
  const auto last = body.integer("repeat_last_n", -1, std::numeric_limits<int>::max()).value_or(-1);
  if (last == 0) params.repetition_penalty = 1, params.presence_penalty = params.frequency_penalty = 0;
  const bool penalizes =
      params.repetition_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
  if (last > 0 && penalizes) body.refuse("repeat_last_n", "-1 or 0 with a penalty, which is of all tokens or none");
}

std::vector<std::string> strings(const field_reader& body, std::string_view name, const json::array& values,
                                 std::string_view expected) {
  std::vector<std::string> result;
  for (const auto& each : values) {
    if (!each.is_string()) body.refuse(name, expected);
    result.emplace_back(each.get_string());
  }
  return result;
}

std::vector<std::string> stop_strings(const field_reader& body) {
  constexpr auto expected = "a string or an array of strings";
  const auto* value = body.find("stop");
  if (!value) return {};
  if (value->is_string()) return {std::string(value->get_string())};
  const auto* texts = value->if_array();
  if (!texts) body.refuse("stop", expected);
  return strings(body, "stop", *texts, expected);
}

std::vector<std::string> bad_words(const field_reader& body) {
  const auto* words = body.array("bad_words");
  return words ? strings(body, "bad_words", *words, "an array of strings") : std::vector<std::string>();
}

std::vector<cogen::token> token_list(const field_reader& body, std::string_view name) {
  std::vector<cogen::token> result;
  if (const auto* ids = body.array(name))
    for (const auto& id : *ids) {
      const auto* number = id.if_int64();
      if (!number || *number < 0 || *number > std::numeric_limits<cogen::token>::max())
        body.refuse(name, "an array of token ids");
      result.push_back(static_cast<cogen::token>(*number));
    }
  return result;
}

/// An `n_predict` of -1 sets no limit.
std::optional<int> max_tokens(const field_reader& body, const route_defaults& otherwise) {
  for (const auto name : token_limits) {
    if (!body.has(name)) continue;
    const bool may_be_none = name == "n_predict";
    const auto value = body.count(name, may_be_none ? -1 : otherwise.min_max_tokens);
    return *value < 0 ? std::nullopt : value;
  }
  return otherwise.max_tokens;
}

void read_whose(const field_reader& body, const sender& client, cogen::request& request) {
  request.tenant = client.tenant;
  request.priority =
      static_cast<int>(body.integer("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
                           .value_or(client.priority));
  request.start_within = client.start_within;
  request.finish_within = client.finish_within;
  if (const auto limit = body.count("t_max_predict_ms", -1); limit.value_or(0) > 0)
    request.finish_within = std::chrono::milliseconds(*limit);
  request.prefix_caching = body.flag("cache_prompt").value_or(true);
  if (const auto salt = body.text("cache_salt")) request.cache_salt = fmt::format("{}:{}", client.tenant, *salt);
}

}  // namespace

route_defaults route_defaults::with(const cogen::load::generation_defaults& model) const {
  return {.temperature = model.temperature.value_or(temperature),
          .top_k = model.top_k.value_or(top_k),
          .top_p = model.top_p.value_or(top_p),
          .min_p = model.min_p.value_or(min_p),
          .repetition_penalty = model.repetition_penalty.value_or(repetition_penalty),
          .max_tokens = model.max_tokens ? model.max_tokens : max_tokens,
          .min_max_tokens = min_max_tokens};
}

void read_generation(const field_reader& body, const sender& client, const route_defaults& otherwise,
                     const cogen::text::tokenizer* tokens, generation& wanted) {
  check_unsupported(body, field_set::generation);
  auto& request = wanted.request;
  request.sampling = sampling(body, otherwise, tokens);
  limit_penalties(body, request.sampling);
  request.max_tokens = max_tokens(body, otherwise);
  request.stop = stop_strings(body);
  request.stop_token_ids = token_list(body, "stop_token_ids");
  request.bad_words = bad_words(body);
  request.allowed_token_ids = token_list(body, "allowed_token_ids");
  request.truncate_prompt = body.count("truncate_prompt_tokens", 1);
  request.ignore_eos = body.flag("ignore_eos").value_or(false);
  for (const auto* name :
       {"reasoning_budget", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget"})
    if (const auto budget = body.count(name, -1); budget && *budget >= 0) request.reasoning_budget = *budget;
  read_whose(body, client, request);
  wanted.max_draft_tokens = body.count("speculative.n_max");
  wanted.n = static_cast<int>(body.integer(body.has("n") ? "n" : "n_cmpl", 1, 128).value_or(1));
  wanted.stream = body.flag("stream").value_or(false);
  if (const auto stream_options = body.fields("stream_options")) {
    wanted.extras.usage = stream_options->flag("include_usage").value_or(false);
    wanted.extras.usage_in_each = stream_options->flag("continuous_usage_stats").value_or(false) && wanted.extras.usage;
  }
  wanted.extras.timings = body.flag("timings_per_token").value_or(false);
  wanted.extras.progress = body.flag("return_progress").value_or(false) && wanted.stream;
}

}  // namespace server::api
