// From texts to tokens and back, without a generation.
#include "api/chat_fields.hpp"
#include "api/completion_fields.hpp"
#include "api/encoded_text.hpp"
#include "api/json_size.hpp"
#include "api/json_text.hpp"
#include "api/response_fields.hpp"
#include "http/growing_answer.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <cogen/request.hpp>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace server {

/// What /tokenize is asked for.
struct tokenization {
  cogen::token_ids tokens;
  bool pieces = false, strings = false;
};

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

/// Texts that are longer are refused: their tokens take several times as much memory, and a worker's time.
constexpr std::size_t max_text_bytes = 4 << 20;

void check_length(std::string_view name, std::size_t bytes) {
  if (bytes > max_text_bytes)
    throw api::invalid(std::string(name),
                       fmt::format("{} has {} bytes of text; it must have at most {}", name, bytes, max_text_bytes));
}

/// Reads a chat as a generation would. Throws api::error and generation_error.
cogen::rendered_prompt rendered(const served_model& model, const cogen::request& chat, std::string_view name) {
  static_cast<void>(model.tokenizer());
  std::size_t bytes = 0;
  for (const auto& message : std::get<cogen::chat_messages>(chat.prompt))
    bytes += message.content.size() + api::size_of(*message.extra).bytes;
  check_length(name, bytes);
  return cogen::render_prompt(*model.model, chat);
}

cogen::rendered_prompt rendered_chat(const served_model& model, const api::field_reader& body) {
  api::generation chat;
  api::read_chat(body, chat);
  return rendered(model, chat.request, "messages");
}

cogen::token_ids tokens_of_text(const served_model& model, const api::field_reader& body) {
  const auto name = body.has("prompt") ? "prompt" : "content";
  const auto text = body.required_text(name);
  check_length(name, text.size());
  const auto special = body.flag("add_special_tokens").value_or(body.flag("add_special").value_or(body.has("prompt")));
  const auto parse = body.flag("parse_special").value_or(true);
  return api::encoded(name,
                      [&] { return model.tokenizer().encode(text, {.add_special = special, .parse_special = parse}); });
}

/// What vLLM's and llama-server's /tokenize take: `prompt`, `messages` or `content`.
tokenization read_tokenization(const call&, const api::field_reader& body, const served_model& model) {
  static_cast<void>(model.tokenizer());
  return {.tokens = body.has("messages") ? rendered_chat(model, body).tokens : tokens_of_text(model, body),
          .pieces = body.flag("with_pieces").value_or(false),
          .strings = body.flag("return_token_strs").value_or(false)};
}

/// Writes an array with what `write` makes of each token.
template <class Write>
net::awaitable<void> add_array(http::growing_answer& answer, const cogen::token_ids& tokens, Write write) {
  for (char separator = '['; const auto id : tokens) {
    answer.text() += std::exchange(separator, ',');
    answer.text() += write(id);
    if (answer.is_full()) co_await answer.flush();
  }
  answer.text() += tokens.empty() ? "[]" : "]";
}

/// What an answer in parts is made of is kept until its client has read it.
http::counted_bytes held(const call& client, std::size_t bytes) {
  http::counted_bytes counted(client.app.answers, client.client.owner());
  if (!counted.grow_to(bytes))
    throw api::error(503, "unavailable_error",
                     fmt::format("the answers that clients have not read may have {} bytes together, and there is no "
                                 "room for another",
                                 client.app.answers->limit()));
  return counted;
}

cogen::token_ids read_tokens(const call&, const api::field_reader& body, const served_model& model) {
  const auto* list = body.array("tokens");
  if (!list) body.refuse("tokens", "an array of token ids");
  if (list->empty()) return {};
  auto prompts = api::read_prompts(body, "tokens");
  auto* tokens = std::get_if<cogen::token_ids>(&prompts.front());
  if (prompts.size() != 1 || !tokens) body.refuse("tokens", "an array of token ids");
  const auto& vocabulary = model.tokenizer();
  std::size_t bytes = 0;
  for (const auto id : *tokens) {
    if (static_cast<std::size_t>(id) >= vocabulary.size())
      throw api::invalid("tokens", fmt::format("tokens has {}; the vocabulary has {} tokens", id, vocabulary.size()));
    bytes += vocabulary.token_bytes(id).size();
  }
  check_length("tokens", bytes);
  return std::move(*tokens);
}

std::string detokenized(const call& client, const api::field_reader& body, const served_model& model) {
  return model.tokenizer().decode(read_tokens(client, body, model));
}

/// Writes a text as a string of JSON.
net::awaitable<void> add_text(http::growing_answer& answer, std::string_view text) {
  answer.text() += '"';
  while (!text.empty()) {
    auto part = text.substr(0, http::growing_answer::part_bytes);
    while (part.size() < text.size() && (text[part.size()] & 0xC0) == 0x80) part.remove_suffix(1);
    const auto quoted = json::serialize(json::string_view(part));
    answer.text().append(quoted, 1, quoted.size() - 2);
    text.remove_prefix(part.size());
    if (answer.is_full()) co_await answer.flush();
  }
  answer.text() += '"';
}

std::string templated(const call&, const api::field_reader& body, const served_model& model) {
  return rendered_chat(model, body).text;
}

json::object count_of(const cogen::rendered_prompt& prompt) {
  return {{"object", "response.input_tokens"}, {"input_tokens", prompt.tokens.size()}};
}

json::object counted(const call&, const api::field_reader& body, const served_model& model) {
  return count_of(rendered_chat(model, body));
}

json::object counted_response(const call&, const api::field_reader& body, const served_model& model) {
  return count_of(rendered(model, api::read_response_request(body, {}, {}, &model.tokenizer()).request, "input"));
}

}  // namespace

net::awaitable<void> tokenize(call& client) {
  const auto asked = co_await read_fields(client, read_tokenization);
  const auto& vocabulary = client.model->tokenizer();
  const auto counted = held(client, asked.tokens.size() * sizeof(cogen::token));
  http::growing_answer answer(client.client);
  answer.text() = R"({"tokens":)";
  co_await add_array(answer, asked.tokens, [&](cogen::token id) {
    return asked.pieces ? api::json_text(piece_of(id, vocabulary)) : std::to_string(id);
  });
  answer.text() += fmt::format(R"(,"count":{},"max_model_len":{})", asked.tokens.size(), client.model->max_length);
  if (asked.strings) {
    answer.text() += R"(,"token_strs":)";
    co_await add_array(answer, asked.tokens,
                       [&](cogen::token id) { return json::serialize(json::string_view(vocabulary.token_text(id))); });
  }
  answer.text() += '}';
  co_await answer.end();
}

net::awaitable<void> detokenize(call& client) {
  const auto text = co_await read_fields(client, detokenized);
  const auto counted = held(client, text.size());
  http::growing_answer answer(client.client);
  answer.text() = R"({"content":)";
  co_await add_text(answer, text);
  answer.text() += R"(,"prompt":)";
  co_await add_text(answer, text);
  answer.text() += '}';
  co_await answer.end();
}

net::awaitable<void> apply_template(call& client) {
  const auto text = co_await read_fields(client, templated);
  const auto counted = held(client, text.size());
  http::growing_answer answer(client.client);
  answer.text() = R"({"prompt":)";
  co_await add_text(answer, text);
  answer.text() += '}';
  co_await answer.end();
}

net::awaitable<void> input_tokens(call& client) {
  const auto count = co_await read_fields(client, counted);
  co_await client.client.respond({.body = api::json_text(count)});
}

net::awaitable<void> response_input_tokens(call& client) {
  const auto count = co_await read_fields(client, counted_response);
  co_await client.client.respond({.body = api::json_text(count)});
}

}  // namespace server
