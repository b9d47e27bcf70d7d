#include "api/chat_answer.hpp"
#include "api/chat_fields.hpp"
#include "api/completion_fields.hpp"
#include "api/json_text.hpp"
#include "api/sampling_fields.hpp"
#include "routes/openai_events.hpp"
#include "routes/routes.hpp"

#include <fmt/format.h>

#include <utility>

namespace server {
namespace {

namespace json = boost::json;

class chat_events final : public openai_events {
 public:
  chat_events(call& client, const cogen::stream_group& streams, const api::answer_head& head,
              const cogen::text::tokenizer& vocabulary, const api::event_extras& extras, bool logprobs)
      : openai_events(client, streams, head, extras), vocabulary_(vocabulary) {
    for (std::size_t i = 0; i < size(); ++i) choices_.emplace_back(i, logprobs);
  }

  std::vector<event> on_event(const cogen::stream_event& update) override {
    auto& choice = choices_[update.index];
    if (!update.finish) return events_of(chunks_of(choice.on_piece(update.piece, vocabulary_)));
    count(update.index, update.index == 0);
    const auto& ended = stream(update.index);
    auto chunks = chunks_of(choice.on_end(*ended.finish()));
    chunks.back()["timings"] = api::timings_of(ended);
    return events_of(chunks);
  }

 private:
  json::object progress_choice(std::size_t index) override { return choices_[index].on_progress(); }

  std::vector<json::object> chunks_of(std::vector<json::object> choices) const {
    for (auto& each : choices) each = chunk_of(std::move(each));
    return choices;
  }

  static std::vector<event> events_of(const std::vector<json::object>& chunks) {
    std::vector<event> result;
    for (const auto& each : chunks) result.push_back({api::json_text(each)});
    return result;
  }

  const cogen::text::tokenizer& vocabulary_;
  std::vector<api::chat_choice_writer> choices_;
};

std::string chat_answer(call& client, const cogen::stream_group& streams, const std::vector<cogen::completion>& answers,
                        const api::answer_head& head, const cogen::text::tokenizer& vocabulary, bool logprobs) {
  json::array choices;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    i == 0 ? client.usage.add_prompt(answers[i].usage) : client.usage.add(answers[i].usage);
    choices.push_back(api::chat_choice(i, answers[i], logprobs, vocabulary));
  }
  auto answer = head.with(std::move(choices));
  answer["usage"] = client.usage.json();
  const auto& first = streams[0];
  answer["timings"] = api::timings_of(first);
  if (const auto tokens = first.prompt_logprobs(); !tokens.empty())
    answer["prompt_logprobs"] = api::prompt_logprobs(tokens, vocabulary);
  return api::json_text(answer);
}

/// How many log-probabilities of its prompt an answer has. Throws api::error for more than it may have.
std::size_t logprobs_of_prompt(const cogen::token_stream& stream, std::size_t top) {
  const auto tokens = static_cast<std::size_t>(stream.usage().prompt_tokens);
  if (tokens * top > api::max_logprobs_of_answer)
    throw api::invalid("prompt_logprobs",
                       fmt::format("prompt_logprobs is {}, for a prompt of {} tokens; an answer has at most {}", top,
                                   tokens, api::max_logprobs_of_answer));
  return tokens * top;
}

net::awaitable<void> send_chat(call& client, cogen::stream_group& streams, const api::answer_head& head,
                               const cogen::text::tokenizer& vocabulary, bool logprobs, std::size_t top_of_prompt) {
  const auto answers = co_await collect(client, streams);
  const auto of_prompt = logprobs_of_prompt(streams[0], top_of_prompt);
  auto text = co_await off_loop(client, weight_of(answers) + 64 * of_prompt,
                                [&] { return chat_answer(client, streams, answers, head, vocabulary, logprobs); });
  co_await client.client.respond({.body = std::move(text)});
}

api::generation read_chat(const call& client, const api::field_reader& body, const served_model& model) {
  api::generation wanted;
  const auto defaults = api::route_defaults().with(model.generation);
  api::read_generation(body, api::sender_of(client.request(), client.tenant), defaults, &model.tokenizer(), wanted);
  api::read_chat(body, wanted);
  api::check_generations(body, 1, wanted.n);
  return wanted;
}

}  // namespace

net::awaitable<void> chat_completions(call& client) {
  auto wanted = co_await read_fields(client, read_chat);
  auto& model = *client.model;
  const auto& vocabulary = model.tokenizer();
  const api::answer_head head{.id = api::new_id("chatcmpl-"),
                              .object = wanted.stream ? "chat.completion.chunk" : "chat.completion",
                              .created = api::unix_time(),
                              .model = client.model_name};
  const bool stream = wanted.stream, logprobs = wanted.request.sampling.logprobs.has_value();
  const auto extras = wanted.extras;
  const auto top_of_prompt = static_cast<std::size_t>(wanted.request.prompt_logprobs.value_or(0));
  auto begun = co_await on_worker(client, 0, [&] { return begin(model, std::move(wanted)); });
  cogen::stream_group streams(std::move(begun));
  const running_answer shown(model, head.id, streams, client.tenant);
  if (stream) {
    chat_events writer(client, streams, head, vocabulary, extras, logprobs);
    co_await send_events(client, streams, writer, extras.progress);
  } else {
    co_await send_chat(client, streams, head, vocabulary, logprobs, top_of_prompt);
  }
}

}  // namespace server
