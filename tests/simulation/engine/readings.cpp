#include "simulation/engine/readings.hpp"

#include "simulation/engine/postponing_guide.hpp"

#include <algorithm>

namespace cogen::engine_simulation {
namespace {

token word(world& stage, random& chance) { return chance.between(0, stage.spoken().words() - 1); }

/// Beside an encoder input, it comes after the token that answers start with.
std::vector<token> draw_prompt(world& stage, random& chance, std::vector<token> prompt) {
  const int room = stage.setup().within.max_sequence_length - static_cast<int>(prompt.size()) -
                   (stage.setup().encoder_inputs ? 2 : 1);
  const auto more = sampling_words(stage, chance, chance.between(0, chance.chance(45) ? room : std::min(room, 4)));
  prompt.insert(prompt.end(), more.begin(), more.end());
  return prompt;
}

request ask(const generation_parts& parts, const std::vector<token>& prompt) {
  auto asked = request{.prompt = token_ids(prompt), .sampling = parts.params};
  if (!parts.encoder_input.empty()) asked.encoder_input = parts.encoder_input;
  return asked;
}

/// Which readings share a prefix. Returns whether it can find anything.
bool draw_sharing(world& stage, random& chance, request& asked) {
  if (stage.setup().urgent) asked.priority = chance.between(0, 3);
  if (chance.chance(20)) asked.tenant = 1;
  if (chance.chance(10)) asked.cache_salt = common_salt;
  const bool alone = chance.chance(10), refuses = chance.chance(10);
  if (alone) asked.cache_salt = std::to_string(1000 + chance.next() / 2);
  if (refuses) asked.prefix_caching = false;
  return !alone && !refuses && stage.setup().within.prefix_caching && !stage.setup().encoder_inputs;
}

void rename(const world& stage, request& asked, generation_parts& parts) {
  stage.rename(parts.prompt);
  stage.rename(std::get<token_ids>(asked.prompt));
  stage.rename(asked.stop_token_ids);
  parts.end_tokens.insert(parts.end_tokens.end(), asked.stop_token_ids.begin(), asked.stop_token_ids.end());
}

}  // namespace

affiliation draw_affiliation(const random& chance) {
  random aside = chance;  // histories without tenants stay what they were
  affiliation drawn{.tenant = aside.chance(40) ? 1U : 0U};
  if (aside.chance(10)) drawn.cache_salt = common_salt;
  return drawn;
}

std::vector<token> draw_beginning(world& stage, random& chance) {
  const auto& prefixes = stage.setup().prefixes;
  std::vector<token> begin;
  if (chance.chance(60))
    begin = prefixes[static_cast<std::size_t>(chance.between(0, static_cast<int>(prefixes.size()) - 1))];
  begin.push_back(stage.tag());
  return begin;
}

std::vector<token> sampling_words(world& stage, random& chance, int count) {
  std::vector<token> result;
  for (; count > 0; --count) result.push_back(word(stage, chance));
  return result;
}

sampling_params draw_sampling(random& chance) {
  sampling_params params;
  if (chance.chance(50)) return params;
  params.temperature = chance.between(5, 20) / 10.0;
  params.seed = chance.next();
  if (chance.chance(40)) {
    params.repetition_penalty = 1.2;
    params.presence_penalty = 0.5;
  }
  return params;
}

std::unique_ptr<guide> draw_guide(world& stage, random& chance) {
  const int percent = stage.setup().postponing;
  if (percent == 0 || chance.chance(50)) return nullptr;
  return std::make_unique<postponing_guide>(percent, chance.next(), stage.seen());
}

reading draw_reading(world& stage, random& chance) {
  const auto& setup = stage.setup();
  generation_parts parts;
  const auto begin = draw_beginning(stage, chance);
  const auto prompt = draw_prompt(stage, chance, begin);
  parts.prompt = prompt;
  if (setup.encoder_inputs) {
    if (prompt.front() != setup.encoder_inputs->start)
      parts.prompt.insert(parts.prompt.begin(), setup.encoder_inputs->start);
    parts.encoder_input = sampling_words(stage, chance, chance.between(1, setup.encoder_inputs->longest));
  }
  parts.params = draw_sampling(chance);
  const int buffer_sizes[] = {0, 1, 3, 16};
  auto asked = ask(parts, prompt);
  asked.max_buffered_tokens = buffer_sizes[chance.between(0, 3)];
  parts.max_tokens = setup.within.max_sequence_length - static_cast<int>(parts.prompt.size());
  if (chance.chance(50)) {
    asked.max_tokens = chance.between(0, 12);
    parts.max_tokens = std::min(parts.max_tokens, *asked.max_tokens);
  }
  if (chance.chance(30))
    asked.ignore_eos = true;
  else
    parts.end_tokens = setup.end_tokens;
  for (int i = chance.between(0, 2); i > 0; --i) {
    parts.end_tokens.push_back(word(stage, chance));
    asked.stop_token_ids.push_back(parts.end_tokens.back());
  }
  const int common = static_cast<int>(begin.size()) - 1;
  const bool shares = draw_sharing(stage, chance, asked);
  if (stage.renames(asked.tenant, asked.cache_salt)) rename(stage, asked, parts);
  auto guide = draw_guide(stage, chance);
  if (guide && !asked.ignore_eos) asked.response_format = std::shared_ptr<const cogen::guide>(std::move(guide));
  auto expected = generated_alone(stage.spoken(), parts);
  return {std::move(asked), std::move(parts), begin.back(), common, shares, std::move(expected)};
}

reading draw_refused_reading(world& stage, random& chance) {
  auto result = draw_reading(stage, chance);
  auto& asked = result.asked;
  auto why = error::invalid_request;
  const auto with_prompt = [&](const std::vector<token>& prompt) { asked = ask(result.parts, prompt); };
  switch (chance.between(0, 6)) {
    case 0:
      with_prompt({stage.spoken().vocabulary()});
      break;
    case 1:
      with_prompt({-1});
      break;
    case 2:
      with_prompt(sampling_words(stage, chance, stage.setup().within.max_sequence_length + chance.between(0, 3)));
      why = error::does_not_fit;
      break;
    case 3:
      asked.max_tokens = -1;
      break;
    case 4:
      asked.stop_token_ids.push_back(stage.spoken().vocabulary() + 7);
      break;
    case 5:
      asked.max_buffered_tokens = -1;
      break;
    default:
      asked = request{.prompt = stage.setup().encoder_inputs ? token_ids{1} : token_ids()};
      break;
  }
  result.expected = {{}, finish_reason::failed, make_error_code(why)};
  return result;
}

}  // namespace cogen::engine_simulation
