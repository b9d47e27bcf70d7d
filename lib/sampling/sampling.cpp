#include "cogen/sampling.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cogen {
namespace {

using verdict = std::optional<std::string>;

verdict outside(std::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fmt::format("{} is {}; it must be from {} to {}", name, value, low, high);
}

verdict outside(std::string_view name, std::int64_t value, std::int64_t high) {
  if (value >= 0 && value <= high) return {};
  return fmt::format("{} is {}; it must be from 0 to {}", name, value, high);
}

verdict temperature_problem(double value) {
  if (value == 0) return {};
  if (value >= sampling::min_temperature && value <= sampling::max_temperature) return {};
  return fmt::format("temperature is {}; it must be 0 (greedy) or from {} to {}", value, sampling::min_temperature,
                     sampling::max_temperature);
}

verdict bias_problem(token id, double value, std::int64_t vocabulary) {
  if (id < 0 || id >= vocabulary)
    return fmt::format("logit_bias names token {}; the vocabulary has tokens 0 to {}", id, vocabulary - 1);
  if (value == -std::numeric_limits<double>::infinity() || std::abs(value) <= sampling::max_logit_bias) return {};
  return fmt::format("logit_bias of token {} is {}; it must be from -{} to {}, or minus infinity", id, value,
                     sampling::max_logit_bias, sampling::max_logit_bias);
}

verdict bias_problem(const std::map<token, double>& biases, std::int64_t vocabulary) {
  if (biases.size() > sampling::max_logit_biases)
    return fmt::format("logit_bias names {} tokens; at most {} may have one", biases.size(),
                       sampling::max_logit_biases);
  for (const auto& [id, value] : biases)
    if (auto problem = bias_problem(id, value, vocabulary)) return problem;
  return {};
}

}  // namespace

sampling::sampling() = default;
sampling::sampling(const sampling&) = default;
sampling::sampling(sampling&&) noexcept = default;
sampling& sampling::operator=(const sampling&) = default;
sampling& sampling::operator=(sampling&&) noexcept = default;
sampling::~sampling() = default;

sampling& sampling::greedy() { return temperature(0); }

sampling& sampling::temperature(double value) {
  temperature_ = value;
  return *this;
}

sampling& sampling::top_k(std::int64_t count) {
  top_k_ = count;
  return *this;
}

sampling& sampling::top_p(double mass) {
  top_p_ = mass;
  return *this;
}

sampling& sampling::min_p(double ratio) {
  min_p_ = ratio;
  return *this;
}

sampling& sampling::repetition_penalty(double factor) {
  repetition_penalty_ = factor;
  return *this;
}

sampling& sampling::presence_penalty(double value) {
  presence_penalty_ = value;
  return *this;
}

sampling& sampling::frequency_penalty(double value) {
  frequency_penalty_ = value;
  return *this;
}

sampling& sampling::logit_bias(token id, double value) {
  logit_bias_[id] = value;
  return *this;
}

sampling& sampling::min_tokens(std::int64_t count) {
  min_tokens_ = count;
  return *this;
}

sampling& sampling::seed(std::uint64_t value) {
  seed_ = value;
  return *this;
}

sampling& sampling::logprobs(std::int64_t top) {
  logprobs_ = top;
  return *this;
}

sampling& sampling::processor(logits_processor function) {
  processor_ = std::move(function);
  return *this;
}

std::optional<std::string> sampling::problem(std::int64_t vocabulary) const {
  constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();
  if (auto found = temperature_problem(temperature_)) return found;
  if (auto found = outside("top_k", top_k_, most_tokens)) return found;
  if (auto found = outside("top_p", top_p_, 0, 1)) return found;
  if (auto found = outside("min_p", min_p_, 0, 1)) return found;
  if (auto found = outside("repetition_penalty", repetition_penalty_, min_repetition_penalty, max_repetition_penalty))
    return found;
  if (auto found = outside("presence_penalty", presence_penalty_, -max_count_penalty, max_count_penalty)) return found;
  if (auto found = outside("frequency_penalty", frequency_penalty_, -max_count_penalty, max_count_penalty))
    return found;
  if (auto found = outside("min_tokens", min_tokens_, most_tokens)) return found;
  if (auto found = outside("logprobs", logprobs_.value_or(0), max_logprobs)) return found;
  return bias_problem(logit_bias_, vocabulary);
}

void sampling::validate(std::int64_t vocabulary) const {
  if (const auto found = problem(vocabulary)) throw std::invalid_argument(*found);
}

}  // namespace cogen
