// Vectors and scores of texts, for models that make them.
#include "api/completion_fields.hpp"
#include "api/json_text.hpp"
#include "api/unsupported_fields.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <cogen/model.hpp>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

namespace server {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const served_model& model, std::string_view what) {
  throw api::error(501, "not_supported_error", fmt::format("the model {} does not {}", model.name, what), "model");
}

std::string base64(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "OpenAI's clients read little-endian floats");
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes(values.size_bytes());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string result;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto left = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < left ? bytes[at + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) result += i <= left ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
  }
  return result;
}

/// Tokenizes each text as the model reads it, and counts its tokens.
std::size_t tokenize(const served_model& model, std::vector<cogen::encoder_input>& texts) {
  std::size_t count = 0;
  for (auto& text : texts) {
    if (!std::holds_alternative<cogen::encoder_text>(text)) static_cast<void>(model.tokenizer());
    auto tokens = model.model->tokenize(text);
    count += tokens.tokens.size();
    text = std::move(tokens);
  }
  return count;
}

json::object usage_of(std::size_t tokens) { return {{"prompt_tokens", tokens}, {"total_tokens", tokens}}; }

/// Tokenizes texts that are embedded or scored, and shows them in the metrics and their tokens in the log.
class counted_texts {
 public:
  counted_texts(call& client, const served_model& model, std::vector<cogen::encoder_input>& texts)
      : meter_(*model.meter), texts_(texts.size()), tokens_(tokenize(model, texts)) {
    client.usage.add_prompt({.prompt_tokens = static_cast<int>(tokens_)});
    meter_.begin_texts(texts_);
  }
  counted_texts(const counted_texts&) = delete;
  counted_texts& operator=(const counted_texts&) = delete;
  ~counted_texts() {
    if (!ended_) meter_.fail_texts(texts_);
  }

  void end() {
    ended_ = true;
    meter_.end_texts(texts_, tokens_, std::chrono::steady_clock::now() - begun_);
  }
  std::size_t tokens() const noexcept { return tokens_; }

 private:
  metrics::meter& meter_;
  std::size_t texts_, tokens_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool ended_ = false;
};

std::vector<cogen::encoder_input> inputs_of(const api::field_reader& body) {
  std::vector<cogen::encoder_input> texts;
  const bool is_llama = body.has("content") && !body.has("input");
  for (auto& prompt : api::read_prompts(body, is_llama ? "content" : "input", nullptr)) {
    if (auto* ids = std::get_if<cogen::token_ids>(&prompt))
      texts.emplace_back(cogen::encoder_text{std::move(*ids), {}});
    else
      texts.emplace_back(std::get<std::string>(std::move(prompt)));
  }
  return texts;
}

std::string text_of_document(const api::field_reader& body, const json::value& document) {
  if (const auto* text = document.if_string()) return std::string(*text);
  if (const auto* object = document.if_object())
    if (const auto* text = object->if_contains("text"); text && text->is_string())
      return std::string(text->get_string());
  body.refuse("documents", "an array of strings, or of objects with a text");
}

/// The score of a pair as its model's authors want it shown, or as the classifier gives it where a request asks for
/// that.
double shown_score(double score, const served_model& model, const api::field_reader& body) {
  const bool raw = body.flag("raw_scores").value_or(!body.flag("use_activation").value_or(true));
  return raw || model.shown_scores == cogen::load::score_activation::identity ? score : 1 / (1 + std::exp(-score));
}

}  // namespace

net::awaitable<void> embeddings(call& client) {
  const auto asked = co_await read_asked(client);
  const auto body = asked.body();
  const auto& model = asked.model;
  if (model->model->embedding_width() == 0 || model->model->scores_pairs()) refuse(*model, "embed texts");
  const auto format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") body.refuse("encoding_format", "float or base64");
  if (const auto wanted = body.count("dimensions", 1); wanted && *wanted != model->model->embedding_width())
    body.refuse("dimensions", fmt::format("{}", model->model->embedding_width()));
  api::check_unsupported(body, api::field_set::embeddings);
  auto texts = inputs_of(body);
  counted_texts counted(client, *model, texts);
  const auto vectors = co_await model->engine->async_embed(std::move(texts));
  counted.end();
  json::array data;
  for (const auto& vector : vectors) {
    json::value written =
        format == "base64" ? json::value(base64(vector)) : json::value(json::array(vector.begin(), vector.end()));
    data.push_back({{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(written)}});
  }
  const json::object answer{
      {"object", "list"}, {"data", std::move(data)}, {"model", model->name}, {"usage", usage_of(counted.tokens())}};
  co_await client.client.respond({.body = api::json_text(answer)});
}

net::awaitable<void> rerank(call& client) {
  const auto asked = co_await read_asked(client);
  const auto body = asked.body();
  const auto& model = asked.model;
  if (!model->model->scores_pairs()) refuse(*model, "score texts");
  api::check_unsupported(body, api::field_set::rerank);
  const auto query = body.required_text("query");
  std::vector<cogen::encoder_input> pairs;
  for (const auto& document : body.required_array("documents"))
    pairs.emplace_back(cogen::text_pair{query, text_of_document(body, document)});
  counted_texts counted(client, *model, pairs);
  const auto most = static_cast<std::size_t>(body.count("top_n", 1).value_or(static_cast<int>(pairs.size())));
  const auto scores = co_await model->engine->async_score(std::move(pairs));
  counted.end();
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), most));
  json::array results;
  for (const auto index : order) {
    json::object one{{"index", index}, {"relevance_score", shown_score(scores[index], *model, body)}};
    if (body.flag("return_documents").value_or(false))
      one["document"] = {{"text", text_of_document(body, body.array("documents")->at(index))}};
    results.push_back(std::move(one));
  }
  const json::object answer{{"object", "list"},
                            {"model", model->name},
                            {"results", std::move(results)},
                            {"usage", usage_of(counted.tokens())}};
  co_await client.client.respond({.body = api::json_text(answer)});
}

}  // namespace server
