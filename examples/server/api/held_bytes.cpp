#include "api/held_bytes.hpp"

#include "api/completion_fields.hpp"
#include "api/json_size.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace server::api {
namespace {

namespace json = boost::json;

constexpr std::size_t bytes_of_value = 72;  // a bias: of a map, and of what samples
constexpr std::size_t bytes_of_stop = 192;  // for each byte of a stop string, in what finds it

constexpr std::size_t bytes_of_word = 16;       // for each byte of a bad word, as tokens with and without a space
constexpr std::size_t bytes_of_mask = 1 << 16;  // of the tokens that are forbidden, with what it is called by

constexpr std::array<std::string_view, 11> texts{"content",      "documents",    "input",    "input_extra",
                                                 "input_prefix", "input_suffix", "messages", "prompt",
                                                 "query",        "suffix",       "system"};

std::size_t stop_bytes(const json::object& body) {
  std::size_t bytes = 0;
  for (const auto name : {"stop", "stop_sequences"})
    if (const auto* value = body.if_contains(name)) bytes += bytes_of_stop * size_of(*value).bytes;
  return bytes;
}

/// Of what filters tokens, which has biases of its own, too.
std::size_t filter_bytes(const json::object& body) {
  std::size_t bytes = 0;
  for (const auto name : {"bad_words", "allowed_token_ids"})
    if (const auto* value = body.if_contains(name)) bytes += bytes_of_mask + bytes_of_word * size_of(*value).bytes;
  const auto* biases = body.if_contains("logit_bias");
  return bytes > 0 && biases ? bytes + bytes_of_value * size_of(*biases).values : bytes;
}

}  // namespace

std::size_t held_bytes(const json::object& body) {
  json_size fields;
  for (const auto& [name, value] : body)
    if (std::ranges::find(texts, std::string_view(name)) == texts.end()) fields = fields + size_of(value);
  const auto prompts = std::max<std::size_t>(1, count_prompts(field_reader(body), "prompt"));
  return (prompts + 1) * (bytes_of_value * fields.values + fields.bytes) +
         prompts * (stop_bytes(body) + filter_bytes(body));
}

}  // namespace server::api
