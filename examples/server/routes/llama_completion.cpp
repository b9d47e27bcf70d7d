// llama-server's own /completion.
#include "api/completion_fields.hpp"
#include "api/format_fields.hpp"
#include "api/infill_fields.hpp"
#include "api/json_text.hpp"
#include "api/sampling_fields.hpp"
#include "api/text_answer.hpp"
#include "api/unsupported_fields.hpp"
#include "http/growing_answer.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace server {

struct wanted_completion {
  api::generation generation;
  std::vector<cogen::token_ids> prompts;
  bool several = false;  ///< the prompt is an array of prompts, and so is the answer
  bool return_tokens = false;
  int id_slot = -1;  ///< under which number the tokens are remembered, to be saved; -1: they are not
};

namespace {

namespace json = boost::json;

constexpr api::route_defaults defaults{.temperature = .8, .top_k = 40, .top_p = .95, .min_p = .05, .min_max_tokens = 0};

/// All but the prompts.
wanted_completion read_settings(const call& client, const api::field_reader& body, const served_model& model) {
  wanted_completion wanted;
  api::read_generation(body, api::sender_of(client.request(), client.tenant), defaults.with(model.generation),
                       &model.tokenizer(), wanted.generation);
  api::check_unsupported(body, api::field_set::completions);
  if (const auto probabilities =
          body.integer(body.has("n_probs") ? "n_probs" : "logprobs", 0, cogen::sampling_params::max_logprobs);
      probabilities.value_or(0) > 0)
    wanted.generation.request.sampling.logprobs = *probabilities;
  if (body.flag("post_sampling_probs").value_or(false))
    wanted.generation.request.sampling.logprobs_mode = cogen::logprobs_mode::processed;
  if (auto format = api::read_format(body)) wanted.generation.request.response_format = std::move(*format);
  wanted.id_slot = static_cast<int>(body.integer("id_slot", -1, 1'000'000).value_or(-1));
  wanted.return_tokens = body.flag("return_tokens").value_or(false);
  return wanted;
}

wanted_completion read_llama_completion(const call& client, const api::field_reader& body, const served_model& model) {
  auto wanted = read_settings(client, body, model);
  api::check_generations(body, api::count_prompts(body, "prompt"), wanted.generation.n);
  const api::prompt_tokenizer tokenizer{&model.tokenizer(), model.max_length,
                                        wanted.generation.request.truncate_prompt};
  for (auto& prompt : api::read_prompts(body, "prompt", tokenizer))
    wanted.prompts.push_back(std::get<cogen::token_ids>(std::move(prompt)));
  const auto* list = body.find("prompt")->if_array();
  wanted.several = wanted.prompts.size() > 1 || (list && list->size() == 1 && !list->front().is_int64());
  return wanted;
}

wanted_completion read_infill(const call& client, const api::field_reader& body, const served_model& model) {
  auto wanted = read_settings(client, body, model);
  api::check_generations(body, 1, wanted.generation.n);
  wanted.prompts = {api::read_infill(body, model.tokenizer(), model.max_length, wanted.generation.request)};
  return wanted;
}

std::vector<cogen::token_stream> begin_all(const served_model& model, const wanted_completion& wanted) {
  std::vector<cogen::token_stream> streams;
  for (const auto& prompt : wanted.prompts) {
    auto generation = wanted.generation;
    generation.request.prompt = prompt;
    for (auto& stream : begin(model, std::move(generation))) streams.push_back(std::move(stream));
  }
  return streams;
}

json::object settings_of(const cogen::request& request, const served_model& model) {
  const auto& sampling = request.sampling;
  json::array stop, biases;
  for (const auto& [token, bias] : sampling.logit_bias)
    biases.push_back({{"token", token}, {"bias", std::isinf(bias) ? json::value() : json::value(bias)}});
  if (request.ignore_eos)
    for (const auto token : model.tokenizer().eos()) biases.push_back({{"token", token}, {"bias", nullptr}});
  for (const auto& text : request.stop) stop.emplace_back(text);
  return {{"n_ctx", model.max_length},
          {"n_predict", request.max_tokens.value_or(-1)},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"seed", sampling.seed ? json::value(*sampling.seed) : json::value(-1)},
          {"min_keep", 0},
          {"adaptive_target", -1},  // a sampler of llama.cpp's, which is off
          {"adaptive_decay", 0},
          {"n_probs", sampling.logprobs.value_or(0)},
          {"post_sampling_probs", sampling.logprobs_mode == cogen::logprobs_mode::processed},
          {"ignore_eos", request.ignore_eos},
          {"logit_bias", std::move(biases)},
          {"stop", std::move(stop)}};
}

/// About how many bytes of JSON the end of each answer repeats of the request.
std::size_t repeated_bytes_of(const wanted_completion& wanted) {
  constexpr std::size_t bytes_of_bias = 64, bytes_of_token = 8;
  std::size_t tokens = 0;
  for (const auto& each : wanted.prompts) tokens = std::max(tokens, each.size());
  return bytes_of_bias * wanted.generation.request.sampling.logit_bias.size() + bytes_of_token * tokens;
}

std::string_view stop_type(cogen::finish_reason reason) {
  switch (reason) {
    case cogen::finish_reason::eos:
      return "eos";
    case cogen::finish_reason::stop_string:
      return "word";
    case cogen::finish_reason::length:
    case cogen::finish_reason::deadline_exceeded:
      return "limit";
    default:
      return "none";
  }
}

template <class Tokens>
json::array ids_of(const Tokens& tokens) {
  json::array ids;
  for (const auto& each : tokens) ids.push_back(each.id);
  return ids;
}

/// Writes the answers of one request.
class completion_writer final : public event_writer {
 public:
  completion_writer(call& client, served_model& model, const wanted_completion& wanted,
                    const cogen::stream_group& streams)
      : call_(client), model_(model), wanted_(wanted), streams_(streams) {}

  std::size_t repeated_bytes(bool of_piece) const override { return of_piece ? 0 : repeated_bytes_of(wanted_); }

  /// A whole answer, or the last part of a streamed one, whose text came before.
  json::object whole(std::size_t index, const std::string& text, json::array tokens) {
    const auto& stream = streams_[index];
    const auto usage = stream.usage();
    const auto prompt = index / static_cast<std::size_t>(wanted_.generation.n);
    index % static_cast<std::size_t>(wanted_.generation.n) == 0 ? call_.usage.add_prompt(usage)
                                                                : call_.usage.add(usage);
    const auto& request = wanted_.generation.request;
    const bool by_word = stream.finish() == cogen::finish_reason::stop_string && request.stop.size() == 1;
    return {{"index", index},
            {"content", text},
            {"tokens", std::move(tokens)},
            {"id_slot", -1},
            {"stop", true},
            {"model", model_.name},
            {"tokens_predicted", usage.generated_tokens},
            {"tokens_evaluated", usage.prompt_tokens},
            {"tokens_cached", usage.prompt_tokens + std::max(0, usage.generated_tokens - 1)},
            {"generation_settings", settings_of(request, model_)},
            {"prompt", model_.tokenizer().decode(wanted_.prompts[prompt])},
            {"has_new_line", text.find('\n') != std::string::npos},
            {"truncated", usage.prompt_tokens + usage.generated_tokens >= model_.max_length},
            {"stop_type", stop_type(*stream.finish())},
            {"stopping_word", by_word ? request.stop.front() : std::string()},
            {"timings", api::timings_of(stream)}};
  }

  /// Remembers the tokens of the first answer, if its client has named a slot.
  template <class Tokens>
  void remember(const cogen::stream_event* update, const Tokens& tokens) {
    if (wanted_.id_slot < 0 || (update && update->index != 0)) return;
    auto& slots = model_.kept_slots;
    if (!std::exchange(remembers_, true)) slots.keep(call_.tenant, wanted_.id_slot, wanted_.prompts.front());
    cogen::token_ids ids;
    for (const auto& each : tokens) ids.push_back(each.id);
    slots.extend(call_.tenant, wanted_.id_slot, ids);
  }

  template <class Tokens>
  void add_probabilities(json::object& output, const Tokens& tokens) const {
    const auto& sampling = wanted_.generation.request.sampling;
    if (!sampling.logprobs) return;
    const bool processed = sampling.logprobs_mode == cogen::logprobs_mode::processed;
    output["completion_probabilities"] = processed ? api::token_probabilities(tokens, model_.tokenizer())
                                                   : api::chat_logprobs(tokens, model_.tokenizer());
  }

  std::vector<event> on_event(const cogen::stream_event& update) override {
    if (update.finish) return {{api::json_text(whole(update.index, "", {}))}};
    const auto& piece = update.piece;
    remember(&update, piece.tokens);
    if (piece.text.empty() && !wanted_.generation.request.sampling.logprobs && !wanted_.return_tokens) return {};
    auto part = part_of(update.index, piece.text, ids_of(piece.tokens));
    add_probabilities(part, piece.tokens);
    return {{api::json_text(part)}};
  }

  std::vector<event> on_progress(const cogen::stream_event& update) override {
    auto part = part_of(update.index, "", {});
    part["prompt_progress"] = api::progress_of(*update.progress);
    if (wanted_.generation.extras.timings) part["timings"] = api::timings_of(*update.progress);
    return {{api::json_text(part)}};
  }

  std::vector<event> last() override { return {}; }

  std::vector<event> failed(const api::error& why) override { return {{api::body_of(why, api::dialect::llama)}}; }

 private:
  json::object part_of(std::size_t index, const std::string& text, json::array tokens) const {
    const auto& stream = streams_[index];
    const auto usage = stream.usage();
    json::object part{{"index", index},
                      {"content", text},
                      {"tokens", std::move(tokens)},
                      {"stop", false},
                      {"id_slot", -1},
                      {"tokens_predicted", usage.generated_tokens},
                      {"tokens_evaluated", usage.prompt_tokens}};
    if (wanted_.generation.extras.timings) part["timings"] = api::timings_of(stream);
    return part;
  }

  call& call_;
  served_model& model_;
  const wanted_completion& wanted_;
  const cogen::stream_group& streams_;
  bool remembers_ = false;
};

net::awaitable<void> send_whole(call& client, cogen::stream_group& streams, completion_writer& writer,
                                const wanted_completion& wanted) {
  const auto answers = co_await collect(client, streams);
  writer.remember(nullptr, answers.front().tokens);
  const auto text_of = [&](std::size_t i) {
    auto answer = writer.whole(i, answers[i].text, wanted.return_tokens ? ids_of(answers[i].tokens) : json::array());
    writer.add_probabilities(answer, answers[i].tokens);
    return api::json_text(answer);
  };
  const bool several = answers.size() > 1 || wanted.several;
  const auto weight = weight_of(answers) / answers.size() + repeated_bytes_of(wanted);
  http::growing_answer answer(client.client);
  if (several) answer.text() = "[";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) answer.text() += ',';
    answer.text() += co_await off_loop(client, weight, [&] { return text_of(i); });
    if (answer.is_full()) co_await answer.flush();
  }
  if (several) answer.text() += ']';
  co_await answer.end();
}

using reader = wanted_completion (*)(const call&, const api::field_reader&, const served_model&);

net::awaitable<void> complete(call& client, reader read) {
  auto wanted = co_await read_fields(client, read);
  auto& model = *client.model;
  auto begun = co_await on_worker(client, copied_bytes(wanted.generation.request, wanted.prompts.size()),
                                  [&] { return begin_all(model, wanted); });
  cogen::stream_group streams(std::move(begun));
  const running_answer shown(model, client.id, streams, client.tenant);
  completion_writer writer(client, model, wanted, streams);
  if (wanted.generation.stream)
    co_await send_events(client, streams, writer, wanted.generation.extras.progress);
  else
    co_await send_whole(client, streams, writer, wanted);
}

}  // namespace

net::awaitable<void> llama_completion(call& client) { return complete(client, read_llama_completion); }
net::awaitable<void> infill(call& client) { return complete(client, read_infill); }

}  // namespace server
