// From texts to tokens and back, without a generation.
#include "api/chat_fields.hpp"
#include "api/completion_fields.hpp"
#include "api/json_text.hpp"
#include "api/response_fields.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <cogen/render_prompt.hpp>

#include <boost/json/value.hpp>

namespace server {
namespace {

namespace json = boost::json;

/// A token and its text, or its bytes where they are only part of a character.
json::object piece_of(cogen::token id, const cogen::text::tokenizer& tokens) {
  const auto bytes = tokens.token_bytes(id);
  const auto text = tokens.token_text(id);
  if (text == bytes || tokens.is_special(id)) return {{"id", id}, {"piece", text}};
  json::array numbers;
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return {{"id", id}, {"piece", std::move(numbers)}};
}

/// Reads a chat as a generation would. Throws api::error and generation_error.
cogen::rendered_prompt rendered(const served_model& model, const cogen::request& chat) {
  static_cast<void>(model.tokenizer());
  return cogen::render_prompt(*model.model, chat);
}

cogen::rendered_prompt rendered_chat(const served_model& model, const api::field_reader& body) {
  api::generation chat;
  api::read_chat(body, chat);
  return rendered(model, chat.request);
}

cogen::token_ids tokens_of_text(const served_model& model, const api::field_reader& body) {
  const auto text = body.has("prompt") ? body.required_text("prompt") : body.required_text("content");
  const auto special = body.flag("add_special_tokens").value_or(body.flag("add_special").value_or(body.has("prompt")));
  return model.tokenizer().encode(text,
                                  {.add_special = special, .parse_special = body.flag("parse_special").value_or(true)});
}

/// What vLLM's and llama-server's /tokenize take: `prompt`, `messages` or `content`.
json::object tokenized(const served_model& model, const api::field_reader& body) {
  const auto& tokens = model.tokenizer();
  const auto ids = body.has("messages") ? rendered_chat(model, body).tokens : tokens_of_text(model, body);
  json::array list;
  const bool with_pieces = body.flag("with_pieces").value_or(false);
  for (const auto id : ids) list.push_back(with_pieces ? json::value(piece_of(id, tokens)) : json::value(id));
  json::object answer{{"tokens", std::move(list)}, {"count", ids.size()}, {"max_model_len", model.max_length}};
  if (body.flag("return_token_strs").value_or(false)) {
    json::array texts;
    for (const auto id : ids) texts.emplace_back(tokens.token_text(id));
    answer["token_strs"] = std::move(texts);
  }
  return answer;
}

json::object detokenized(const served_model& model, const api::field_reader& body) {
  cogen::token_ids ids;
  if (const auto* list = body.array("tokens"); list && !list->empty()) {
    const auto prompts = api::read_prompts(body, "tokens", nullptr);
    const auto* only = std::get_if<cogen::token_ids>(&prompts.front());
    if (prompts.size() != 1 || !only) body.refuse("tokens", "an array of token ids");
    ids = *only;
  } else if (!list) {
    body.refuse("tokens", "an array of token ids");
  }
  try {
    const auto text = model.tokenizer().decode(ids);
    return {{"content", text}, {"prompt", text}};
  } catch (const std::out_of_range& e) {
    throw api::invalid("tokens", e.what());
  }
}

json::object templated(const served_model& model, const api::field_reader& body) {
  return {{"prompt", rendered_chat(model, body).text}};
}

json::object count_of(const cogen::rendered_prompt& prompt) {
  return {{"object", "response.input_tokens"}, {"input_tokens", prompt.tokens.size()}};
}

json::object counted(const served_model& model, const api::field_reader& body) {
  return count_of(rendered_chat(model, body));
}

json::object counted_response(const served_model& model, const api::field_reader& body) {
  return count_of(rendered(model, api::read_response_request(body, {}, {}, &model.tokenizer()).request));
}

/// Answers with what `make` makes of the body and the model that it names.
template <class Make>
net::awaitable<void> answer_with(call& client, Make make) {
  const auto& text = client.request().body;
  const auto answer = co_await off_loop(client.app, text.size(), [&] {
    auto source = api::parse_body(text);
    api::add_defaults(client.app.settings.defaults, source);
    const api::field_reader body(source);
    return api::json_text(make(*client.app.models.named(body.text("model")), body));
  });
  co_await client.client.respond({.body = answer});
}

}  // namespace

net::awaitable<void> tokenize(call& client) { return answer_with(client, tokenized); }
net::awaitable<void> detokenize(call& client) { return answer_with(client, detokenized); }
net::awaitable<void> input_tokens(call& client) { return answer_with(client, counted); }
net::awaitable<void> response_input_tokens(call& client) { return answer_with(client, counted_response); }
net::awaitable<void> apply_template(call& client) { return answer_with(client, templated); }

}  // namespace server
