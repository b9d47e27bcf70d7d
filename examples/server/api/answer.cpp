#include "api/answer.hpp"

#include <cogen/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

json::object spelled(cogen::token id, const cogen::text::tokenizer& vocabulary) {
  json::array bytes;
  for (const char byte : vocabulary.token_bytes(id)) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"id", id}, {"token", vocabulary.token_text(id)}, {"bytes", std::move(bytes)}};
}

/// Each token with its number and those of others in its place, by `add_number`.
template <class Number>
json::array with_numbers(std::span<const cogen::sampled_token> tokens, const cogen::text::tokenizer& vocabulary,
                         std::string_view top_key, const Number& add_number) {
  json::array result;
  for (const auto& each : tokens) {
    auto entry = spelled(each.id, vocabulary);
    add_number(entry, each.logprob);
    json::array top;
    for (const auto& other : each.top)
      add_number(top.emplace_back(spelled(other.id, vocabulary)).as_object(), other.logprob);
    entry[top_key] = std::move(top);
    result.push_back(std::move(entry));
  }
  return result;
}

double milliseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

double ratio(double numerator, double denominator) { return denominator > 0 ? numerator / denominator : 0; }

}  // namespace

json::object answer_head::with(json::array choices) const {
  return {{"id", id},
          {"object", object},
          {"created", created},
          {"model", model},
          {"choices", std::move(choices)},
          {"system_fingerprint", fmt::format("b{}-cogen", cogen::version)}};
}

std::string new_id(std::string_view prefix) {
  thread_local std::mt19937_64 random(std::random_device{}());
  return fmt::format("{}{:016x}{:08x}", prefix, random(), static_cast<std::uint32_t>(random()));
}

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string_view finish_of(cogen::finish_reason reason, bool has_calls) noexcept {
  switch (reason) {
    case cogen::finish_reason::length:
    case cogen::finish_reason::deadline_exceeded:
      return "length";
    default:
      return has_calls ? "tool_calls" : "stop";
  }
}

void usage_sum::add_prompt(const cogen::usage& counts) {
  prompt_ += counts.prompt_tokens;
  cached_ += counts.cached_tokens;
  add(counts);
}

void usage_sum::add(const cogen::usage& counts) {
  generated_ += counts.generated_tokens;
  drafts_ += counts.draft_tokens;
  accepted_drafts_ += counts.accepted_draft_tokens;
}

json::object usage_sum::json() const {
  return {
      {"prompt_tokens", prompt_},
      {"completion_tokens", generated_},
      {"total_tokens", prompt_ + generated_},
      {"prompt_tokens_details", {{"cached_tokens", cached_}}},
      {"completion_tokens_details",
       {{"accepted_prediction_tokens", accepted_drafts_}, {"rejected_prediction_tokens", drafts_ - accepted_drafts_}}}};
}

json::array chat_logprobs(std::span<const cogen::sampled_token> tokens, const cogen::text::tokenizer& vocabulary) {
  return with_numbers(tokens, vocabulary, "top_logprobs",
                      [](json::object& entry, float logprob) { entry["logprob"] = logprob; });
}

json::array token_probabilities(std::span<const cogen::sampled_token> tokens,
                                const cogen::text::tokenizer& vocabulary) {
  return with_numbers(tokens, vocabulary, "top_probs",
                      [](json::object& entry, float logprob) { entry["prob"] = std::exp(logprob); });
}

json::array prompt_logprobs(std::span<const cogen::sampled_token> tokens, const cogen::text::tokenizer& vocabulary) {
  json::array result;
  for (const auto& each : tokens) {
    if (result.empty()) {
      result.push_back(nullptr);
      continue;
    }
    json::object place;
    const auto add = [&](cogen::token id, float logprob, json::value rank) {
      place[std::to_string(id)] = {
          {"logprob", logprob}, {"rank", std::move(rank)}, {"decoded_token", vocabulary.token_text(id)}};
    };
    add(each.id, each.logprob, nullptr);
    for (std::size_t i = 0; i < each.top.size(); ++i) add(each.top[i].id, each.top[i].logprob, i + 1);
    result.push_back(std::move(place));
  }
  return result;
}

json::object timings_of(const cogen::usage& usage, const cogen::request_metrics& times) {
  const bool has_first = usage.time_to_first_token > std::chrono::nanoseconds(0);
  const double prompt = milliseconds(has_first ? usage.time_to_first_token : usage.total_time);  // or it was read alone
  const double predicted = milliseconds(times.first_token && times.last_token ? *times.last_token - *times.first_token
                                                                              : std::chrono::nanoseconds(0));
  const int run = usage.prompt_tokens - usage.cached_tokens, after_first = std::max(0, usage.generated_tokens - 1);
  return {{"cache_n", usage.cached_tokens},
          {"prompt_n", run},
          {"prompt_ms", prompt},
          {"prompt_per_token_ms", ratio(prompt, run)},
          {"prompt_per_second", ratio(1000.0 * run, prompt)},
          {"predicted_n", usage.generated_tokens},
          {"predicted_ms", predicted},
          {"predicted_per_token_ms", ratio(predicted, after_first)},
          {"predicted_per_second", ratio(1000.0 * after_first, predicted)},
          {"draft_n", usage.draft_tokens},
          {"draft_n_accepted", usage.accepted_draft_tokens},
          {"preemptions", times.preemptions}};
}

json::object timings_of(const cogen::token_stream& stream) {
  return timings_of(stream.usage(), stream.request_metrics());
}

json::object timings_of(const cogen::prompt_progress& progress) {
  return timings_of(
      {.prompt_tokens = progress.processed, .cached_tokens = progress.cached, .time_to_first_token = progress.time},
      cogen::request_metrics());
}

json::object progress_of(const cogen::prompt_progress& progress) {
  return {{"total", progress.total},
          {"cache", progress.cached},
          {"processed", progress.processed},
          {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(progress.time).count()}};
}

}  // namespace server::api
