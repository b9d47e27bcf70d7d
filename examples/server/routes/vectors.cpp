// Vectors and scores of texts, for models that make them.
#include "api/completion_fields.hpp"
#include "api/encoded_text.hpp"
#include "api/json_text.hpp"
#include "api/unsupported_fields.hpp"
#include "http/growing_answer.hpp"
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

/// What /v1/embeddings is asked for.
struct embedding_request {
  std::vector<cogen::encoder_input> texts;
  bool base64 = false;
};

/// What /v1/rerank is asked for.
struct rerank_request {
  std::vector<cogen::encoder_input> pairs;
  std::vector<std::string> documents;  ///< if the answer has them
  std::size_t top = 0;
  bool raw = false;  ///< scores as the classifier gives them, not as its authors want them shown
};

namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const served_model& model, std::string_view task) {
  throw api::error(501, "not_supported_error", fmt::format("the model {} does not {}", model.name, task), "model");
}

std::string base64(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "OpenAI's clients read little-endian floats");
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes(values.size_bytes());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::string result;
  for (std::size_t offset = 0; offset < bytes.size(); offset += 3) {
    const auto left = std::min<std::size_t>(3, bytes.size() - offset);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < left ? bytes[offset + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) result += i <= left ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
  }
  return result;
}

json::object usage_of(std::size_t tokens) { return {{"prompt_tokens", tokens}, {"total_tokens", tokens}}; }

/// Texts that are embedded or scored, as tokens.
struct tokenized_texts {
  std::vector<cogen::encoder_input> texts;
  std::size_t tokens = 0;
};

/// Tokenizes each text as the model reads it.
tokenized_texts tokenize(std::string_view name, const served_model& model, std::vector<cogen::encoder_input> texts) {
  tokenized_texts result{std::move(texts)};
  for (auto& text : result.texts) {
    if (!std::holds_alternative<cogen::encoder_text>(text)) static_cast<void>(model.tokenizer());
    auto tokens = api::encoded(name, [&] { return model.model->tokenize(text); });
    result.tokens += tokens.tokens.size();
    text = std::move(tokens);
  }
  return result;
}

std::size_t bytes_of(const cogen::encoder_input& input) {
  if (const auto* pair = std::get_if<cogen::text_pair>(&input)) return pair->first.size() + pair->second.size();
  const auto* text = std::get_if<std::string>(&input);
  return text ? text->size() : 0;
}

/// A few bytes may ask for many: a query stands beside each document.
net::awaitable<tokenized_texts> tokenize_on_worker(call& client, std::string_view name,
                                                   std::vector<cogen::encoder_input> texts) {
  std::size_t bytes = 0;
  for (const auto& each : texts) bytes += bytes_of(each);
  co_return co_await on_worker(client, bytes, [&] { return tokenize(name, *client.model, std::move(texts)); });
}

/// Shows texts that are embedded or scored in the metrics, and their tokens in the log.
class counted_texts {
 public:
  counted_texts(call& client, const tokenized_texts& counted)
      : meter_(*client.model->meter), texts_(counted.texts.size()), tokens_(counted.tokens) {
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

 private:
  metrics::meter& meter_;
  std::size_t texts_, tokens_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool ended_ = false;
};

constexpr std::size_t max_texts = 2048;           // of a request, as OpenAI's API takes
constexpr std::size_t max_pair_bytes = 16 << 20;  // of a query beside each of its documents

void check_count(std::string_view name, std::size_t count) {
  if (count > max_texts)
    throw api::invalid(std::string(name),
                       fmt::format("{} has {} texts; it must have at most {}", name, count, max_texts));
}

std::vector<cogen::encoder_input> inputs_of(const api::field_reader& body) {
  std::vector<cogen::encoder_input> texts;
  const auto name = body.has("content") && !body.has("input") ? "content" : "input";
  auto prompts = api::read_prompts(body, name);
  check_count(name, prompts.size());
  for (auto& prompt : prompts) {
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

embedding_request read_embeddings(const call&, const api::field_reader& body, const served_model& model) {
  if (model.model->embedding_width() == 0 || model.model->scores_pairs()) refuse(model, "embed texts");
  const auto format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") body.refuse("encoding_format", "float or base64");
  if (const auto wanted = body.count("dimensions", 1); wanted && *wanted != model.model->embedding_width())
    body.refuse("dimensions", fmt::format("{}", model.model->embedding_width()));
  api::check_unsupported(body, api::field_set::embeddings);
  return {inputs_of(body), format == "base64"};
}

/// The query stands in each pair.
std::vector<cogen::encoder_input> pairs_of(const api::field_reader& body) {
  const auto query = body.required_text("query");
  const auto& documents = body.required_array("documents");
  check_count("documents", documents.size());
  std::vector<cogen::encoder_input> pairs;
  std::size_t bytes = query.size() * documents.size();
  for (const auto& document : documents) {
    auto text = text_of_document(body, document);
    bytes += text.size();
    if (bytes > max_pair_bytes)
      throw api::invalid("query", fmt::format("query has {} bytes and stands beside each of {} documents; together "
                                              "they must have at most {} bytes",
                                              query.size(), documents.size(), max_pair_bytes));
    pairs.emplace_back(cogen::text_pair{query, std::move(text)});
  }
  return pairs;
}

rerank_request read_rerank(const call&, const api::field_reader& body, const served_model& model) {
  if (!model.model->scores_pairs()) refuse(model, "score texts");
  api::check_unsupported(body, api::field_set::rerank);
  rerank_request wanted;
  wanted.pairs = pairs_of(body);
  wanted.top = static_cast<std::size_t>(body.count("top_n", 1).value_or(static_cast<int>(max_texts)));
  wanted.raw = body.flag("raw_scores").value_or(!body.flag("use_activation").value_or(true));
  if (body.flag("return_documents").value_or(false))
    for (const auto& document : *body.array("documents")) wanted.documents.push_back(text_of_document(body, document));
  return wanted;
}

double shown_score(double score, const served_model& model, bool raw) {
  return raw || model.shown_scores == cogen::load::score_activation::identity ? score : 1 / (1 + std::exp(-score));
}

/// The indices of the highest scores, the first of equal ones first.
std::vector<std::size_t> best_of(const std::vector<float>& scores, std::size_t top) {
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), top));
  return order;
}

json::object embedding_of(const std::vector<float>& vector, std::size_t index, bool as_base64) {
  json::value written =
      as_base64 ? json::value(base64(vector)) : json::value(json::array(vector.begin(), vector.end()));
  return {{"object", "embedding"}, {"index", index}, {"embedding", std::move(written)}};
}

}  // namespace

net::awaitable<void> embeddings(call& client) {
  auto wanted = co_await read_fields(client, read_embeddings);
  const auto& model = *client.model;
  auto input = co_await tokenize_on_worker(client, "input", std::move(wanted.texts));
  counted_texts counted(client, input);
  const cogen::work_options options{.tenant = client.tenant};
  const auto vectors = co_await model.engine->async_embed(std::move(input.texts), options);
  counted.end();
  http::growing_answer answer(client.client);
  answer.text() = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (i > 0) answer.text() += ',';
    answer.text() += api::json_text(embedding_of(vectors[i], i, wanted.base64));
    if (answer.is_full()) co_await answer.flush();
  }
  answer.text() += fmt::format(R"(],"model":{},"usage":{}}})", api::json_text(json::value(model.name)),
                               api::json_text(usage_of(input.tokens)));
  co_await answer.end();
}

net::awaitable<void> rerank(call& client) {
  auto wanted = co_await read_fields(client, read_rerank);
  const auto& model = *client.model;
  auto pairs = co_await tokenize_on_worker(client, "documents", std::move(wanted.pairs));
  counted_texts counted(client, pairs);
  const cogen::work_options options{.tenant = client.tenant};
  const auto scores = co_await model.engine->async_score(std::move(pairs.texts), options);
  counted.end();
  json::array results;
  for (const auto index : best_of(scores, wanted.top)) {
    json::object result{{"index", index}, {"relevance_score", shown_score(scores[index], model, wanted.raw)}};
    if (!wanted.documents.empty()) result["document"] = {{"text", wanted.documents[index]}};
    results.push_back(std::move(result));
  }
  const json::object answer{
      {"object", "list"}, {"model", model.name}, {"results", std::move(results)}, {"usage", usage_of(pairs.tokens)}};
  co_await client.client.respond({.body = api::json_text(answer)});
}

}  // namespace server
