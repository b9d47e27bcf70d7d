#include "simulation/engine/language.hpp"

#include <algorithm>
#include <limits>

namespace cogen::engine_simulation {
namespace {

constexpr float impossible_score = -1e30f;  // its exponential is 0

}  // namespace

std::vector<float> language::scores(std::span<const token> history, std::span<const token> encoder_input) const {
  if (alone) return alone->scores(history, encoder_input);
  std::vector<token> names;
  for (const token each : history) names.push_back(first_name(each));
  std::vector<float> result(static_cast<std::size_t>(vocabulary()), impossible_score);
  if (poison && std::ranges::find(names, *poison) != names.end()) {
    result.assign(result.size(), std::numeric_limits<float>::quiet_NaN());
    return result;
  }
  const bool has_other_names = !std::ranges::equal(history, names);
  const auto said = std::span(result).subspan(has_other_names ? static_cast<std::size_t>(spelled()) : 0);
  std::ranges::fill(said.first(static_cast<std::size_t>(spelled())), -8.f);
  const auto next = model.next(names, encoder_input);
  for (int i = 0; i < words(); ++i) said[static_cast<std::size_t>(i)] = static_cast<float>((i + next) % 7) * 0.25f;
  said[static_cast<std::size_t>(next)] = 3;
  return result;
}

std::optional<token> sampled_alone(const language& spoken, const sampler& source, token_history& history,
                                   std::span<const token> encoder_input, const sampling_key& key) {
  sampling_scratch scratch;
  auto scores = spoken.scores(history.tokens(), encoder_input);
  const auto sampled = source.sample(scores, history, key, scratch);
  return sampled.status == sampling_status::ok ? std::optional(sampled.id) : std::nullopt;
}

generation generated_alone(const language& spoken, const generation_parts& parts) {
  const sampler source(parts.params, spoken.vocabulary(), parts.end_tokens);
  const random_stream numbers(parts.params.seed.value_or(0));
  generation result;
  token_history history;
  history.append_given(parts.prompt);
  while (static_cast<int>(result.tokens.size()) < parts.max_tokens) {
    const auto key = numbers.key(static_cast<std::uint32_t>(history.length()));
    const auto next = sampled_alone(spoken, source, history, parts.encoder_input, key);
    if (!next) return {std::move(result.tokens), finish_reason::failed, make_error_code(error::bad_logits)};
    if (std::ranges::find(parts.end_tokens, *next) != parts.end_tokens.end()) {
      result.reason = finish_reason::eos;
      return result;
    }
    history.append_generated(*next);
    result.tokens.push_back(*next);
  }
  return result;
}

}  // namespace cogen::engine_simulation
