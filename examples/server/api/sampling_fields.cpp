#include "api/sampling_fields.hpp"

#include "api/error.hpp"

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
                     std::map<cogen::token, double>& into) {
  for (const auto& pair : pairs) {
    const auto* both = pair.if_array();
    if (!both || both->size() != 2)
      body.refuse("logit_bias", "an object of token ids, or an array of pairs of a token and a bias");
    const auto bias = bias_of(body, (*both)[1]);
    if (const auto* id = (*both)[0].if_int64(); id && *id >= 0 && *id <= std::numeric_limits<cogen::token>::max())
      into[static_cast<cogen::token>(*id)] = bias;
    else if (const auto* text = (*both)[0].if_string(); text && tokens)
      for (const auto each : tokens->encode(std::string_view(*text))) into[each] = bias;
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

cogen::sampling_params sampling(const field_reader& body, const sampling_defaults& otherwise,
                                const cogen::text::tokenizer* tokens) {
  cogen::sampling_params how;
  how.temperature = body.number("temperature").value_or(otherwise.temperature);
  how.top_k = std::max<std::int64_t>(0, body.integer("top_k").value_or(otherwise.top_k));  // others write -1 for all
  how.top_p = body.number("top_p").value_or(otherwise.top_p);
  how.min_p = body.number("min_p").value_or(otherwise.min_p);
  how.repetition_penalty = any_number(body, {"repetition_penalty", "repeat_penalty"}).value_or(1);
  how.presence_penalty = body.number("presence_penalty").value_or(0);
  how.frequency_penalty = body.number("frequency_penalty").value_or(0);
  how.min_tokens = body.integer("min_tokens", 0).value_or(0);
  how.logit_bias = logit_bias(body, tokens);
  const auto* seed = body.find("seed");
  if (seed && seed->is_uint64())
    how.seed = seed->get_uint64();
  else if (const auto given = body.integer("seed"); given && *given != -1)
    how.seed = static_cast<std::uint64_t>(*given);
  return how;
}

std::vector<std::string> stop_strings(const field_reader& body) {
  const auto* value = body.find("stop");
  if (!value) return {};
  if (value->is_string()) return {std::string(value->get_string())};
  const auto* texts = value->if_array();
  if (!texts) body.refuse("stop", "a string or an array of strings");
  std::vector<std::string> result;
  for (const auto& each : *texts) {
    if (!each.is_string()) body.refuse("stop", "a string or an array of strings");
    result.emplace_back(each.get_string());
  }
  return result;
}

std::vector<cogen::token> stop_tokens(const field_reader& body) {
  std::vector<cogen::token> result;
  if (const auto* ids = body.array("stop_token_ids"))
    for (const auto& id : *ids) {
      const auto* number = id.if_int64();
      if (!number || *number < 0 || *number > std::numeric_limits<cogen::token>::max())
        body.refuse("stop_token_ids", "an array of token ids");
      result.push_back(static_cast<cogen::token>(*number));
    }
  return result;
}

std::optional<int> max_tokens(const field_reader& body) {
  for (const auto* name : {"max_completion_tokens", "max_tokens", "max_output_tokens"})
    if (const auto value = body.count(name, 1)) return value;
  if (const auto value = body.integer("n_predict", -1, std::numeric_limits<int>::max()); value && *value >= 0)
    return static_cast<int>(*value);
  return std::nullopt;
}

void read_whose(const field_reader& body, const sender& from, cogen::request& into) {
  into.tenant = from.tenant;
  into.priority =
      static_cast<int>(body.integer("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
                           .value_or(from.priority));
  into.start_within = from.start_within;
  into.finish_within = from.finish_within;
  if (const auto limit = body.count("t_max_predict_ms", 1)) into.finish_within = std::chrono::milliseconds(*limit);
  into.prefix_caching = body.flag("cache_prompt").value_or(true);
  if (const auto salt = body.text("cache_salt"))
    into.cache_salt = std::hash<std::string>()(fmt::format("{}:{}", from.tenant, *salt));
}

}  // namespace

void read_generation(const field_reader& body, const sender& from, const sampling_defaults& otherwise,
                     const cogen::text::tokenizer* tokens, generation& into) {
  auto& request = into.request;
  request.sampling = sampling(body, otherwise, tokens);
  request.max_tokens = max_tokens(body);
  request.stop = stop_strings(body);
  request.stop_token_ids = stop_tokens(body);
  request.ignore_eos = body.flag("ignore_eos").value_or(false);
  if (const auto budget = body.integer("reasoning_budget", -1, std::numeric_limits<int>::max()); budget && *budget >= 0)
    request.reasoning_budget = static_cast<int>(*budget);
  read_whose(body, from, request);
  into.n = static_cast<int>(body.integer("n", 1, 128).value_or(1));
  into.stream = body.flag("stream").value_or(false);
  if (const auto how = body.fields("stream_options")) into.extras.usage = how->flag("include_usage").value_or(false);
  into.extras.timings = body.flag("timings_per_token").value_or(false);
  into.extras.progress = body.flag("return_progress").value_or(false) && into.stream;
}

}  // namespace server::api
