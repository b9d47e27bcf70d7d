#include "api/completion_fields.hpp"
#include "api/infill_fields.hpp"
#include "api/json_text.hpp"
#include "api/sampling_fields.hpp"
#include "api/text_answer.hpp"
#include "api/unsupported_fields.hpp"
#include "routes/openai_events.hpp"
#include "routes/routes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace server {

/// What a client asks for, read.
struct completion_request {
  api::generation generation;  ///< of one prompt
  std::vector<cogen::prompt> prompts;
  int n = 1;
  int best_of = 1;
  bool logprobs = false;
};

namespace {

namespace json = boost::json;

completion_request read_completion(const call& client, const api::field_reader& body, const served_model& model) {
  completion_request wanted;
  const auto& tokens = model.tokenizer();
  const auto defaults = api::route_defaults{.min_max_tokens = 0}.with(model.generation);
  api::read_generation(body, api::sender_of(client.request(), client.tenant), defaults, &tokens, wanted.generation);
  api::check_unsupported(body, api::field_set::completions);
  wanted.n = wanted.generation.n;
  wanted.best_of = api::read_completion(body, wanted.generation);
  if (wanted.best_of < wanted.n) body.refuse("best_of", "at least n");
  api::check_generations(body, api::count_prompts(body, "prompt"), wanted.best_of);
  const api::prompt_tokenizer tokenizer{&tokens, model.max_length, wanted.generation.request.truncate_prompt};
  wanted.prompts = body.text("suffix").value_or("").empty()
                       ? api::read_prompts(body, "prompt", tokenizer)
                       : api::read_suffixed_prompts(body, tokenizer, wanted.generation.request);
  api::check_prompt_logprobs(body, wanted.prompts, wanted.generation.request);
  wanted.logprobs = wanted.generation.request.sampling.logprobs.has_value();
  wanted.generation.n = wanted.best_of;
  if (wanted.best_of > wanted.n && !wanted.logprobs) wanted.generation.request.sampling.logprobs = 0;
  if (!wanted.generation.request.max_tokens) wanted.generation.request.max_tokens = 16;  // as in OpenAI's API
  return wanted;
}

std::vector<cogen::token_stream> begin_all(const served_model& model, completion_request& wanted) {
  std::vector<cogen::token_stream> streams;
  auto biases = std::exchange(wanted.generation.request.sampling.logit_bias, {});  // the answers need none
  for (std::size_t i = 0; i < wanted.prompts.size(); ++i) {
    const bool is_last = i + 1 == wanted.prompts.size();
    auto generation = wanted.generation;
    generation.request.prompt = std::move(wanted.prompts[i]);
    generation.request.sampling.logit_bias = is_last ? std::exchange(biases, {}) : biases;
    for (auto& stream : begin(model, std::move(generation))) streams.push_back(std::move(stream));
  }
  return streams;
}

json::object choice_of(std::size_t index, std::string text) {
  return {{"index", index}, {"text", std::move(text)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}

class text_events final : public openai_events {
 public:
  text_events(call& client, const cogen::stream_group& streams, const api::answer_head& head,
              const cogen::text::tokenizer& vocabulary, const completion_request& wanted)
      : openai_events(client, streams, head, wanted.generation.extras), wanted_(wanted) {
    logprobs_.assign(size(), api::text_logprobs(vocabulary));
    begun_.resize(size());
  }

  std::vector<event> on_event(const cogen::stream_event& update) override {
    if (update.finish) return on_end(update.index);
    const auto& piece = update.piece;
    const bool first = !std::exchange(begun_[update.index], char{1});
    if (piece.text.empty() && !wanted_.logprobs) return {};
    auto choice = choice_of(update.index, piece.text);
    if (wanted_.logprobs)
      choice["logprobs"] = logprobs_[update.index].describe(piece.tokens, first && wanted_.generation.request.echo);
    return {{api::json_text(chunk_of(std::move(choice)))}};
  }

 private:
  json::object progress_choice(std::size_t index) override { return choice_of(index, ""); }

  std::vector<event> on_end(std::size_t index) {
    count(index, index % static_cast<std::size_t>(wanted_.n) == 0);
    auto choice = choice_of(index, "");
    const auto end = stream(index).end_token();
    if (wanted_.logprobs && end) choice["logprobs"] = logprobs_[index].describe({&*end, 1}, false);
    choice["finish_reason"] = api::finish_of(*stream(index).finish(), false);
    return {{api::json_text(chunk_of(std::move(choice)))}};
  }

  const completion_request& wanted_;
  std::vector<api::text_logprobs> logprobs_;
  std::vector<char> begun_;
};

/// The best of the answers to each prompt, as many as were asked for.
std::vector<std::size_t> chosen(const std::vector<cogen::completion>& answers, const completion_request& wanted) {
  std::vector<std::size_t> result;
  for (std::size_t begin = 0; begin < answers.size(); begin += static_cast<std::size_t>(wanted.best_of)) {
    std::vector<std::size_t> some;
    for (int i = 0; i < wanted.best_of; ++i) some.push_back(begin + static_cast<std::size_t>(i));
    if (wanted.best_of > wanted.n)
      std::stable_sort(some.begin(), some.end(), [&](std::size_t a, std::size_t b) {
        return api::mean_logprob(answers[a]) > api::mean_logprob(answers[b]);
      });
    result.insert(result.end(), some.begin(), some.begin() + wanted.n);
  }
  return result;
}

std::string text_answer(call& client, const cogen::stream_group& streams, std::vector<cogen::completion>& answers,
                        const api::answer_head& head, const cogen::text::tokenizer& vocabulary,
                        const completion_request& wanted) {
  for (std::size_t i = 0; i < answers.size(); ++i)
    i % static_cast<std::size_t>(wanted.best_of) == 0 ? client.usage.add_prompt(answers[i].usage)
                                                      : client.usage.add(answers[i].usage);
  json::array choices;
  for (const auto index : chosen(answers, wanted)) {
    const auto& stream = streams[index];
    auto& answer = answers[index];
    auto choice = choice_of(choices.size(), answer.text);
    if (const auto end = stream.end_token()) answer.tokens.push_back(*end);
    if (wanted.logprobs)
      choice["logprobs"] = api::text_logprobs(vocabulary).describe(answer.tokens, wanted.generation.request.echo);
    if (const auto tokens = stream.prompt_logprobs(); !tokens.empty())
      choice["prompt_logprobs"] = api::prompt_logprobs(tokens, vocabulary);
    choice["finish_reason"] = api::finish_of(answer.reason, false);
    choices.push_back(std::move(choice));
  }
  auto body = head.with(std::move(choices));
  body["usage"] = client.usage.json();
  return api::json_text(body);
}

net::awaitable<void> send_texts(call& client, cogen::stream_group& streams, const api::answer_head& head,
                                const cogen::text::tokenizer& vocabulary, const completion_request& wanted) {
  auto answers = co_await collect(client, streams);
  auto text = co_await off_loop(client, weight_of(answers),
                                [&] { return text_answer(client, streams, answers, head, vocabulary, wanted); });
  co_await client.client.respond({.body = std::move(text)});
}

}  // namespace

net::awaitable<void> completions(call& client) {
  auto wanted = co_await read_fields(client, read_completion);
  auto& model = *client.model;
  const auto& vocabulary = model.tokenizer();
  const api::answer_head head{
      .id = api::new_id("cmpl-"), .object = "text_completion", .created = api::unix_time(), .model = client.model_name};
  auto begun = co_await on_worker(client, copied_bytes(wanted.generation.request, wanted.prompts.size()),
                                  [&] { return begin_all(model, wanted); });
  cogen::stream_group streams(std::move(begun));
  const running_answer shown(model, head.id, streams, client.tenant);
  if (wanted.generation.stream) {
    text_events writer(client, streams, head, vocabulary, wanted);
    co_await send_events(client, streams, writer, wanted.generation.extras.progress);
  } else {
    co_await send_texts(client, streams, head, vocabulary, wanted);
  }
}

}  // namespace server
