// What the server does: figures, slots, settings.
#include "api/json_text.hpp"
#include "api/sampling_fields.hpp"
#include "metrics/exposition.hpp"
#include "routes/routes.hpp"

#include <cogen/version.hpp>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <utility>

namespace server {
namespace {

namespace json = boost::json;

/// Adds what an answer's stream does in a slot.
void show_stream(const cogen::token_stream& stream, const std::string& request_id, json::object& slot) {
  const auto usage = stream.usage();
  slot["id_task"] = stream.id();
  slot["is_processing"] = true;
  slot["state"] = usage.generated_tokens > 0 ? "decode" : "prefill";
  slot["request_id"] = request_id;
  slot["n_tokens"] = usage.prompt_tokens + usage.generated_tokens;
  slot["preemptions"] = stream.request_metrics().preemptions;
  slot["next_token"] = {{"n_decoded", usage.generated_tokens}};
}

/// Events arrive later than answers: a sequence whose answer is over is not shown, nor is one of another key.
json::object slot_of(const served_model& model, std::size_t index, const metrics::slot_state& state,
                     std::uint64_t tenant) {
  json::object slot{{"id", index},
                    {"id_task", -1},
                    {"n_ctx", model.max_length},
                    {"speculative", model.drafts != nullptr},
                    {"is_processing", false},
                    {"state", "idle"},
                    {"n_tokens", 0},
                    {"preemptions", 0},
                    {"model", model.name}};
  if (!state.busy) return slot;
  for (const auto* answer : model.running) {
    const auto* stream = answer->tenant() == tenant ? answer->stream_of(state.sequence) : nullptr;
    if (stream && !stream->ended()) show_stream(*stream, answer->id(), slot);
  }
  return slot;
}

std::string control_text(const served_model& model, std::optional<cogen::token> id) {
  return id ? model.tokenizer().token_text(*id) : std::string();
}

std::optional<cogen::token> first_of(std::span<const cogen::token> tokens) {
  return tokens.empty() ? std::nullopt : std::optional(tokens.front());
}

api::error hidden(std::string_view option) {
  return {501, "not_supported_error", fmt::format("the server runs with {}", option)};
}

}  // namespace

http::response show_metrics(call& client) {
  if (!client.app.settings.metrics) throw hidden("--no-metrics");
  std::vector<metrics::snapshot> models;
  for (const auto& model : client.app.models.entries())
    models.push_back({model->name, model->engine->stats(), model->meter->now(), model->slots, model->cache_capacity});
  return {.type = "text/plain; version=0.0.4; charset=utf-8",
          .body = metrics::exposition(models, client.app.settings.names),
          .headers = {{"Process-Start-Time-Unix", std::to_string(client.app.started)}}};
}

http::response show_slots(call& client) {
  if (!client.app.settings.slots) throw hidden("--no-slots");
  const auto model = client.queried_model();
  const auto now = model->meter->now();
  if (client.request().query.contains("fail_on_no_slot") && model->engine->stats().free_slots == 0)
    throw api::error(503, "unavailable_error", "no slot is free", "", "no_slot_available");
  json::array slots;
  for (std::size_t i = 0; i < now.slots.size(); ++i) slots.push_back(slot_of(*model, i, now.slots[i], client.tenant));
  return {.body = api::json_text(slots)};
}

http::response show_props(call& client) {
  const auto model = client.queried_model();
  const auto defaults = api::route_defaults().with(model->generation);
  json::object params{{"temperature", defaults.temperature},
                      {"top_k", defaults.top_k},
                      {"top_p", defaults.top_p},
                      {"min_p", defaults.min_p},
                      {"repeat_penalty", defaults.repetition_penalty},
                      {"presence_penalty", 0.0},
                      {"frequency_penalty", 0.0},
                      {"seed", -1},
                      {"n_predict", defaults.max_tokens.value_or(-1)}};
  for (const auto& [name, value] : client.app.settings.defaults) params[name] = value;
  json::object props{{"default_generation_settings", {{"n_ctx", model->max_length}, {"params", params}}},
                     {"total_slots", model->slots},
                     {"model_alias", model->name},
                     {"model_path", model->path},
                     {"modalities", {{"vision", false}, {"audio", false}}},
                     {"build_info", "cogen " + std::string(cogen::version)},
                     {"is_sleeping", false}};
  if (const auto* tokens = model->tokenizer_or_null()) {
    props["chat_template"] = std::string(tokens->chat_template());
    props["bos_token"] = control_text(*model, tokens->bos());
    props["eos_token"] = control_text(*model, first_of(tokens->eos()));
  }
  return {.body = api::json_text(props)};
}

http::response tokenizer_info(call& client) {
  const auto model = client.queried_model();
  const auto& tokens = model->tokenizer();
  const auto eos = control_text(*model, first_of(tokens.eos()));
  return {.body = api::json_text(json::object{{"tokenizer_class", "cogen"},
                                              {"vocab_size", tokens.size()},
                                              {"model_max_length", model->max_length},
                                              {"bos_token", control_text(*model, tokens.bos())},
                                              {"eos_token", eos},
                                              {"pad_token", eos},
                                              {"unk_token", control_text(*model, tokens.unknown())},
                                              {"chat_template", std::string(tokens.chat_template())}})};
}

}  // namespace server
