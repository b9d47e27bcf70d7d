#include "simulation/engine/readings.hpp"

#include <algorithm>

namespace cogen::engine_simulation {
namespace {

token word(world& stage, random& chance) { return chance.between(0, stage.spoken().words() - 1); }

/// Begins with what marks its client; beside a source, after the token that answers start with.
std::vector<token> draw_prompt(world& stage, random& chance) {
  const int room = stage.of().within.max_length - (stage.of().sources ? 3 : 2);
  std::vector<token> prompt{stage.tag()};
  const auto more = draw_words(stage, chance, chance.between(0, chance.chance(45) ? room : std::min(room, 4)));
  prompt.insert(prompt.end(), more.begin(), more.end());
  return prompt;
}

request ask(const generation_parts& parts, const std::vector<token>& prompt) {
  auto asked = token_ids(prompt).sampling(parts.how);
  if (!parts.source.empty()) asked.source(parts.source);
  return asked;
}

}  // namespace

std::vector<token> draw_words(world& stage, random& chance, int count) {
  std::vector<token> result;
  for (; count > 0; --count) result.push_back(word(stage, chance));
  return result;
}

sampling draw_sampling(random& chance) {
  sampling how;
  if (chance.chance(50)) return how;
  how.temperature(chance.between(5, 20) / 10.0).seed(chance.next());
  if (chance.chance(40)) how.repetition_penalty(1.2).presence_penalty(0.5);
  return how;
}

reading draw_reading(world& stage, random& chance) {
  const auto& of = stage.of();
  generation_parts parts;
  const auto prompt = draw_prompt(stage, chance);
  parts.prompt = prompt;
  if (of.sources) {
    parts.prompt.insert(parts.prompt.begin(), of.sources->start);
    parts.source = draw_words(stage, chance, chance.between(1, of.sources->longest));
  }
  parts.how = draw_sampling(chance);
  const int lookaheads[] = {0, 1, 3, 16};
  auto asked = ask(parts, prompt).lookahead(lookaheads[chance.between(0, 3)]);
  parts.max_tokens = of.within.max_length - static_cast<int>(parts.prompt.size());
  if (chance.chance(50)) {
    asked.max_tokens(chance.between(1, 12));
    parts.max_tokens = std::min(parts.max_tokens, asked.max_tokens());
  }
  if (chance.chance(30))
    asked.ignore_end();
  else
    parts.end_tokens = of.end_tokens;
  for (int i = chance.between(0, 2); i > 0; --i) {
    parts.end_tokens.push_back(word(stage, chance));
    asked.stop_token(parts.end_tokens.back());
  }
  auto expected = generated_alone(stage.spoken(), parts);
  return {std::move(asked), std::move(parts), std::move(expected)};
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
      with_prompt(draw_words(stage, chance, stage.of().within.max_length + chance.between(0, 3)));
      why = error::does_not_fit;
      break;
    case 3:
      asked.max_tokens(0);
      break;
    case 4:
      asked.stop_token(stage.spoken().vocabulary() + 7);
      break;
    case 5:
      asked.lookahead(-1);
      break;
    default:
      asked = token_ids(stage.of().sources ? std::vector<token>{1} : std::vector<token>());
      break;
  }
  result.expected = {{}, finish_reason::failed, make_error_code(why)};
  return result;
}

}  // namespace cogen::engine_simulation
